// A robot's costs as the time search wants them: small integers, and bounds on what is to come.
//
// Times are 16-bit multiples of a unit. A row vector holds the least time to be in each mechanism
// state; a composite takes it to the next by a min-plus product with its matrix. Searching for the
// inverse of a cube finds a plan's last turn first: there the vector holds the least time from each
// state the robot may be in before the turns found so far to the end, for each axis that may have
// been turned before, and from the start; the products go backwards in the same way.
//
// `through` bounds a composite and all that is needed after it before its product is made.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cost_model.hpp"
#include "metric.hpp"

namespace cubist {

using Time = std::int16_t;
constexpr Time kNever = 0x3FFF;  // two of them still fit
constexpr int kLanes = 16;       // vectors are padded to multiples of this

// The axis before the first turn.
constexpr int kNoAxis = 3;
constexpr int kMaxUnits = 22;

// out[j] = min over i of from[i] + matrix[i][j], for `rows` i and `size` j, a multiple of kLanes.
void min_plus(const Time* from, const Time* matrix, int rows, int size, Time* out);
// Is from[i] + more[i] < limit for any i?
bool any_below(const Time* from, const Time* more, int size, int limit);
// min over i of from[i] + more[i].
int least_sum(const Time* from, const Time* more, int size);

class TimeModel {
public:
    // `names[c]` is the model's number of the search's composite c: another direction to look from.
    // `floor` units of phase 2 are counted on when phase 1 is bounded.
    using Names = std::array<std::uint8_t, kComposites>;
    TimeModel(const CostModel& model, const Metric& metric, const Names& names, bool backward,
              int floor);

    int size() const { return size_; }
    // Microseconds, rounded up, as units; everything at or above it is no gain.
    int limit_of(std::uint32_t microseconds) const;

    // Microseconds that no solution of at least `units` in the metric can beat.
    std::uint64_t least_us(const Metric& metric, int units) const;

    const Time* start() const { return start_.data(); }
    // The vector after a composite that follows a turn on `axis`.
    void perform(int axis, int composite, const Time* from, Time* out) const {
        const Rows rows = rows_[axis][Composite::of(composite).axis];
        min_plus(from + rows.first, matrix(axis, composite) + rows.first * size_, rows.count, size_,
                 out);
    }
    const Time* final(int axis) const { return finals_.data() + axis * size_; }
    // Least time after a turn on `axis` for at least `units` more and the floor of phase 2.
    const Time* least_in_phase1(int axis, int units) const {
        return rest1_.data() + (units * 4 + axis) * size_;
    }
    // Least time after a turn on `axis` for at least `units` more in phase 2, the end included.
    const Time* least_in_phase2(int axis, int units) const {
        return rest2_.data() + (units * 4 + axis) * size_;
    }
    // Least time for the composite (or one that it grows into) and `units` more after it.
    const Time* through_phase1(int axis, int composite, int units) const {
        return through1_.data() + through_index(axis, composite, units);
    }
    const Time* through_phase2(int axis, int composite, int units) const {
        return through2_.data() + through_index(axis, composite, units);
    }

private:
    using Times = std::vector<Time>;
    // The part of a vector that matters for a turn on another axis.
    struct Rows {
        int first, count;
    };

    std::size_t through_index(int axis, int composite, int units) const {
        return std::size_t((axis * kComposites + composite) * (kMaxUnits + 1) + units) * size_;
    }
    const Time* matrix(int axis, int composite) const {
        return matrices_.data() + std::size_t(axis * kComposites + composite) * size_ * size_;
    }
    Time* matrix(int axis, int composite) {
        return matrices_.data() + std::size_t(axis * kComposites + composite) * size_ * size_;
    }
    Time units_of(std::uint64_t microseconds) const;
    void choose_unit(const CostModel& model);
    void fill_forward(const CostModel& model, const Names& names);
    void fill_backward(const CostModel& model, const Names& names);
    void fill_last_turns(const CostModel& model, const Names& names);
    // The matrix on its side, to go from what comes after a composite to what comes before.
    Times transposed(int axis, int composite) const;
    // rests[units][axis]: the least time for that many units; given for 0 units.
    void fill_rests(const Metric& metric, const std::vector<int>& members, Times& rests) const;
    void fill_through(const Metric& metric, const TurnSet& turns, const std::vector<int>& members,
                      const Times& rests, Times& through) const;
    void grow(const Metric& metric, const TurnSet& turns, int axis, int composite, int units,
              Times& through) const;

    int states_, size_;
    std::uint32_t unit_us_ = 1;
    std::array<std::array<Rows, 3>, 4> rows_{};
    Times start_, matrices_, finals_, rest1_, rest2_, through1_, through2_;
};

}  // namespace cubist
