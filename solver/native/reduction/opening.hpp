// The first part of a reduction: short sequences that bring many centres and wings together at
// once.
//
// As long as little is finished, exchanges of three pieces are a waste: a block turn, or one seen
// through another (A B A'), moves many pieces to where they belong. So a beam search adds such
// sequences, cost by cost, and keeps the positions from which exchanges would need the fewest
// turns. That is estimated by the pieces still out of place.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "cube/control.hpp"
#include "reduction/finish.hpp"
#include "reduction/layered_cube.hpp"

namespace cubist {

struct OpeningOptions {
    std::size_t width = 100;  // positions kept for each number of turns
    std::size_t count = 20;   // openings that are finished
    double time_limit = 5.0;  // seconds
    const CancelFlag* cancel = nullptr;
};

struct OpenedReduction {
    BlockTurns opening;
    Finish finish;
    int length = 0;
};

// Reductions of a legal cube to a 3x3x3, shortest first. `progress` hears how much of the time is
// over and stops the search by false: then none may be returned. Throws std::invalid_argument for
// stickers of no cube.
std::vector<OpenedReduction> reduce_by_opening(const Geometry& geometry, const Colours& stickers,
                                               const OpeningOptions& options,
                                               const std::function<bool(double)>& progress);

}  // namespace cubist
