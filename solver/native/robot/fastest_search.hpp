// The fastest way to solve a 3x3x3 on a robot, with proof.
//
// Branch and bound over composites. A node carries the least time to be in each state of the
// mechanism, as in the two-phase search. The table of the optimal search says how many half turns
// are still needed, and the robot's times how long so many take from each state. Whatever cannot
// end below the limit is left out; what remains is the fastest solution, or none is below it.
#pragma once

#include <cstdint>
#include <optional>

#include "cube/control.hpp"
#include "optimal/optimal_walk.hpp"
#include "robot/time_model.hpp"

namespace cubist {

struct TimeProofOptions {
    std::uint32_t below_us;  // slower solutions are not looked for
    double time_limit;       // seconds of each thread's processor time
    int threads;
    const CancelFlag* cancel = nullptr;
};

struct TimeProof {
    std::optional<Composites> solution;
    bool proven = false;  // none is faster, or as fast as wanted
    std::uint64_t nodes = 0;
};

// `nodes` and `model`, which looks forward, count in half turns.
TimeProof search_fastest(const OptimalNodes& nodes, const TimeModel& model, const CostModel& costs,
                         const CubieCube& cube, const TimeProofOptions& options);

}  // namespace cubist
