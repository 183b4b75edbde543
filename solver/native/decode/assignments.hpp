// The cheapest assignments of pieces to slots if any piece may stand in any slot: wings, centres,
// the names of colours.
#pragma once

#include <span>
#include <vector>

namespace cubist {

// The column of each row, so that the sum of `costs[rows, columns]` is the least possible. Throws
// std::invalid_argument for more rows than columns, or costs that are no numbers.
std::vector<int> cheapest_assignment(std::span<const double> costs, int rows, int columns);

// A piece for every slot, and their total cost.
struct RankedAssignment {
    double cost;
    std::vector<int> pieces;
};

// The `k` cheapest assignments, cheapest first, of `pieces` that exist `copies` times each to as
// many slots; fewer if there are no more. `costs[slots][pieces]` are finite, else throws
// std::invalid_argument.
std::vector<RankedAssignment> ranked_assignments(std::span<const double> costs, int pieces,
                                                 int copies, int k);

}  // namespace cubist
