// Phase 1: exact distances, in generators, to the group of phase 2, stored modulo 3.
//
// A node is (class of flip-slice, twist) seen through the symmetry that maps it to the class's
// representative. The distances of neighbours differ by at most one, so two bits per node suffice
// to follow the exact distance from node to node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "cube/coordinates.hpp"
#include "cube/metric.hpp"
#include "cube/symmetry.hpp"
#include "cube/table_bytes.hpp"

namespace cubist {

// Bytes of one class's distances: 2187 at two bits each.
constexpr int kDistanceRow = (kTwists + 3) / 4;

// Offsets of the parts of a table in its bytes.
struct Phase1Layout {
    explicit Phase1Layout(int generators);
    std::size_t representatives, twist_moves, twist_conjugates, twist_steps, classes, bytes;
};

// The contiguous record of a class: the class that each generator leads to, the generators that
// lower or keep the distance of the class alone, then the distances of all twists. The first part
// fits a cache line, or two if there are many generators.
struct ClassLayout {
    explicit constexpr ClassLayout(int generators)
        : symmetries(generators * 2),
          nearer(symmetries + (generators + 1) / 2),
          not_farther(nearer + kMaskBytes),
          distance(not_farther + kMaskBytes),
          row(aligned(distance + 1)),
          bytes(aligned(row + kDistanceRow)) {}

    static constexpr std::size_t kMaskBytes = 6;
    static_assert(8 * kMaskBytes >= kComposites);

    std::size_t symmetries, nearer, not_farther, distance, row, bytes;
};

// The effect of each generator on the distance of one part of the node: a cheap bound to check
// before the exact one.
struct PartSteps {
    std::uint64_t nearer;       // bit g: generator g lowers the part's distance
    std::uint64_t not_farther;  // bit g: it does not raise it
    std::uint64_t distance;     // distance of the part

    // Returns the generators after which the part can reach its goal in `left` more.
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
    // `bytes` must outlive the tables. Throws std::invalid_argument if the size is wrong.
    Phase1Tables(const Metric& metric, std::span<const std::uint8_t> bytes);

    static std::size_t size(const Metric& metric);
    // Fills `bytes` and reports the fraction done (0..1) to `progress` from time to time. Stops
    // early and returns false if `progress` returns false.
    static bool generate(const Metric& metric, std::span<std::uint8_t> bytes, int threads,
                         const Progress& progress);

    Phase1Node node_of(const CubieCube& cube) const;
    // Returns the node after a generator, numbered in the representative's frame.
    Phase1Node after(Phase1Node node, int seen_generator) const {
        const std::uint8_t* const from = of_class(node);
        std::uint16_t to;
        std::memcpy(&to, from + 2 * seen_generator, sizeof to);
        const int symmetry =
            from[layout_.symmetries + seen_generator / 2] >> (seen_generator % 2 * 4) & 15;
        const int twist = twist_moves_[node.twist * generators_ + seen_generator];
        return {to, twist_conjugates_[symmetry * kTwists + twist],
                products_[symmetry][node.symmetry]};
    }
    // Convert a generator's number from the cube's frame to the representative's, and back.
    int seen(Phase1Node node, int generator) const { return seen_[node.symmetry][generator]; }
    int unseen(Phase1Node node, int seen_generator) const {
        return seen_[unseen_[node.symmetry]][seen_generator];
    }
    // Returns the generators, numbered in the representative's frame, that may lead to within
    // `left` of the goal.
    std::uint64_t worthwhile(Phase1Node node, int left) const {
        return class_steps(node).within(left) & twist_steps_[node.twist].within(left);
    }
    // Prefetches a node's data. The links of its class may span two cache lines.
    void prefetch_class(Phase1Node node) const {
        __builtin_prefetch(of_class(node));
        __builtin_prefetch(of_class(node) + layout_.row - 1);
        __builtin_prefetch(twist_moves_ + node.twist * generators_);
    }
    void prefetch_distance(Phase1Node node) const { __builtin_prefetch(distance_byte(node)); }
    const std::uint8_t* distance_byte(Phase1Node node) const {
        return of_class(node) + layout_.row + node.twist / 4;
    }
    int distance_modulo_3(Phase1Node node) const {
        return *distance_byte(node) >> (node.twist % 4 * 2) & 3;
    }
    // Returns the distance of a node that has a neighbour at `neighbour_distance`.
    int distance(Phase1Node node, int neighbour_distance) const {
        return neighbour_distance - 1 + (distance_modulo_3(node) + 2 * neighbour_distance + 1) % 3;
    }
    // Returns the distance without a neighbour's, by walking to the goal.
    int distance(Phase1Node node) const;

private:
    const std::uint8_t* of_class(Phase1Node node) const {
        return classes_ + node.flip_slice_class * layout_.bytes;
    }
    PartSteps class_steps(Phase1Node node) const {
        const std::uint8_t* const from = of_class(node);
        PartSteps steps{0, 0, from[layout_.distance]};
        std::memcpy(&steps.nearer, from + layout_.nearer, ClassLayout::kMaskBytes);
        std::memcpy(&steps.not_farther, from + layout_.not_farther, ClassLayout::kMaskBytes);
        return steps;
    }

    int generators_;
    ClassLayout layout_;
    std::vector<std::array<std::uint8_t, kComposites>> seen_;
    std::array<std::array<std::uint8_t, kSymmetries>, kSymmetries> products_;
    std::array<std::uint8_t, kSymmetries> unseen_;
    const std::uint32_t* representatives_;
    const std::uint16_t* twist_moves_;
    const std::uint16_t* twist_conjugates_;
    const PartSteps* twist_steps_;
    const std::uint8_t* classes_;
};

}  // namespace cubist
