// The 2x2x2 relative to its corner DLB: seven corners on seven slots, turned by U, R and F alone.
//
// A turn of D, L or B is the same turn of the opposite layer with the whole cube rotated, so the
// nine turns of U, R and F reach all 7! x 3^6 = 3674160 positions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cube/cubie.hpp"

namespace cubist {

constexpr int kPocketPerms = 5040;
constexpr int kPocketTwists = 729;
constexpr int kPocketPositions = kPocketPerms * kPocketTwists;
// U U2 U' R R2 R' F F2 F'.
constexpr int kPocketTurns = 9;
constexpr int kReferenceSlot = 5;

struct PocketPosition {
    std::uint16_t perm = 0;   // factorial number of the other seven corners
    std::uint16_t twist = 0;  // base-3 number of the first six of them

    bool is_solved() const { return perm == 0 && twist == 0; }
    int index() const { return perm * kPocketTwists + twist; }
};

// The corner DLB must be at home, unturned; edges are not looked at.
PocketPosition pocket_position(const CubieCube& cube);

constexpr int pocket_quarters(int turn) { return turn % 3 == 1 ? 2 : 1; }
// The turn that takes another back.
constexpr int undone(int turn) { return turn / 3 * 3 + 2 - turn % 3; }

// Both coordinates after each turn.
struct PocketTurns {
    std::array<std::array<std::uint16_t, kPocketTurns>, kPocketPerms> perm;
    std::array<std::array<std::uint16_t, kPocketTurns>, kPocketTwists> twist;

    PocketPosition after(PocketPosition at, int turn) const {
        return {perm[at.perm][turn], twist[at.twist][turn]};
    }
};
const PocketTurns& pocket_turns();

enum class PocketMetric { kHalfTurn, kQuarterTurn };
// Throws std::invalid_argument for a name other than htm, qtm.
PocketMetric pocket_metric(std::string_view name);

// The turns that count one in the metric.
const std::vector<int>& unit_turns(PocketMetric metric);
constexpr int pocket_cost(PocketMetric metric, int turn) {
    return metric == PocketMetric::kHalfTurn ? 1 : pocket_quarters(turn);
}
// No position is farther from solved.
constexpr int farthest(PocketMetric metric) { return metric == PocketMetric::kHalfTurn ? 11 : 14; }

// Distances from solved in one coordinate alone: admissible for the whole.
struct PocketBounds {
    std::vector<std::uint8_t> perm, twist;

    explicit PocketBounds(PocketMetric metric);
    int operator()(PocketPosition at) const {
        return std::max(perm[at.perm], twist[at.twist]);
    }
    std::size_t bytes() const { return perm.size() + twist.size(); }
};

}  // namespace cubist
