#include "time_model.hpp"

#include <algorithm>
#include <numeric>

namespace cubist {
namespace {

// A plan's length in composites, and how much longer than a typical one it may take.
constexpr std::uint64_t kTypicalTurns = 20;
constexpr double kHeadroom = 1.5;

std::vector<int> members_of(bool phase2) {
    std::vector<int> members;
    for (int c = 0; c < kComposites; ++c)
        if (!phase2 || !leaves_phase2(Composite::of(c))) members.push_back(c);
    return members;
}

}  // namespace

TimeModel::TimeModel(const CostModel& model, const Metric& metric, const Names& names,
                     bool backward, int floor)
    : states_(model.states()),
      size_(((backward ? 2 * states_ + 1 : states_) + kLanes - 1) / kLanes * kLanes) {
    choose_unit(model);
    start_.assign(size_, kNever);
    start_[0] = 0;
    matrices_.assign(std::size_t(4 * kComposites) * size_ * size_, kNever);
    finals_.assign(std::size_t(4 * size_), kNever);
    finals_[kNoAxis * size_] = 0;
    backward ? fill_backward(model, names) : fill_forward(model, names);
    const auto row = static_cast<std::size_t>(4 * size_);
    rest1_.assign((kMaxUnits + 1) * row, kNever);
    rest2_ = rest1_;
    std::copy(finals_.begin(), finals_.end(), rest2_.begin());
    fill_rests(metric, members_of(true), rest2_);
    std::copy_n(rest2_.begin() + static_cast<std::ptrdiff_t>(floor * row), row, rest1_.begin());
    fill_rests(metric, members_of(false), rest1_);
    fill_through(metric, metric.phase1, members_of(false), rest1_, through1_);
    fill_through(metric, metric.phase2, members_of(true), rest2_, through2_);
}

// The greatest common divisor of all times, or a coarser unit when plans would not fit.
void TimeModel::choose_unit(const CostModel& model) {
    std::uint32_t divisor = 0;
    const auto divide = [&divisor](const std::uint32_t* times, int count) {
        for (int k = 0; k < count; ++k)
            if (times[k] != CostModel::kImpossible) divisor = std::gcd(divisor, times[k]);
    };
    std::uint64_t sum = 0, count = 0;
    for (int axis = 0; axis < 3; ++axis) {
        divide(model.final(axis), states_);
        for (int c = 0; c < kComposites; ++c)
            for (int from = 0; from < states_; ++from) {
                const std::uint32_t* row = model.next(axis, c) + from * states_;
                divide(row, states_);
                const std::uint32_t least = *std::min_element(row, row + states_);
                if (least == CostModel::kImpossible) continue;
                sum += least;
                ++count;
            }
    }
    for (int c = 0; c < kComposites; ++c) divide(model.first(c), states_);
    const double turn = count ? static_cast<double>(sum) / static_cast<double>(count) : 0;
    const double coarse = kHeadroom * kTypicalTurns * turn / kNever;
    unit_us_ = std::max(divisor, static_cast<std::uint32_t>(coarse) + 1);
}

Time TimeModel::units_of(std::uint64_t microseconds) const {
    return static_cast<Time>(std::min<std::uint64_t>(microseconds / unit_us_, kNever));
}

int TimeModel::limit_of(std::uint32_t microseconds) const {
    return static_cast<int>(
        std::min<std::uint64_t>((std::uint64_t{microseconds} + unit_us_ - 1) / unit_us_, kNever));
}

std::uint64_t TimeModel::least_us(const Metric& metric, int units) const {
    const auto row = static_cast<std::size_t>(4 * size_);
    Times rests((kMaxUnits + 1) * row, kNever);
    std::copy_n(finals_.begin(), row, rests.begin());
    // Owed after the last turn is at least what is owed in the best case.
    const Time owed = *std::min_element(finals_.begin(), finals_.begin() + 3 * size_);
    std::fill_n(rests.begin(), 3 * size_, owed);
    fill_rests(metric, members_of(false), rests);
    const Time* from_start = rests.data() + std::min(units, kMaxUnits) * row + kNoAxis * size_;
    return std::uint64_t{unit_us_} * static_cast<std::uint64_t>(from_start[0]);
}

void TimeModel::fill_forward(const CostModel& model, const Names& names) {
    for (int axis = 0; axis < 3; ++axis) {
        const int model_axis = Composite::of(names[axis * kCompositesPerAxis]).axis;
        for (int s = 0; s < states_; ++s)
            finals_[axis * size_ + s] = units_of(model.final(model_axis)[s]);
        for (int other = 0; other <= kNoAxis; ++other)
            rows_[other][axis] = {0, other == kNoAxis ? 1 : states_};
        for (int c = 0; c < kComposites; ++c)
            for (int from = 0; from < states_; ++from)
                for (int to = 0; to < states_; ++to)
                    matrix(axis, c)[from * size_ + to] =
                        units_of(model.next(model_axis, names[c])[from * states_ + to]);
    }
    for (int c = 0; c < kComposites; ++c)
        for (int to = 0; to < states_; ++to)
            matrix(kNoAxis, c)[to] = units_of(model.first(names[c])[to]);
}

// A vector after a turn on axis x: the states after a turn on axis x + 1, those of x + 2, the
// start.
void TimeModel::fill_backward(const CostModel& model, const Names& names) {
    const int start = 2 * states_;
    for (int axis = 0; axis < 3; ++axis) finals_[axis * size_ + start] = 0;
    for (int found = 0; found < 3; ++found)
        for (int c = 0; c < kComposites; ++c) {
            const int axis = Composite::of(c).axis;
            if (axis == found) continue;
            const Rows rows{((axis - found + 3) % 3 - 1) * states_, states_};
            rows_[found][axis] = rows;
            for (int after = 0; after < states_; ++after) {
                Time* const row = matrix(found, c) + (rows.first + after) * size_;
                row[start] = units_of(model.first(names[c])[after]);
                for (int block = 0; block < 2; ++block) {
                    const int model_axis =
                        Composite::of(names[(axis + 1 + block) % 3 * kCompositesPerAxis]).axis;
                    const std::uint32_t* column = model.next(model_axis, names[c]) + after;
                    for (int before = 0; before < states_; ++before)
                        row[block * states_ + before] = units_of(column[before * states_]);
                }
            }
        }
    fill_last_turns(model, names);
}

// Backwards the last turn comes first: to the end from each state before it.
void TimeModel::fill_last_turns(const CostModel& model, const Names& names) {
    const auto to_end = [&](const std::uint32_t* row, const std::uint32_t* final) {
        std::uint64_t least = CostModel::kImpossible;
        for (int s = 0; s < states_; ++s)
            if (row[s] != CostModel::kImpossible)
                least = std::min(least, std::uint64_t{row[s]} + final[s]);
        return least;
    };
    for (int c = 0; c < kComposites; ++c) {
        const int axis = Composite::of(c).axis;
        const std::uint32_t* final = model.final(Composite::of(names[c]).axis);
        rows_[kNoAxis][axis] = {0, 1};
        Time* const row = matrix(kNoAxis, c);
        row[2 * states_] = units_of(to_end(model.first(names[c]), final));
        for (int block = 0; block < 2; ++block) {
            const int model_axis =
                Composite::of(names[(axis + 1 + block) % 3 * kCompositesPerAxis]).axis;
            for (int s = 0; s < states_; ++s)
                row[block * states_ + s] =
                    units_of(to_end(model.next(model_axis, names[c]) + s * states_, final));
        }
    }
}

TimeModel::Times TimeModel::transposed(int axis, int composite) const {
    const Rows rows = rows_[axis][Composite::of(composite).axis];
    Times out(std::size_t(size_) * size_, kNever);
    for (int from = rows.first; from < rows.first + rows.count; ++from)
        for (int to = 0; to < size_; ++to)
            out[to * size_ + from] = matrix(axis, composite)[from * size_ + to];
    return out;
}

void TimeModel::fill_rests(const Metric& metric, const std::vector<int>& members,
                           Times& rests) const {
    const auto at = [&](int units, int axis) { return rests.data() + (units * 4 + axis) * size_; };
    std::array<std::array<Times, kComposites>, 4> sides;
    for (int axis = 0; axis <= kNoAxis; ++axis)
        for (int c : members)
            if (Composite::of(c).axis != axis) sides[axis][c] = transposed(axis, c);
    Times through(size_);
    for (int units = 1; units <= kMaxUnits; ++units)
        for (int axis = 0; axis <= kNoAxis; ++axis)
            for (int c : members) {
                if (Composite::of(c).axis == axis) continue;
                const Time* rest = at(std::max(0, units - metric.cost[c]), Composite::of(c).axis);
                min_plus(rest, sides[axis][c].data(), size_, size_, through.data());
                Time* const out = at(units, axis);
                for (int s = 0; s < size_; ++s) out[s] = std::min(out[s], through[s]);
            }
}

void TimeModel::fill_through(const Metric& metric, const TurnSet& turns,
                             const std::vector<int>& members, const Times& rests,
                             Times& through) const {
    through.assign(through_index(kNoAxis, kComposites, 0), kNever);
    const auto at = [&](int axis, int c, int units) {
        return through.data() + through_index(axis, c, units);
    };
    for (int axis = 0; axis <= kNoAxis; ++axis)
        for (int c : members) {
            if (Composite::of(c).axis == axis) continue;
            const Times side = transposed(axis, c);
            for (int units = 0; units <= kMaxUnits; ++units)
                min_plus(rests.data() + (units * 4 + Composite::of(c).axis) * size_, side.data(),
                         size_, size_, at(axis, c, units));
        }
    for (int units = 0; units <= kMaxUnits; ++units)
        for (int axis = 0; axis <= kNoAxis; ++axis)
            for (int c : members) {
                if (Composite::of(c).axis != axis) grow(metric, turns, axis, c, units, through);
            }
}

// A composite may still grow on its own axis: the bound is that of the cheapest it can become.
void TimeModel::grow(const Metric& metric, const TurnSet& turns, int axis, int composite, int units,
                     Times& through) const {
    Time* const out = through.data() + through_index(axis, composite, units);
    for (const Step step : turns.next[composite]) {
        const int more = metric.cost[step.state] - metric.cost[composite];
        if (Composite::of(step.state).axis != Composite::of(composite).axis || more > units)
            continue;
        const Time* grown = through.data() + through_index(axis, step.state, units - more);
        for (int s = 0; s < size_; ++s) out[s] = std::min(out[s], grown[s]);
    }
}

}  // namespace cubist
