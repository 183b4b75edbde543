// Two-phase search in a robot's time.
//
// Phase 1 is the depth-first walk of the two-phase search, by length and with exact distances; each
// node carries the least time to be in each state of the mechanism, and a child is dropped when
// even the fastest way to make its turns and all turns still needed is no gain. So there is no
// branching on what the mechanism does between the turns. Phase 2 is the same, a probe ends after
// some nodes.
#pragma once

#include <memory>
#include <vector>

#include "cube/collector.hpp"
#include "robot/time_model.hpp"
#include "two_phase/two_phase.hpp"

namespace cubist {

// A robot's turns ready for searches in one metric from all directions, wherever they start.
class RobotTimes {
public:
    RobotTimes(const TurnCosts& costs, const Metric& metric);

    const std::vector<TurnTimes>& turns() const { return turns_; }
    // Microseconds that no turns of at least that length in the metric can beat.
    std::uint64_t least_us(int length) const { return turns_[0].least_us(length); }

private:
    std::vector<TurnTimes> turns_;
};

// The same from one start; `robot` must outlive it.
class TimeModels {
public:
    TimeModels(const RobotTimes& robot, const CostModel& model);
    TimeModels(const TimeModels&) = delete;

    const TimeModel& of(Direction direction) const {
        return *models_[direction.thirds + 3 * direction.inverse];
    }
    // Microseconds that no solution of at least that length in the metric can beat.
    std::uint64_t least_us(int length) const { return models_[0]->least_us(length); }

private:
    std::vector<std::unique_ptr<TimeModel>> models_;
};

// Solutions that take `below` microseconds or more are not looked for.
TwoPhaseReport search_time(const TwoPhaseTables& tables, const TimeModels& models,
                           const CubieCube& cube, const TwoPhaseOptions& options,
                           Collector& collector, std::uint32_t below = UINT32_MAX);

}  // namespace cubist
