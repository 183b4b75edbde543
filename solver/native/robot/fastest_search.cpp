#include "robot/fastest_search.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "two_phase/two_phase.hpp"

namespace cubist {
namespace {

constexpr std::uint64_t kNodesBetweenChecks = 256;
// No robot is fast enough to make use of more composites.
constexpr int kMaxDepth = 2 * kMaxUnits;

int axis_of(int composite) { return Composite::of(composite).axis; }

int half_turns(int composite) {
    const Composite c = Composite::of(composite);
    return (c.first != 0) + (c.second != 0);
}

// Least times from each state, after a turn on each axis, to the end of the plan.
class Ends {
public:
    explicit Ends(const TurnTimes& turns);

    // With at least this many half turns left.
    const Time* rest(int axis, int units) const { return rest_.data() + rest_index(axis, units); }
    // For the composite and this many half turns after it.
    const Time* through(int axis, int composite, int units) const {
        return through_.data() + through_index(axis, composite, units);
    }

private:
    std::size_t rest_index(int axis, int units) const {
        return std::size_t(axis * (kMaxUnits + 1) + std::min(units, kMaxUnits)) * size_;
    }
    std::size_t through_index(int axis, int composite, int units) const {
        return kComposites * rest_index(axis, 0) + rest_index(composite, units);
    }
    void settle();
    void fill_rests();
    void fill_through();
    bool lower_rest(int axis, int units, int composite, int units_after);

    const TurnTimes& turns_;
    int size_;
    Times sides_, rest_, through_;
};

Ends::Ends(const TurnTimes& turns)
    : turns_(turns),
      size_(turns.size()),
      sides_(turns.transposed()),
      rest_(rest_index(3, 0), kNever),
      through_(through_index(3, 0, 0), kNever) {
    settle();
    fill_rests();
    fill_through();
}

// More turns than necessary may lead to a cheaper end.
void Ends::settle() {
    for (int axis = 0; axis < 3; ++axis)
        std::copy_n(turns_.final(axis), size_, rest_.data() + rest_index(axis, 0));
    for (bool is_lower = true; is_lower;) {
        is_lower = false;
        for (int axis = 0; axis < 3; ++axis)
            for (int c = 0; c < kComposites; ++c) is_lower |= lower_rest(axis, 0, c, 0);
    }
}

void Ends::fill_rests() {
    for (int units = 1; units <= kMaxUnits; ++units)
        for (int axis = 0; axis < 3; ++axis)
            for (int c = 0; c < kComposites; ++c)
                lower_rest(axis, units, c, std::max(0, units - half_turns(c)));
}

void Ends::fill_through() {
    for (int axis = 0; axis < 3; ++axis)
        for (int c = 0; c < kComposites; ++c)
            for (int units = 0; axis_of(c) != axis && units <= kMaxUnits; ++units)
                min_plus(rest(axis_of(c), units), turns_.side(sides_, axis, c), size_, size_,
                         through_.data() + through_index(axis, c, units));
}

// Lowers the rest after a turn on `axis` to that through the composite and `units_after` half turns
// after it. Returns whether any time became lower.
bool Ends::lower_rest(int axis, int units, int composite, int units_after) {
    if (axis_of(composite) == axis) return false;
    Times found(size_);
    min_plus(rest(axis_of(composite), units_after), turns_.side(sides_, axis, composite), size_,
             size_, found.data());
    Time* const known = rest_.data() + rest_index(axis, units);
    const bool is_lower = !std::equal(known, known + size_, found.data(), std::less_equal<>{});
    std::transform(known, known + size_, found.data(), known,
                   [](Time a, Time b) { return std::min(a, b); });
    return is_lower;
}

struct Shared {
    const OptimalNodes& nodes;
    const TimeModel& model;
    const CostModel& costs;
    const CubieCube& cube;
    const Ends ends;
    // Set for each pair of first composites that a thread searches.
    std::array<std::atomic_flag, std::size_t{kComposites} * kComposites> taken{};
    std::atomic<int> limit;  // in the model's ticks; only faster plans count
    std::atomic<bool> stopped{false};
    std::mutex mutex;
    std::uint32_t best_us;
    TimeProof report{};
};

class Walk {
public:
    Walk(Shared& shared, const TimeProofOptions& options);

    std::uint64_t run();

private:
    int limit() const { return shared_.limit.load(std::memory_order_relaxed); }
    void descend(const OptimalNode& node, int depth, int axis);
    void go_on(const OptimalNode& node, int depth, int axis, int composite);
    bool may_gain(int depth, int axis, int composite, int units) const;
    OptimalNode turned(const OptimalNode& node, int turn) const;
    bool must_stop();
    void end();

    Shared& shared_;
    Deadline deadline_;
    std::uint64_t nodes_ = 0, next_check_ = 0;
    Composites path_;
    std::vector<Times> times_;
};

Walk::Walk(Shared& shared, const TimeProofOptions& options)
    : shared_(shared),
      deadline_(options.time_limit, {options.cancel}),
      times_(kMaxDepth + 2, Times(shared.model.size())) {}

std::uint64_t Walk::run() {
    std::copy_n(shared_.model.start(), shared_.model.size(), times_[0].data());
    descend(shared_.nodes.root(shared_.cube).node, 0, kNoAxis);
    return nodes_;
}

bool Walk::must_stop() {
    if (nodes_ >= next_check_) {
        next_check_ = nodes_ + kNodesBetweenChecks;
        if (deadline_.has_passed()) shared_.stopped.store(true, std::memory_order_relaxed);
    }
    return shared_.stopped.load(std::memory_order_relaxed);
}

OptimalNode Walk::turned(const OptimalNode& node, int turn) const {
    OptimalNode after = node;
    for (int view = 0; view < kViews; ++view) {
        after.views[view] = shared_.nodes.turned(node.views[view], view, turn);
        after.views[view].distance = static_cast<std::int8_t>(shared_.nodes.distance(after, view));
    }
    return after;
}

// Before the first turn, only its destinations are known.
bool Walk::may_gain(int depth, int axis, int composite, int units) const {
    return axis == kNoAxis ||
           any_below(times_[depth].data(), shared_.ends.through(axis, composite, units),
                     shared_.model.size(), limit());
}

void Walk::descend(const OptimalNode& node, int depth, int axis) {
    if (depth == kMaxDepth || must_stop()) return;
    const int bound = node.bound();
    for (int turning = 0; turning < 3; ++turning) {
        if (turning == axis) continue;
        OptimalNode first = node;
        for (int quarters = 0; quarters < 4; ++quarters) {
            if (quarters > 0) first = turned(node, 3 * turning + quarters - 1);
            for (int others = quarters == 0 ? 1 : 0; others < 4; ++others) {
                const int c = turning * kCompositesPerAxis + 4 * quarters + others - 1;
                if (!may_gain(depth, axis, c, std::max(0, bound - half_turns(c)))) continue;
                if (depth == 1 && shared_.taken[path_[0] * kComposites + c].test_and_set())
                    continue;
                ++nodes_;
                const OptimalNode child =
                    others == 0 ? first : turned(first, 3 * (turning + 3) + others - 1);
                if (may_gain(depth, axis, c, child.bound())) go_on(child, depth, axis, c);
            }
        }
    }
}

void Walk::go_on(const OptimalNode& node, int depth, int axis, int composite) {
    Times& after = times_[depth + 1];
    shared_.model.perform(axis, composite, times_[depth].data(), after.data());
    const int turning = axis_of(composite);
    if (!any_below(after.data(), shared_.ends.rest(turning, node.bound()), shared_.model.size(),
                   limit()))
        return;
    path_.push_back(static_cast<std::uint8_t>(composite));
    if (node.bound() == 0) end();
    descend(node, depth + 1, turning);
    path_.pop_back();
}

// The table distinguishes less than the whole cube, so check whether the cube is really solved.
void Walk::end() {
    CubieCube cube = shared_.cube;
    for (const int c : path_) cube = cube * composite_cube(c);
    if (!cube.is_solved()) return;
    const std::uint32_t cost = shared_.costs.cost(path_);
    const std::lock_guard lock(shared_.mutex);
    if (cost >= shared_.best_us) return;
    shared_.best_us = cost;
    shared_.report.solution = path_;
    shared_.limit.store(shared_.model.limit_of(cost), std::memory_order_relaxed);
}

}  // namespace

TimeProof search_fastest(const OptimalNodes& nodes, const TimeModel& model, const CostModel& costs,
                         const CubieCube& cube, const TimeProofOptions& options) {
    Shared shared{.nodes = nodes,
                  .model = model,
                  .costs = costs,
                  .cube = cube,
                  .ends = Ends(model.turns()),
                  .limit = model.limit_of(options.below_us),
                  .mutex = {},
                  .best_us = options.below_us};
    const TwoPhaseReport work = on_threads(
        options.threads, [&](TwoPhaseReport& own) { own.nodes = Walk(shared, options).run(); });
    shared.report.nodes = work.nodes;
    // A limit that does not fit into Time was cut, so not all plans below it were searched.
    shared.report.proven = !shared.stopped && model.limit_of(options.below_us) < kNever;
    return shared.report;
}

}  // namespace cubist
