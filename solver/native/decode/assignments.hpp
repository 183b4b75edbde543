// The cheapest ways to give every slot a piece where any piece may stand in any slot: wings,
// centres, the names of colours.
#pragma once

#include <span>
#include <vector>

namespace cubist {

// The column of each row, the sum of `costs[rows, columns]` being the least possible. Throws
// std::invalid_argument for more rows than columns, or costs that are no numbers.
std::vector<int> cheapest_assignment(std::span<const double> costs, int rows, int columns);

// A piece for every slot, and what they cost in sum.
struct RankedAssignment {
    double cost;
    std::vector<int> pieces;
};

// The `k` cheapest assignments, cheapest first, of `pieces` that exist `copies` times each to as
// many slots; fewer where there are no more. `costs[slots][pieces]` are finite, else throws
// std::invalid_argument.
std::vector<RankedAssignment> ranked_assignments(std::span<const double> costs, int pieces,
                                                 int copies, int k);

}  // namespace cubist
