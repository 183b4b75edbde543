// Finds and proves a robot's fastest solution of a 3x3x3.
//
// Branch and bound over composites. As in the two-phase search, a node carries the least time to
// reach each mechanism state. The optimal search's table gives the half turns still needed, and the
// robot's times give how long that many take from each state. The search prunes every node that
// cannot end below the limit. It returns the fastest solution, or proves that none is below it.
#pragma once

#include <cstdint>
#include <optional>

#include "cube/control.hpp"
#include "optimal/optimal_walk.hpp"
#include "robot/time_model.hpp"

namespace cubist {

struct TimeProofOptions {
    std::uint32_t below_us;  // searches only for solutions faster than this
    double time_limit;       // seconds of processor time per thread
    int threads;
    const CancelFlag* cancel = nullptr;
};

struct TimeProof {
    std::optional<Composites> solution;
    bool proven = false;  // no solution is faster, or none is below the limit
    std::uint64_t nodes = 0;
};

// `nodes` and `model` must use the half-turn metric, and `model` must look forward.
TimeProof search_fastest(const OptimalNodes& nodes, const TimeModel& model, const CostModel& costs,
                         const CubieCube& cube, const TimeProofOptions& options);

}  // namespace cubist
