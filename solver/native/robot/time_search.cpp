#include "robot/time_search.hpp"

#include <algorithm>
#include <bit>

#include "two_phase/phase1_walk.hpp"

namespace cubist {
namespace {

// Units of phase 2 that are counted on while in phase 1, once phase 1 has so many itself (by
// metric): a cube that is nearly solved may need none.
constexpr int kPhase2Floor = 5;
constexpr std::array<int, 4> kFloorFromLength{7, 10, 7, 10};
// How long phase 2 may be, by metric, and how many nodes one probe may cost; more before there is
// any solution, for robots that cannot turn every face.
constexpr std::array<int, 4> kPhase2Cap{10, 18, 9, 13};
constexpr int kFirstPhase2Cap = 18;
constexpr std::uint64_t kProbeNodes = 300, kFirstProbeNodes = 3000;
constexpr std::uint64_t kNodesBetweenChecks = 256;
constexpr int kMaxLength = kMaxUnits - 2;

struct Shared {
    const TwoPhaseTables& tables;
    Collector& collector;
    std::mutex mutex;
    std::atomic<int> next_task{0}, lower_bound{0};
    std::atomic<int> limit{kNever};  // in the model's units: what takes as long is no gain
    std::atomic<bool> stopped{false};
};

// The least time to be in each state at one depth, and what came before the turns on one axis.
struct Moment {
    std::vector<Time> times;
    const Time* base = nullptr;  // before the turns on the axis of the last turn
    int base_axis = kNoAxis;     // of the turn before those
};

class TimeWalk {
public:
    TimeWalk(Shared& shared, const Deadline& deadline, const TimeModel& model, Direction direction,
             const CubieCube& seen);

    int distance() const { return root_distance_; }
    bool worthwhile(int length) const;
    bool phase1(int length);

    std::uint64_t nodes = 0, probes = 0;

private:
    // Where a turn to a state continues from: the times before the turns on its axis.
    struct Origin {
        const Time* times;
        int axis;
    };

    int limit() const { return shared_.limit.load(std::memory_order_relaxed); }
    Origin origin(int depth, int state, int next_state) const;
    void perform(int depth, Origin from, int next_state);
    bool descend(Phase1Node node, int distance, int depth, int state);
    bool last_step(Phase1Node node, std::uint64_t worthwhile, int depth, int state);
    bool must_stop();
    bool probe(int state);
    bool may_gain(Origin from, int next_state, int left) const;
    bool ends_well(int depth, int state) const;
    bool gains(int depth, int state, int units) const;
    void phase2(Phase2Node node, int depth, int left, int state);
    void found(int depth, int state);

    Shared& shared_;
    const Deadline& deadline_;
    const TwoPhaseTables& tables_;
    const Metric& metric_;
    const TimeModel& model_;
    Direction direction_;
    Phase1Path path_;
    Phase1Node root_;
    int root_distance_;
    int floor_from_;
    int length_ = 0;
    std::uint64_t probe_limit_ = 0, next_check_ = kNodesBetweenChecks;
    std::array<std::uint8_t, kMaxDepth> path2_{};
    std::array<Moment, kMaxDepth> moments_;
};

TimeWalk::TimeWalk(Shared& shared, const Deadline& deadline, const TimeModel& model,
                   Direction direction, const CubieCube& seen)
    : shared_(shared),
      deadline_(deadline),
      tables_(shared.tables),
      metric_(shared.tables.metric),
      model_(model),
      direction_(direction),
      path_(tables_.phase2, seen),
      root_(tables_.phase1.node_of(seen)),
      root_distance_(tables_.phase1.distance(root_)),
      floor_from_(kFloorFromLength[static_cast<int>(metric_.kind)]) {
    for (Moment& moment : moments_) moment.times.resize(model.size());
    std::copy_n(model.start(), model.size(), moments_[0].times.begin());
}

bool TimeWalk::must_stop() {
    if (nodes >= next_check_) {
        next_check_ = nodes + kNodesBetweenChecks;
        if (deadline_.has_passed()) shared_.stopped.store(true, std::memory_order_relaxed);
    }
    return shared_.stopped.load(std::memory_order_relaxed);
}

bool TimeWalk::worthwhile(int length) const {
    return length < floor_from_ ||
           any_below(model_.start(), model_.least_in_phase1(kNoAxis, length), model_.size(),
                     limit());
}

bool TimeWalk::phase1(int length) {
    length_ = length;
    return length == 0 ? probe(kStart) : descend(root_, root_distance_, 0, kStart);
}

int axis_of(int state) { return state == kStart ? kNoAxis : Composite::of(state).axis; }

TimeWalk::Origin TimeWalk::origin(int depth, int state, int next_state) const {
    const Moment& moment = moments_[depth];
    const int axis = axis_of(state);
    if (axis == axis_of(next_state)) return {moment.base, moment.base_axis};
    return {moment.times.data(), axis};
}

void TimeWalk::perform(int depth, Origin from, int next_state) {
    Moment& after = moments_[depth + 1];
    after.base = from.times;
    after.base_axis = from.axis;
    model_.perform(from.axis, next_state, from.times, after.times.data());
}

bool TimeWalk::descend(Phase1Node node, int distance, int depth, int state) {
    const int left = length_ - depth - 1;
    std::uint64_t worthwhile =
        tables_.allowed[state][node.symmetry] & tables_.phase1.worthwhile(node, left);
    if (left == 0) return last_step(node, worthwhile, depth, state);
    const Phase1Children children(tables_.phase1, node, worthwhile);
    nodes += children.size();
    if (must_stop()) return false;
    for (const Phase1Child& child : children) {
        const int child_distance = tables_.phase1.distance(child.node, distance);
        if (child_distance > left || (child_distance == 0 && left <= 2)) continue;
        const int generator = tables_.phase1.unseen(node, child.generator);
        const int next_state = metric_.phase1.state_after[state][generator];
        const Origin from = origin(depth, state, next_state);
        if (!may_gain(from, next_state, left)) continue;
        path_.push(depth, generator);
        perform(depth, from, next_state);
        if (!descend(child.node, child_distance, depth + 1, next_state)) return false;
    }
    return true;
}

bool TimeWalk::last_step(Phase1Node node, std::uint64_t worthwhile, int depth, int state) {
    for (; worthwhile != 0; worthwhile &= worthwhile - 1) {
        const int generator = tables_.phase1.unseen(node, std::countr_zero(worthwhile));
        if (!leaves_phase2(Composite::of(metric_.phase1.generators[generator]))) continue;
        const int next_state = metric_.phase1.state_after[state][generator];
        const Origin from = origin(depth, state, next_state);
        if (!may_gain(from, next_state, 0)) continue;
        path_.push(depth, generator);
        perform(depth, from, next_state);
        if (!probe(next_state)) return false;
    }
    return true;
}

// Can a turn of phase 1 with `left` more to come be part of a gain?
bool TimeWalk::may_gain(Origin from, int next_state, int left) const {
    return length_ < floor_from_ ||
           any_below(from.times, model_.through_phase1(from.axis, next_state, left), model_.size(),
                     limit());
}

// Can `units` more of phase 2 still be a gain?
bool TimeWalk::gains(int depth, int state, int units) const {
    if (units == 0) return ends_well(depth, state);
    return any_below(moments_[depth].times.data(), model_.least_in_phase2(axis_of(state), units),
                     model_.size(), limit());
}

// Is it a gain to end with the turns on the axis of `state`?
bool TimeWalk::ends_well(int depth, int state) const {
    if (state == kStart) return limit() > 0;
    const Moment& end = moments_[depth];
    return any_below(end.base, model_.end(end.base_axis, state), model_.size(), limit());
}

bool TimeWalk::probe(int state) {
    ++probes;
    Phase2Node node{static_cast<std::uint16_t>(path_.corners(length_)), 0,
                    static_cast<std::uint8_t>(path_.middle(length_))};
    int bound = tables_.phase2.corner_bound(node.corners, node.middle);
    const bool first = limit() == kNever;
    const int cap = first ? kFirstPhase2Cap : kPhase2Cap[static_cast<int>(metric_.kind)];
    if (bound > cap || !gains(length_, state, bound)) return !must_stop();
    node.outer = static_cast<std::uint16_t>(path_.outer(length_));
    bound = tables_.phase2.bound(node);
    probe_limit_ = nodes + (first ? kFirstProbeNodes : kProbeNodes);
    for (int length = bound; length <= cap && gains(length_, state, length); ++length) {
        phase2(node, 0, length, state);
        if (nodes > probe_limit_) break;
    }
    return !must_stop();
}

void TimeWalk::phase2(Phase2Node node, int depth, int left, int state) {
    if (left == 0) {
        if (node.is_solved()) found(depth, state);
        return;
    }
    const int whole_depth = length_ + depth;
    for (const Step step : depth == 0 ? metric_.junction[state] : metric_.phase2.next[state]) {
        const int rest = left - metric_.phase2.costs[step.generator];
        if (rest < 0) continue;
        const Phase2Node child = tables_.phase2.after(node, step.generator);
        ++nodes;
        if (tables_.phase2.is_beyond(child, rest)) continue;
        const Origin from = origin(whole_depth, state, step.state);
        if (!any_below(from.times, model_.through_phase2(from.axis, step.state, rest),
                       model_.size(), limit()))
            continue;
        path2_[depth] = step.generator;
        perform(whole_depth, from, step.state);
        phase2(child, depth + 1, rest, step.state);
        if (nodes > probe_limit_) return;
    }
}

void TimeWalk::found(int depth, int state) {
    if (!ends_well(length_ + depth, state)) return;
    Composites solution;
    for (int d = 0; d < length_; ++d)
        solution.push_back(metric_.phase1.generators[path_.generator(d)]);
    for (int d = 0; d < depth; ++d) solution.push_back(metric_.phase2.generators[path2_[d]]);
    const Composites whole = joined(direction_.back(solution));
    const std::lock_guard lock(shared_.mutex);
    const bool enough =
        shared_.collector.offer(whole, metric_.length(whole)) == SolutionSink::kEnough;
    if (enough) shared_.stopped.store(true, std::memory_order_relaxed);
    shared_.limit.store(model_.limit_of(shared_.collector.worst_cost()), std::memory_order_relaxed);
}

int lower_bound_of(const std::vector<std::unique_ptr<TimeWalk>>& walks) {
    int bound = 0;
    for (const auto& walk : walks) bound = std::max(bound, walk->distance());
    return bound;
}

// One thread: takes lengths of phase 1, direction by direction, until none can be a gain.
void work(Shared& shared, const TimeModels& models, const CubieCube& cube,
          const TwoPhaseOptions& options, TwoPhaseReport& report) {
    const std::int64_t start = thread_cpu_ns();
    const Deadline deadline(options.time_limit, options.cancels);
    std::vector<std::unique_ptr<TimeWalk>> walks;
    for (const Direction direction : make_directions(options.directions))
        walks.push_back(std::make_unique<TimeWalk>(shared, deadline, models.of(direction),
                                                   direction, direction.seen(cube)));
    const int count = static_cast<int>(walks.size());
    shared.lower_bound = lower_bound_of(walks);
    while (!shared.stopped) {
        const int task = shared.next_task++, length = task / count;
        if (length > kMaxLength) break;
        TimeWalk& walk = *walks[task % count];
        if (walk.distance() <= length && walk.worthwhile(length)) walk.phase1(length);
    }
    for (const auto& walk : walks) {
        report.nodes += walk->nodes;
        report.probes += walk->probes;
    }
    report.cpu_ns += thread_cpu_ns() - start;
}

}  // namespace

RobotTimes::RobotTimes(const TurnCosts& costs, const Metric& metric) {
    for (const Direction direction : make_directions(kDirections)) {
        TurnTimes::Names names;
        for (int c = 0; c < kComposites; ++c)
            names[c] = direction.back({static_cast<std::uint8_t>(c)})[0];
        turns_.emplace_back(costs, metric, names, direction.inverse, kPhase2Floor);
    }
}

TimeModels::TimeModels(const RobotTimes& robot, const CostModel& model) {
    for (const TurnTimes& turns : robot.turns())
        models_.push_back(std::make_unique<TimeModel>(turns, model));
}

TwoPhaseReport search_time(const TwoPhaseTables& tables, const TimeModels& models,
                           const CubieCube& cube, const TwoPhaseOptions& options,
                           Collector& collector) {
    Shared shared{.tables = tables, .collector = collector, .mutex = {}};
    TwoPhaseReport report = on_threads(
        options.threads, [&](TwoPhaseReport& own) { work(shared, models, cube, options, own); });
    report.lower_bound = shared.lower_bound;
    return report;
}

}  // namespace cubist
