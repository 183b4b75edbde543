// The 2x2x2 relative to its corner DLB: seven corners on seven slots, turned by U, R and F alone.
//
// A turn of D, L or B equals the same turn of the opposite layer plus a rotation of the whole cube,
// so the nine turns of U, R and F reach all 7! x 3^6 = 3674160 positions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cube/cubie.hpp"
#include "cube/table_bytes.hpp"

namespace cubist {

constexpr int kPocketPerms = 5040;
constexpr int kPocketTwists = 729;
constexpr int kPocketPositions = kPocketPerms * kPocketTwists;
// U U2 U' R R2 R' F F2 F'.
constexpr int kPocketTurns = 9;
constexpr int kReferenceSlot = 5;

struct PocketPosition {
    std::uint16_t perm = 0;   // factorial number of the other seven corners
    std::uint16_t twist = 0;  // base-3 number of the twists of the first six

    bool is_solved() const { return perm == 0 && twist == 0; }
    int index() const { return perm * kPocketTwists + twist; }
};

// Returns the position of `cube`, whose corner DLB must be at home and untwisted. Ignores edges.
PocketPosition pocket_position(const CubieCube& cube);

constexpr int pocket_quarters(int turn) { return turn % 3 == 1 ? 2 : 1; }
// Returns the inverse of a turn.
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

// Returns the turns that cost 1 in the metric.
const std::vector<int>& unit_turns(PocketMetric metric);
constexpr int pocket_cost(PocketMetric metric, int turn) {
    return metric == PocketMetric::kHalfTurn ? 1 : pocket_quarters(turn);
}
// Returns the greatest distance of any position from solved.
constexpr int farthest(PocketMetric metric) { return metric == PocketMetric::kHalfTurn ? 11 : 14; }

// Distances from solved in each coordinate alone: admissible bounds for the whole position.
struct PocketBounds {
    std::vector<std::uint8_t> perm, twist;

    explicit PocketBounds(PocketMetric metric);
    int operator()(PocketPosition at) const { return std::max(perm[at.perm], twist[at.twist]); }
    std::size_t bytes() const { return perm.size() + twist.size(); }
};

// Costs of U, R and F turns on a robot that holds a 2x2x2, and the result of a search over them.

constexpr std::uint32_t kNever = 0xFFFFFFFF;
constexpr int kPocketAxes = 3;

// Adds with saturation at kNever.
constexpr std::uint32_t sum(std::uint32_t a, std::uint32_t b) {
    return a > kNever - b ? kNever : a + b;
}

// The part of a mechanism's solver.cost.CostModel that describes turns of U, R and F.
struct PocketCosts {
    int states;
    std::span<const std::uint32_t> next, final;

    static constexpr int composite(int turn) {
        return Composite{static_cast<std::uint8_t>(turn / 3),
                         static_cast<std::uint8_t>(turn % 3 + 1), 0}
            .index();
    }
    // Returns the row of `turn` in an array [45, states], such as the costs of the first turn.
    static const std::uint32_t* row(std::span<const std::uint32_t> array, int turn, int states) {
        return array.data() + std::size_t(composite(turn)) * states;
    }
    const std::uint32_t* matrix(int last_axis, int turn) const {
        const std::size_t number = std::size_t(last_axis) * kComposites + composite(turn);
        return next.data() + number * states * states;
    }
    const std::uint32_t* final_row(int axis) const {
        return final.data() + std::size_t(axis) * states;
    }
};

// A copy of the costs that outlives the original arrays.
class CopiedPocketCosts {
public:
    explicit CopiedPocketCosts(const PocketCosts& costs)
        : next_(costs.next.begin(), costs.next.end()),
          final_(costs.final.begin(), costs.final.end()),
          view_{costs.states, next_, final_} {}
    CopiedPocketCosts(const CopiedPocketCosts&) = delete;
    CopiedPocketCosts& operator=(const CopiedPocketCosts&) = delete;

    const PocketCosts& operator*() const { return view_; }
    const PocketCosts* operator->() const { return &view_; }

private:
    std::vector<std::uint32_t> next_, final_;
    PocketCosts view_;
};

struct FastestResult {
    std::vector<int> turns;       // U U2 U' R R2 R' F F2 F' as 0..8
    std::uint32_t cost = kNever;  // kNever if the search found no solution
    bool proven = false;          // no solution is faster
    std::uint64_t nodes = 0;
};

// Searches of the 2x2x2: three textbook searches, and the complete table that replaces them.

// The result of a textbook search and its effort.
struct PocketResult {
    std::vector<int> turns;
    std::uint64_t nodes = 0;  // positions expanded
    std::size_t bytes = 0;    // memory for tables, queue and visited marks
};

// Searches breadth-first from the position until solved. Visits each position once.
PocketResult pocket_bfs(PocketPosition from, PocketMetric metric);
// The same, but prunes positions that the tables prove unsolvable within `farthest` turns.
PocketResult pocket_bfs_pruned(PocketPosition from, PocketMetric metric);
// Iterative-deepening depth-first search, pruned by the tables. Stores a single path.
PocketResult pocket_ida_star(PocketPosition from, PocketMetric metric);

// A table of every position's distance from solved.
class PocketTable {
public:
    // Throws Stopped when `progress` returns false.
    PocketTable(PocketMetric metric, const Progress& progress);

    int distance(PocketPosition at) const { return distance_[at.index()]; }
    // Returns a shortest solution.
    std::vector<int> solve(PocketPosition from) const;
    // Returns the number of positions at each distance.
    std::vector<std::uint32_t> counts() const;
    std::size_t bytes() const { return distance_.size(); }

private:
    PocketMetric metric_;
    std::vector<std::uint8_t> distance_;
};

}  // namespace cubist
