// Two-phase search in a robot's time.
//
// Phase 1 is the depth-first walk of the two-phase search, by length and with exact distances. Each
// node carries the least time to reach each mechanism state. The search drops a child if even the
// fastest execution of its turns and all turns still needed is no improvement. So it does not
// branch on the mechanism's moves between turns. Phase 2 works the same way, but a probe ends after
// a limited number of nodes. When nothing is left to search within these limits, the search starts
// again with wider ones and with bounds that hold for every solution, until the time is over or it
// has a proof.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cube/collector.hpp"
#include "robot/time_model.hpp"
#include "two_phase/two_phase.hpp"

namespace cubist {

// A robot's turn times in one metric for searches in all directions, independent of the start.
// `costs` must outlive it.
class RobotTimes {
public:
    RobotTimes(const TurnCosts& costs, const Metric& metric);
    RobotTimes(const RobotTimes&) = delete;

    const std::vector<TurnTimes>& turns() const { return turns_; }
    // Returns a lower bound, in microseconds, for turns of at least `length` in the metric.
    std::uint64_t least_us(int length) const { return turns_[0].least_us(length); }
    // The same with bounds that hold for every solution, made at the first call.
    const RobotTimes& for_proof() const;

private:
    RobotTimes(const TurnCosts& costs, const Metric& metric, int floor);

    const TurnCosts& costs_;
    const Metric& metric_;
    std::vector<TurnTimes> turns_;
    mutable std::once_flag is_made_;
    mutable std::unique_ptr<const RobotTimes> for_proof_;
};

// The same for one start. `robot` and `model` must outlive it.
class TimeModels {
public:
    TimeModels(const RobotTimes& robot, const CostModel& model);
    TimeModels(const TimeModels&) = delete;

    const TimeModel& of(Direction direction) const {
        return *models_[direction.thirds + 3 * direction.inverse];
    }
    // Returns a lower bound, in microseconds, for solutions of at least `length` in the metric.
    std::uint64_t least_us(int length) const { return models_[0]->least_us(length); }
    const TimeModels& for_proof() const;

private:
    const RobotTimes& robot_;
    const CostModel& model_;
    std::vector<std::unique_ptr<TimeModel>> models_;
    mutable std::once_flag is_made_;
    mutable std::unique_ptr<const TimeModels> for_proof_;
};

// Searches only for solutions faster than `below` microseconds, and never with wider limits.
// Without `below`, a search that found nothing in time continues to the first solution.
TwoPhaseReport search_time(const TwoPhaseTables& tables, const TimeModels& models,
                           const CubieCube& cube, const TwoPhaseOptions& options,
                           Collector& collector, std::uint32_t below = UINT32_MAX);

}  // namespace cubist
