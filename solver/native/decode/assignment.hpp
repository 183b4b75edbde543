// The cheapest one-to-one assignment of rows to columns.
#pragma once

#include <span>
#include <vector>

namespace cubist {

// The column of each row, the sum of `costs[rows, columns]` being the least possible. Throws
// std::invalid_argument for more rows than columns, or costs that are no numbers.
std::vector<int> cheapest_assignment(std::span<const double> costs, int rows, int columns);

}  // namespace cubist
