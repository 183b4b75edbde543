// The reduction of a 6x6x6 or 7x7x7: its core as a 4x4x4 or 5x5x5, then the rest as a 5x5x5.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "cube/control.hpp"
#include "reduction/finish.hpp"
#include "reduction/five_search.hpp"
#include "reduction/four_tables.hpp"

namespace cubist {

struct LargeOptions {
    std::size_t candidates;  // that go on from a phase to the next
    std::size_t reductions;  // then enough are found
    double time_limit;       // seconds of each thread; after it one is enough
    int threads;
    const CancelFlag* cancel = nullptr;
};

// Turns by phase: core and bars, then the five of a 5x5x5.
struct LargeReduction {
    std::array<BlockTurns, 6> phases;
};

// Reductions to a 3x3x3, shorter ones first; none only when cancelled. Throws
// std::invalid_argument for stickers of no cube.
std::vector<LargeReduction> reduce_six(const FourTables& four, const FiveTables& five,
                                       const Colours& stickers, const LargeOptions& options);
std::vector<LargeReduction> reduce_seven(const FiveTables& five, const Colours& stickers,
                                         const LargeOptions& options);

}  // namespace cubist
