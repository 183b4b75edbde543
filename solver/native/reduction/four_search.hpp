// The reduction of a 4x4x4 in three phases with many candidates between them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "cube/control.hpp"
#include "reduction/block_times.hpp"
#include "reduction/finish.hpp"
#include "reduction/four_tables.hpp"

namespace cubist {

struct FourOptions {
    std::size_t ends1 = 500;  // candidates that phase 2 starts from
    std::size_t ends2 = 200;  // and phase 3
    std::size_t reductions;   // then enough are found
    double time_limit;        // seconds of each thread; after it one reduction is enough
    int threads;
    const CancelFlag* cancel = nullptr;
    const BlockTimes* times = nullptr;  // where the robot's time is to be short, not the turns few
};

// Turns by phase: two for the centres, one for the wings.
struct FourReduction {
    std::array<BlockTurns, 3> phases;
    int time = 0;  // on the robot, where times are given
};

// Reductions to a 3x3x3 without parity, shorter ones first, or sooner ones; none only when
// cancelled. Throws std::invalid_argument for stickers of no cube.
std::vector<FourReduction> reduce_four(const FourTables& tables, const Colours& stickers,
                                       const FourOptions& options);

}  // namespace cubist
