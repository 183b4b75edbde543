// A robot's costs for the time search: small integers, and bounds on the remaining turns. The essay
// in time_search.cpp explains them with an example.
//
// Times are 16-bit numbers of ticks. Remaining turns are counted in units of the search's metric. A
// vector holds the least time to reach each mechanism state. A composite updates it by a min-plus
// product with the composite's matrix. A search on the inverse of a cube finds a plan's last turn
// first. There a vector holds the least time from each state before the turns found so far to the
// end of the plan, for each axis that may have been turned before. The products run backwards in
// the same way and end at the start.
//
// TurnTimes holds the data common to all starts of a robot. TimeModel adds a start: its first turns
// when looking forward, all bounds when looking backward, because they lead to the start.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "cube/cost_model.hpp"
#include "cube/metric.hpp"

namespace cubist {

using Time = std::int16_t;
constexpr Time kNever = 0x3FFF;  // the sum of two still fits
constexpr int kLanes = 16;       // vectors are padded to multiples of this

// The axis before the first turn.
constexpr int kNoAxis = 3;
constexpr int kMaxUnits = 22;  // units of the metric; larger counts use this one's bound

// out[j] = min over i of from[i] + matrix[i][j], for `rows` i and `size` j, a multiple of kLanes.
void min_plus(const Time* from, const Time* matrix, int rows, int size, Time* out);
// True if from[i] + more[i] < limit for any i.
bool any_below(const Time* from, const Time* more, int size, int limit);
// min over i of from[i] + more[i].
int least_sum(const Time* from, const Time* more, int size);

using Times = std::vector<Time>;

// Numbered vectors of one size. All times are kNever initially.
class TimeVectors {
public:
    TimeVectors() = default;
    TimeVectors(std::size_t count, int size) : size_(size), times_(count * size, kNever) {}

    Time* operator[](std::size_t number) { return times_.data() + number * size_; }
    const Time* operator[](std::size_t number) const { return times_.data() + number * size_; }

private:
    int size_ = 0;
    Times times_;
};

// Least times from a state to the end of a plan, by the last axis turned, for searches that know
// only the number of units left. There are three axes, or a single one for the start.
class TimeBounds {
public:
    TimeBounds() = default;
    TimeBounds(int axes, int size);

    // Times through the composite as the last one of the plan.
    Time* end(int axis, int composite) { return ends_[turned(axis, composite)]; }
    const Time* end(int axis, int composite) const { return ends_[turned(axis, composite)]; }
    // Times through at least `units` more, of phase 1 or of phase 2 alone.
    Time* rest(bool phase1, int axis, int units) { return rests_[phase1][left(axis, units)]; }
    const Time* rest(bool phase1, int axis, int units) const {
        return rests_[phase1][left(axis, units)];
    }
    // Times through the composite, or one that it grows into, and `units` more after it.
    Time* through(bool phase1, int axis, int composite, int units) {
        return through_[phase1][left(turned(axis, composite), units)];
    }
    const Time* through(bool phase1, int axis, int composite, int units) const {
        return through_[phase1][left(turned(axis, composite), units)];
    }

private:
    static int turned(int axis, int composite) { return axis * kComposites + composite; }
    static int left(int from, int units) { return from * (kMaxUnits + 1) + units; }

    TimeVectors ends_;
    std::array<TimeVectors, 2> rests_, through_;  // [0] for phase 2, [1] for phase 1
};

// Times of turns, independent of the start, for one direction of the search.
class TurnTimes {
public:
    // `names[c]` is the model's number for composite c of a search from another side of the cube.
    // Bounds of phase 1 assume at least `floor` units of phase 2; with 0 the plan may end there.
    using Names = std::array<std::uint8_t, kComposites>;
    TurnTimes(const TurnCosts& costs, const Metric& metric, const Names& names, bool backward,
              int floor);

    int size() const { return size_; }
    // Converts microseconds to ticks, rounded up. A plan of at least that many is no improvement.
    int limit_of(std::uint32_t microseconds) const;
    // Returns a lower bound, in microseconds, for at least `units` of turns in the metric from any
    // state that a turn leads to. Forward only.
    std::uint64_t least_us(int units) const;

    // Remaining time in each state after a last turn on `axis`. Forward only.
    const Time* final(int axis) const { return finals_.data() + axis * size_; }
    // Returns the transposed matrices, which lead from times after a composite to times before it.
    Times transposed() const;
    const Time* side(const Times& sides, int axis, int composite) const {
        return sides.data() + (matrix(axis, composite) - matrices_.data());
    }

    // Computes the vector after a composite that follows a turn on `axis`.
    void perform(int axis, int composite, const Time* from, Time* out) const {
        const Rows rows = rows_[axis][Composite::of(composite).axis];
        min_plus(from + rows.first, matrix(axis, composite) + rows.first * size_, rows.count, size_,
                 out);
    }

private:
    friend class TimeModel;
    // The part of a vector that affects a turn on another axis.
    struct Rows {
        int first, count;
    };

    const Time* matrix(int axis, int composite) const {
        return matrices_.data() + std::size_t(axis * kComposites + composite) * size_ * size_;
    }
    Time* matrix(int axis, int composite) {
        return matrices_.data() + std::size_t(axis * kComposites + composite) * size_ * size_;
    }
    Time ticks_of(std::uint64_t microseconds) const;
    bool may_end(bool phase1) const { return !phase1 || floor_ == 0; }
    void choose_tick(const TurnCosts& costs);
    void fill_forward(const TurnCosts& costs);
    void fill_backward(const TurnCosts& costs);
    // Fills the bounds after turns on the three axes from their ends.
    void fill(const Times& sides, TimeBounds& bounds) const;
    void fill_rests(const Times& sides, bool phase1, TimeBounds& bounds) const;
    void fill_through(const Times& sides, bool phase1, TimeBounds& bounds) const;
    // Fills the bounds before any turn from those after the first, which leads to `opening`.
    void fill_start(const Time* opening, const TimeBounds& after, TimeBounds& start) const;
    void grow_all(bool phase1, int axis, TimeBounds& bounds) const;
    void fill_fastest(const Times& sides);
    const Time* fastest(int axis, int units) const {
        units = std::clamp(units, 0, kMaxUnits);
        return fastest_.data() + (axis * (kMaxUnits + 1) + units) * size_;
    }

    const Metric& metric_;
    Names names_;
    bool backward_;
    int floor_, states_, size_;
    std::uint32_t tick_us_ = 1;
    std::array<std::array<Rows, 3>, 3> rows_{};
    Times matrices_;
    // Forward: times after the last turn, the bounds, and the least times of units of any phase,
    // [axis][units].
    Times finals_, fastest_;
    TimeBounds bounds_;
    // Backward: the vectors after the first turn found, which is the last of the plan.
    Times opening_;
};

// Times of turns from one start. `turns` must outlive it.
class TimeModel {
public:
    TimeModel(const TurnTimes& turns, const CostModel& model);
    TimeModel(const TimeModel&) = delete;

    const TurnTimes& turns() const { return turns_; }
    int size() const { return turns_.size(); }
    int limit_of(std::uint32_t microseconds) const { return turns_.limit_of(microseconds); }
    // Returns a lower bound, in microseconds, for solutions of at least `units`. Forward only.
    std::uint64_t least_us(int units) const;

    // The vector before any turn, and the vector after a composite that follows a turn on `axis`.
    const Time* start() const { return start_.data(); }
    void perform(int axis, int composite, const Time* from, Time* out) const {
        if (axis == kNoAxis)
            std::copy_n(opening_ + composite * size(), size(), out);
        else
            turns_.perform(axis, composite, from, out);
    }
    // Least times after a turn on `axis`: for the composite alone; for at least `units` more (in
    // phase 2, at least one); for the composite (or one that it grows into) and `units` more after
    // it. Phase 1 assumes the floor of phase 2.
    const Time* end(int axis, int composite) const { return bounds(axis).end(of(axis), composite); }
    const Time* least_in_phase1(int axis, int units) const {
        return bounds(axis).rest(true, of(axis), units);
    }
    const Time* least_in_phase2(int axis, int units) const {
        return bounds(axis).rest(false, of(axis), units);
    }
    const Time* through_phase1(int axis, int composite, int units) const {
        return bounds(axis).through(true, of(axis), composite, units);
    }
    const Time* through_phase2(int axis, int composite, int units) const {
        return bounds(axis).through(false, of(axis), composite, units);
    }

private:
    const TimeBounds& bounds(int axis) const { return axis == kNoAxis ? at_start_ : *after_turns_; }
    static int of(int axis) { return axis == kNoAxis ? 0 : axis; }
    void fill_forward(const CostModel& model);
    void fill_backward(const CostModel& model);

    const TurnTimes& turns_;
    Times start_, first_turns_;
    TimeBounds at_start_, to_start_;
    // Forward, the first turns depend on the start; backward, the bounds after turns do.
    const Time* opening_;
    const TimeBounds* after_turns_;
};

}  // namespace cubist
