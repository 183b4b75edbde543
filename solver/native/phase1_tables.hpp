// Phase 1: exact distances, in generators, to the group of phase 2, modulo 3.
//
// A node is (class of flip-slice, twist) seen through the symmetry that leads to the class's
// representative. The distances of neighbours differ by at most one, so that two bits a node are
// enough to follow the exact distance from node to node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "coordinates.hpp"
#include "layout.hpp"
#include "metric.hpp"
#include "symmetry.hpp"

namespace cubist {

// Bytes of one class's distances: 2187 at two bits each.
constexpr int kDistanceRow = (kTwists + 3) / 4;

// Where the parts of a table lie in its bytes.
struct Phase1Layout {
    explicit Phase1Layout(int generators);
    std::size_t representatives, class_moves, twist_moves, twist_conjugates, class_steps,
        twist_steps, distances, bytes;
};

// Which generators lead where in one part of the node alone: a cheap bound before the exact one.
struct PartSteps {
    std::uint64_t nearer;       // bit g: generator g lowers the part's distance
    std::uint64_t not_farther;  // bit g: it does not raise it
    std::uint64_t distance;     // of the part

    // The generators after which the part can be home in `left` more.
    std::uint64_t within(int left) const {
        const int spare = left - static_cast<int>(distance);
        return spare > 0 ? ~std::uint64_t{0} : spare == 0 ? not_farther : spare == -1 ? nearer : 0;
    }
};

struct Phase1Node {
    std::uint16_t flip_slice_class;
    std::uint16_t twist;
    std::uint8_t symmetry;  // from the cube to the representative's frame
};

class Phase1Tables {
public:
    // `bytes` must outlive the tables. Throws std::invalid_argument when the size is wrong.
    Phase1Tables(const Metric& metric, std::span<const std::uint8_t> bytes);

    static std::size_t size(const Metric& metric);
    // Fills `bytes`, telling from time to time how much is done (0..1); stops early with false
    // when `progress` returns false.
    static bool generate(const Metric& metric, std::span<std::uint8_t> bytes, int threads,
                         const Progress& progress);

    Phase1Node node_of(const CubieCube& cube) const;
    // The generator is numbered in the representative's frame.
    Phase1Node after(Phase1Node node, int seen_generator) const {
        const std::uint32_t packed =
            class_moves_[node.flip_slice_class * generators_ + seen_generator];
        const int symmetry = static_cast<int>(packed % kSymmetries);
        const int twist = twist_moves_[node.twist * generators_ + seen_generator];
        return {static_cast<std::uint16_t>(packed / kSymmetries),
                twist_conjugates_[symmetry * kTwists + twist], products_[symmetry][node.symmetry]};
    }
    // The frame's numbers of the cube's generators, and back.
    int seen(Phase1Node node, int generator) const { return seen_[node.symmetry][generator]; }
    int unseen(Phase1Node node, int seen_generator) const {
        return seen_[unseen_[node.symmetry]][seen_generator];
    }
    // The generators, in the frame's numbers, that may come within `left` of the goal.
    std::uint64_t worthwhile(Phase1Node node, int left) const {
        return class_steps_[node.flip_slice_class].within(left) &
               twist_steps_[node.twist].within(left);
    }

    const std::uint8_t* distance_byte(Phase1Node node) const {
        return distances_ + std::size_t{node.flip_slice_class} * kDistanceRow + node.twist / 4;
    }
    int distance_modulo_3(Phase1Node node) const {
        return *distance_byte(node) >> (node.twist % 4 * 2) & 3;
    }
    // The neighbour's distance from that of a node next to it.
    int distance(Phase1Node node, int neighbour_distance) const {
        return neighbour_distance - 1 + (distance_modulo_3(node) + 2 * neighbour_distance + 1) % 3;
    }
    // Without a neighbour: walks down to the goal.
    int distance(Phase1Node node) const;

private:
    int generators_;
    std::vector<std::array<std::uint8_t, kComposites>> seen_;
    std::array<std::array<std::uint8_t, kSymmetries>, kSymmetries> products_;
    std::array<std::uint8_t, kSymmetries> unseen_;
    const std::uint32_t* representatives_;
    const std::uint32_t* class_moves_;
    const std::uint16_t* twist_moves_;
    const std::uint16_t* twist_conjugates_;
    const PartSteps* class_steps_;
    const PartSteps* twist_steps_;
    const std::uint8_t* distances_;
};

}  // namespace cubist
