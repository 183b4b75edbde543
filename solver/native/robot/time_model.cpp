#include "robot/time_model.hpp"

#include <algorithm>
#include <numeric>

// The inner loops of the time search are compiled for the widest vectors the processor has.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define CUBIST_VECTORISED __attribute__((target_clones("avx2", "default")))
#else
#define CUBIST_VECTORISED
#endif

namespace cubist {
namespace {

typedef Time Vector __attribute__((vector_size(kLanes * sizeof(Time)), aligned(2)));
typedef std::int64_t Words __attribute__((vector_size(kLanes * sizeof(Time)), aligned(2)));

// A plan's length in composites, and how much longer than a typical one it may take.
constexpr std::uint64_t kTypicalTurns = 20;
constexpr double kHeadroom = 1.5;

std::vector<int> members_of(bool phase1) {
    std::vector<int> members;
    for (int c = 0; c < kComposites; ++c)
        if (phase1 || !leaves_phase2(Composite::of(c))) members.push_back(c);
    return members;
}

int axis_of(int composite) { return Composite::of(composite).axis; }

void lower(Time* out, const Time* times, int size) {
    for (int s = 0; s < size; ++s) out[s] = std::min(out[s], times[s]);
}

// In microseconds: the fastest end after a composite that leads to the states of `row`.
std::uint64_t to_end(const std::uint32_t* row, const std::uint32_t* final, int states) {
    std::uint64_t least = TurnCosts::kImpossible;
    for (int s = 0; s < states; ++s)
        if (row[s] != TurnCosts::kImpossible)
            least = std::min(least, std::uint64_t{row[s]} + final[s]);
    return least;
}

}  // namespace

CUBIST_VECTORISED
void min_plus(const Time* from, const Time* matrix, int rows, int size, Time* out) {
    for (int block = 0; block < size; block += kLanes) {
        Vector best = Vector{} + kNever;
        const Time* row = matrix + block;
        for (int i = 0; i < rows; ++i, row += size) {
            if (from[i] == kNever) continue;
            const Vector sum = *reinterpret_cast<const Vector*>(row) + from[i];
            best = sum < best ? sum : best;
        }
        *reinterpret_cast<Vector*>(out + block) = best;
    }
}

CUBIST_VECTORISED
bool any_below(const Time* from, const Time* more, int size, int limit) {
    const Time highest = static_cast<Time>(std::min<int>(limit, kNever));
    Words below{};
    for (int block = 0; block < size; block += kLanes) {
        const Vector sum = *reinterpret_cast<const Vector*>(from + block) +
                           *reinterpret_cast<const Vector*>(more + block);
        below |= reinterpret_cast<Words>(sum < highest);
    }
    return (below[0] | below[1] | below[2] | below[3]) != 0;
}

CUBIST_VECTORISED
int least_sum(const Time* from, const Time* more, int size) {
    Vector best = Vector{} + kNever;
    for (int block = 0; block < size; block += kLanes) {
        const Vector sum = *reinterpret_cast<const Vector*>(from + block) +
                           *reinterpret_cast<const Vector*>(more + block);
        best = sum < best ? sum : best;
    }
    Time least = best[0];
    for (int lane = 1; lane < kLanes; ++lane)
        least = std::min(least, static_cast<Time>(best[lane]));
    return least;
}

TimeBounds::TimeBounds(int axes, int size) : ends_(turned(axes, 0), size) {
    for (const bool phase1 : {false, true}) {
        rests_[phase1] = TimeVectors(left(axes, 0), size);
        through_[phase1] = TimeVectors(left(turned(axes, 0), 0), size);
    }
}

TurnTimes::TurnTimes(const TurnCosts& costs, const Metric& metric, const Names& names,
                     bool backward, int floor)
    : metric_(metric),
      names_(names),
      backward_(backward),
      floor_(floor),
      states_(costs.states()),
      size_(((backward ? 2 : 1) * states_ + kLanes - 1) / kLanes * kLanes) {
    choose_tick(costs);
    matrices_.assign(std::size_t(3 * kComposites) * size_ * size_, kNever);
    backward ? fill_backward(costs) : fill_forward(costs);
}

// Chooses the greatest common divisor of all times, or a longer tick if plans would not fit.
void TurnTimes::choose_tick(const TurnCosts& costs) {
    std::uint32_t divisor = 0;
    const auto divide = [&divisor](const std::uint32_t* times, int count) {
        for (int k = 0; k < count; ++k)
            if (times[k] != TurnCosts::kImpossible) divisor = std::gcd(divisor, times[k]);
    };
    std::uint64_t sum = 0, count = 0;
    for (int axis = 0; axis < 3; ++axis) {
        divide(costs.final(axis), states_);
        for (int c = 0; c < kComposites; ++c)
            for (int from = 0; from < states_; ++from) {
                const std::uint32_t* row = costs.next(axis, c) + from * states_;
                divide(row, states_);
                const std::uint32_t least = *std::min_element(row, row + states_);
                if (least == TurnCosts::kImpossible) continue;
                sum += least;
                ++count;
            }
    }
    const double turn = count ? static_cast<double>(sum) / static_cast<double>(count) : 0;
    const double coarse = kHeadroom * kTypicalTurns * turn / kNever;
    tick_us_ = std::max(divisor, static_cast<std::uint32_t>(coarse) + 1);
}

Time TurnTimes::ticks_of(std::uint64_t microseconds) const {
    return static_cast<Time>(std::min<std::uint64_t>(microseconds / tick_us_, kNever));
}

int TurnTimes::limit_of(std::uint32_t microseconds) const {
    return static_cast<int>(
        std::min<std::uint64_t>((std::uint64_t{microseconds} + tick_us_ - 1) / tick_us_, kNever));
}

void TurnTimes::fill_forward(const TurnCosts& costs) {
    finals_.assign(3 * std::size_t(size_), kNever);
    for (int axis = 0; axis < 3; ++axis) {
        const int model_axis = axis_of(names_[axis * kCompositesPerAxis]);
        for (int s = 0; s < states_; ++s)
            finals_[axis * size_ + s] = ticks_of(costs.final(model_axis)[s]);
        for (int other = 0; other < 3; ++other) rows_[other][axis] = {0, states_};
        for (int c = 0; c < kComposites; ++c)
            for (int from = 0; from < states_; ++from)
                for (int to = 0; to < states_; ++to)
                    matrix(axis, c)[from * size_ + to] =
                        ticks_of(costs.next(model_axis, names_[c])[from * states_ + to]);
    }
    const Times sides = transposed();
    bounds_ = TimeBounds(3, size_);
    for (int axis = 0; axis < 3; ++axis)
        for (int c = 0; c < kComposites; ++c)
            if (axis_of(c) != axis)
                min_plus(finals_.data() + axis_of(c) * size_, side(sides, axis, c), size_, size_,
                         bounds_.end(axis, c));
    fill(sides, bounds_);
    fill_fastest(sides);
}

// A vector after a turn on axis x: the states after a turn on axis x + 1, then those of x + 2.
void TurnTimes::fill_backward(const TurnCosts& costs) {
    opening_.assign(std::size_t(kComposites) * size_, kNever);
    for (int c = 0; c < kComposites; ++c) {
        const int axis = axis_of(c);
        const std::uint32_t* final = costs.final(axis_of(names_[c]));
        for (int block = 0; block < 2; ++block) {
            const int before_axis = (axis + 1 + block) % 3;
            const std::uint32_t* next =
                costs.next(axis_of(names_[before_axis * kCompositesPerAxis]), names_[c]);
            // Finds the block of this axis in the vector after the turn found before.
            for (int found = 0; found < 3; ++found) {
                if (found == axis) continue;
                const Rows rows{((axis - found + 3) % 3 - 1) * states_, states_};
                rows_[found][axis] = rows;
                for (int before = 0; before < states_; ++before)
                    for (int after = 0; after < states_; ++after)
                        matrix(found, c)[(rows.first + after) * size_ + block * states_ + before] =
                            ticks_of(next[before * states_ + after]);
            }
            for (int s = 0; s < states_; ++s)
                opening_[c * size_ + block * states_ + s] =
                    ticks_of(to_end(next + s * states_, final, states_));
        }
    }
}

Times TurnTimes::transposed() const {
    Times sides(matrices_.size(), kNever);
    for (int axis = 0; axis < 3; ++axis)
        for (int c = 0; c < kComposites; ++c) {
            if (axis_of(c) == axis) continue;
            const Rows rows = rows_[axis][axis_of(c)];
            const Time* const upright = matrix(axis, c);
            Time* const out = sides.data() + (upright - matrices_.data());
            for (int from = rows.first; from < rows.first + rows.count; ++from)
                for (int to = 0; to < size_; ++to)
                    out[to * size_ + from] = upright[from * size_ + to];
        }
    return sides;
}

void TurnTimes::fill(const Times& sides, TimeBounds& bounds) const {
    fill_rests(sides, false, bounds);
    for (int axis = 0; axis < 3; ++axis)
        std::copy_n(bounds.rest(false, axis, std::max(floor_, 1)), size_,
                    bounds.rest(true, axis, 0));
    fill_rests(sides, true, bounds);
    fill_through(sides, false, bounds);
    fill_through(sides, true, bounds);
}

void TurnTimes::fill_rests(const Times& sides, bool phase1, TimeBounds& bounds) const {
    const std::vector<int> members = members_of(phase1);
    Times through(size_);
    for (int units = 1; units <= kMaxUnits; ++units)
        for (int axis = 0; axis < 3; ++axis)
            for (const int c : members) {
                if (axis_of(c) == axis) continue;
                const int left = std::max(0, units - metric_.cost[c]);
                Time* const out = bounds.rest(phase1, axis, units);
                if (left == 0 && may_end(phase1)) lower(out, bounds.end(axis, c), size_);
                if (left == 0 && !phase1) continue;
                min_plus(bounds.rest(phase1, axis_of(c), left), side(sides, axis, c), size_, size_,
                         through.data());
                lower(out, through.data(), size_);
            }
}

void TurnTimes::fill_through(const Times& sides, bool phase1, TimeBounds& bounds) const {
    for (int axis = 0; axis < 3; ++axis) {
        // All composites, in phase 2 too: its first turn may join the last one of phase 1.
        for (int c = 0; c < kComposites; ++c) {
            if (axis_of(c) == axis) continue;
            for (int units = phase1 ? 0 : 1; units <= kMaxUnits; ++units)
                min_plus(bounds.rest(phase1, axis_of(c), units), side(sides, axis, c), size_, size_,
                         bounds.through(phase1, axis, c, units));
            if (may_end(phase1))
                lower(bounds.through(phase1, axis, c, 0), bounds.end(axis, c), size_);
        }
        grow_all(phase1, axis, bounds);
    }
}

void TurnTimes::fill_start(const Time* opening, const TimeBounds& after, TimeBounds& start) const {
    for (const bool phase1 : {false, true}) {
        for (int c = 0; c < kComposites; ++c) {
            for (int units = phase1 ? 0 : 1; units <= kMaxUnits; ++units)
                *start.through(phase1, 0, c, units) = static_cast<Time>(
                    least_sum(opening + c * size_, after.rest(phase1, axis_of(c), units), size_));
            if (may_end(phase1)) lower(start.through(phase1, 0, c, 0), start.end(0, c), 1);
        }
        for (const int c : members_of(phase1))
            for (int units = 1; units <= kMaxUnits; ++units) {
                const int left = std::max(0, units - metric_.cost[c]);
                Time* const rest = start.rest(phase1, 0, units);
                *rest = std::min(*rest, *start.through(phase1, 0, c, left));
            }
        grow_all(phase1, kNoAxis, start);
    }
}

// A composite may still grow on its own axis: the bound is that of the cheapest it can become.
void TurnTimes::grow_all(bool phase1, int axis, TimeBounds& bounds) const {
    const int place = axis == kNoAxis ? 0 : axis;
    const TurnSet& turns = phase1 ? metric_.phase1 : metric_.phase2;
    if (phase1 && may_end(phase1))
        // The first turn of phase 2 joins the last one of phase 1.
        for (int c = 0; c < kComposites; ++c)
            for (const Step step : metric_.junction[c])
                if (axis_of(c) != axis && axis_of(step.state) == axis_of(c))
                    for (const int units : {0, 1})
                        lower(bounds.through(true, place, c, 0),
                              bounds.through(false, place, step.state, units), size_);
    for (int units = 0; units <= kMaxUnits; ++units)
        for (const int c : members_of(phase1)) {
            if (axis_of(c) == axis) continue;
            for (const Step step : turns.next[c]) {
                const int more = metric_.cost[step.state] - metric_.cost[c];
                if (axis_of(step.state) == axis_of(c) && more <= units)
                    lower(bounds.through(phase1, place, c, units),
                          bounds.through(phase1, place, step.state, units - more), size_);
            }
        }
}

void TurnTimes::fill_fastest(const Times& sides) {
    const auto at = [&](int axis, int units) {
        return fastest_.data() + (axis * (kMaxUnits + 1) + units) * size_;
    };
    fastest_.assign(std::size_t(3 * (kMaxUnits + 1)) * size_, kNever);
    // The end takes at least as long as in the best state.
    const Time least_end = *std::min_element(finals_.begin(), finals_.end());
    for (int axis = 0; axis < 3; ++axis) std::fill_n(at(axis, 0), size_, least_end);
    Times through(size_);
    for (int units = 1; units <= kMaxUnits; ++units)
        for (int axis = 0; axis < 3; ++axis)
            for (int c = 0; c < kComposites; ++c) {
                if (axis_of(c) == axis) continue;
                min_plus(at(axis_of(c), std::max(0, units - metric_.cost[c])), side(sides, axis, c),
                         size_, size_, through.data());
                lower(at(axis, units), through.data(), size_);
            }
}

std::uint64_t TurnTimes::least_us(int units) const {
    Time least = kNever;
    for (int axis = 0; axis < 3; ++axis) {
        const Time* rest = fastest(axis, units);
        least = std::min(least, *std::min_element(rest, rest + size_));
    }
    return std::uint64_t{tick_us_} * static_cast<std::uint64_t>(least);
}

TimeModel::TimeModel(const TurnTimes& turns, const CostModel& model)
    : turns_(turns), start_(turns.size(), kNever), at_start_(1, turns.size()) {
    start_[0] = 0;
    turns.backward_ ? fill_backward(model) : fill_forward(model);
    turns.fill_start(opening_, *after_turns_, at_start_);
}

void TimeModel::fill_forward(const CostModel& model) {
    first_turns_.assign(std::size_t(kComposites) * size(), kNever);
    for (int c = 0; c < kComposites; ++c) {
        Time* const to = first_turns_.data() + c * size();
        for (int s = 0; s < turns_.states_; ++s)
            to[s] = turns_.ticks_of(model.first(turns_.names_[c])[s]);
        *at_start_.end(0, c) =
            static_cast<Time>(least_sum(to, turns_.finals_.data() + axis_of(c) * size(), size()));
    }
    opening_ = first_turns_.data();
    after_turns_ = &turns_.bounds_;
}

// Backward the first turns of a plan are its end.
void TimeModel::fill_backward(const CostModel& model) {
    to_start_ = TimeBounds(3, size());
    for (int c = 0; c < kComposites; ++c) {
        const int name = turns_.names_[c];
        const std::uint32_t* first = model.first(name);
        for (int found = 0; found < 3; ++found) {
            if (found == axis_of(c)) continue;
            Time* const end = to_start_.end(found, c) + turns_.rows_[found][axis_of(c)].first;
            for (int s = 0; s < turns_.states_; ++s) end[s] = turns_.ticks_of(first[s]);
        }
        *at_start_.end(0, c) =
            turns_.ticks_of(to_end(first, model.turns().final(axis_of(name)), turns_.states_));
    }
    turns_.fill(turns_.transposed(), to_start_);
    opening_ = turns_.opening_.data();
    after_turns_ = &to_start_;
}

std::uint64_t TimeModel::least_us(int units) const {
    if (units <= 0) return 0;
    int least = kNever;
    for (int c = 0; c < kComposites; ++c)
        least = std::min(
            least, least_sum(opening_ + c * size(),
                             turns_.fastest(axis_of(c), units - turns_.metric_.cost[c]), size()));
    return std::uint64_t{turns_.tick_us_} * static_cast<std::uint64_t>(least);
}

}  // namespace cubist
