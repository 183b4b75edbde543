// Searches of the 2x2x2: the complete table, and the three textbook searches it makes needless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cube/table_bytes.hpp"
#include "pocket/pocket.hpp"

namespace cubist {

// What a textbook search found and what it took.
struct PocketResult {
    std::vector<int> turns;
    std::uint64_t nodes = 0;  // positions expanded
    std::size_t bytes = 0;    // memory of its tables, queue and marks
};

// Breadth-first from the position until solved; each position is visited once.
PocketResult pocket_bfs(PocketPosition from, PocketMetric metric);
// The same, leaving out what cannot be solved within `farthest` turns by the pruning tables.
PocketResult pocket_bfs_pruned(PocketPosition from, PocketMetric metric);
// Depth-first, deeper and deeper, cut by the pruning tables; needs no memory but one path.
PocketResult pocket_ida_star(PocketPosition from, PocketMetric metric);

// The distance from solved of every position.
class PocketTable {
public:
    // Throws Stopped when `progress` returns false.
    PocketTable(PocketMetric metric, const Progress& progress);

    int distance(PocketPosition at) const { return distance_[at.index()]; }
    // A shortest way to solved.
    std::vector<int> solve(PocketPosition from) const;
    // How many positions are at each distance.
    std::vector<std::uint32_t> counts() const;
    std::size_t bytes() const { return distance_.size(); }

private:
    PocketMetric metric_;
    std::vector<std::uint8_t> distance_;
};

}  // namespace cubist
