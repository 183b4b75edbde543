// Phase 2, and the coordinates that phase 1 carries along for it: permutations and exact distances
// of (corners, order of the middle edges), of (U and D edges, order of the middle edges), and of
// corners with the edges of one layer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cube/coordinates.hpp"
#include "cube/corner_pairs.hpp"
#include "cube/metric.hpp"
#include "cube/table_bytes.hpp"

namespace cubist {

struct Phase2Layout {
    Phase2Layout(int generators1, int generators2);
    std::size_t corners_in_phase1, placements, corners, outer, middle, corner_distances,
        outer_distances, pairs, bytes;
};

struct Phase2Node {
    std::uint16_t corners, outer;
    std::uint8_t middle;
    bool is_solved() const { return (corners | outer | middle) == 0; }
};

// Returns the node of a cube in the group of phase 2.
Phase2Node phase2_node_of(const CubieCube& cube);

class Phase2Tables {
public:
    // `bytes` must outlive the tables. Throws std::invalid_argument if the size is wrong.
    Phase2Tables(const Metric& metric, std::span<const std::uint8_t> bytes);

    static std::size_t size(const Metric& metric);
    // Fills `bytes` and reports the fraction done (0..1) to `progress` from time to time. Stops
    // early and returns false if `progress` returns false.
    static bool generate(const Metric& metric, std::span<std::uint8_t> bytes, int threads,
                         const Progress& progress);

    // Coordinates after a generator of phase 1.
    int corners_after(int corners, int generator) const {
        return corners_in_phase1_[corners * generators1_ + generator];
    }
    int placement_after(int placement, int generator) const {
        return placements_[placement * generators1_ + generator];
    }

    void prefetch_after(int corners, int placement) const {
        __builtin_prefetch(corners_in_phase1_ + corners * generators1_);
        __builtin_prefetch(placements_ + placement * generators1_);
    }
    void prefetch_bound(int corners, int placement) const {
        __builtin_prefetch(corner_distances_ + corners * kOrders + placement % kOrders);
    }

    // Returns the node after a generator of phase 2.
    Phase2Node after(Phase2Node node, int generator) const {
        return {corners_[node.corners * generators2_ + generator],
                outer_[node.outer * generators2_ + generator],
                middle_[node.middle * generators2_ + generator]};
    }
    int corner_bound(int corners, int middle) const {
        return corner_distances_[corners * kOrders + middle];
    }
    int outer_bound(int outer, int middle) const {
        return outer_distances_[outer * kOrders + middle];
    }
    int bound(Phase2Node node) const {
        return std::max({corner_bound(node.corners, node.middle),
                         outer_bound(node.outer, node.middle),
                         pairs_.bound(node.corners, node.outer)});
    }
    // True if the node is certainly farther away than `distance`. Checks the small tables first.
    bool is_beyond(Phase2Node node, int distance) const {
        return corner_bound(node.corners, node.middle) > distance ||
               outer_bound(node.outer, node.middle) > distance ||
               pairs_.bound(node.corners, node.outer) > distance;
    }

private:
    int generators1_, generators2_;
    const std::uint16_t* corners_in_phase1_;
    const std::uint16_t* placements_;
    const std::uint16_t* corners_;
    const std::uint16_t* outer_;
    const std::uint8_t* middle_;
    const std::uint8_t* corner_distances_;
    const std::uint8_t* outer_distances_;
    CornerPairs pairs_;
};

// Distances in phase 2 of all corners together with the centres, and of all outer edges together
// with them, for cubes whose centres show their rotation.
//
// A centre is one number: the quarter turns that its face must still make, modulo 4. In phase 2
// those of the sides are even. One of the remaining eight bits follows from the corners or edges:
// every quarter turn is an odd permutation of both, and every half turn of a side is an odd
// permutation of the outer edges.
class CentreTable {
public:
    static constexpr std::size_t kPart = std::size_t{kCornerPerms} * 128, kBytes = 2 * kPart;
    static_assert(kCornerPerms == kOuterEdges);

    // `bytes` must outlive the table. Throws std::invalid_argument if the size is wrong.
    CentreTable(const Metric& metric, std::span<const std::uint8_t> bytes);
    // Returns false if `progress` stopped it.
    static bool generate(const Metric& metric, const Phase2Tables& phase2,
                         std::span<std::uint8_t> bytes, const Progress& progress);

    // Returns the centres after a generator of phase 2: quarters of U, of D, half turns of R F L B,
    // starting at the lowest bit.
    int after(int centres, int generator) const { return after_[generator][centres]; }
    int bound(Phase2Node node, int centres) const {
        return std::max(distances_[index(node.corners, centres)],
                        distances_[kPart + index(node.outer, centres)]);
    }

private:
    using Moves = std::vector<std::array<std::uint8_t, 256>>;
    static Moves moves_of(const Metric& metric);
    static void fill(std::span<std::uint8_t> distances, const Metric& metric, const auto& after,
                     const auto& is_odd, const auto& settled);
    static std::size_t index(int pieces, int centres) {
        return std::size_t(pieces) * 128 + (centres >> 3 << 2 | (centres & 3));
    }

    Moves after_;
    const std::uint8_t* distances_;
};

}  // namespace cubist
