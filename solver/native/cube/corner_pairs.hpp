// Phase 2: distances of all corners together with the four U edges, and with the four D edges.
//
// Corners are stored by class under the eight symmetries that keep U. The D edges are looked up as
// the U edges of the cube turned upside down. Distances take four bits; 15 means 15 or more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cube/coordinates.hpp"
#include "cube/metric.hpp"
#include "cube/table_bytes.hpp"

namespace cubist {

constexpr int kUprightSymmetries = 8;
constexpr int kCornerClasses = 5240;
// Four edges in order on the eight slots of U and D.
constexpr int kOuterPlacements = 1680;

struct CornerPairsLayout {
    explicit CornerPairsLayout(std::size_t offset);
    std::size_t upright, upside_down, conjugates, down_as_up, distances, bytes;
};

class CornerPairs {
public:
    CornerPairs() = default;
    // The part of a table's bytes that starts at `offset`.
    CornerPairs(std::span<const std::uint8_t> bytes, std::size_t offset);

    // Returns a lower bound on the distance in phase 2: the larger of the distances of the corners
    // with the U edges and with the D edges.
    int bound(int corners, int outer) const {
        return std::max(distance(upright_[corners], outer / kOrders),
                        distance(upside_down_[corners], down_as_up_[outer]));
    }

    // Fills the part. `corners` and `outer` are phase 2's move tables by generator. Stops early and
    // returns false if `progress` returns false.
    static bool generate(const TurnSet& turns, const std::uint16_t* corners,
                         const std::uint16_t* outer, std::span<std::uint8_t> bytes,
                         std::size_t offset, int threads, const Progress& progress);

private:
    int distance(std::uint32_t packed_class, int placement) const {
        const std::uint32_t symmetry = packed_class % kUprightSymmetries;
        const std::size_t index =
            std::size_t{packed_class / kUprightSymmetries} * kOuterPlacements +
            conjugates_[symmetry * kOuterPlacements + placement];
        return distances_[index / 2] >> (index % 2 * 4) & 15;
    }

    const std::uint32_t* upright_ = nullptr;
    const std::uint32_t* upside_down_ = nullptr;
    const std::uint16_t* conjugates_ = nullptr;
    const std::uint16_t* down_as_up_ = nullptr;
    const std::uint8_t* distances_ = nullptr;
};

}  // namespace cubist
