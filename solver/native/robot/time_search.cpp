// A bound in time, made of units.
//
// The tables of the two-phase search count turns: "at least 4 units more". The robot's time is what
// must be short, and it depends on the mechanism: a turn is quick if a gripper already holds its
// layer and slow if the robot must regrip first. Multiplying 4 by the fastest turn gives a bound
// that is true and useless. A useful one takes the mechanism's states into account.
//
// Example. A robot has two states, A and B, and can turn layers of axis V and of axis H. Times are
// in ticks; after a turn of V it is in A, after one of H in B, and a plan that ends in B takes one
// tick more, to let go:
//
//     turn of    from A    from B        end in A   0
//        V       2 -> A    5 -> A        end in B   1
//        H       5 -> B    2 -> B
//
// A node of the search does not decide how the robot moves between turns. It carries a vector: the
// least time to be in each state. After one V from A it is (2, -). The next vector is the min-plus
// product with a composite's matrix: after V H it is (-, 2 + 5) = (-, 7). So there is no branching
// on regrips, and a robot with 100 states costs a hundred numbers, not a hundred times the nodes.
//
// Composites alternate between axes (U and D together are one composite), so a turn of V is
// followed by one of H. rest[V][n] is the least time from each state, after a turn of V, to make n
// units more and end. It is filled from the end backwards:
//
//     rest[V][0] = rest[H][0] = (0, 1)                     only the end is left
//     rest[V][1] = (5 + 1, 2 + 1) = (6, 3)                 a turn of H, then rest[H][0] in B
//     rest[H][1] = (2 + 0, 5 + 0) = (2, 5)                 a turn of V, then rest[V][0] in A
//     rest[V][2] = (5 + 5, 2 + 5) = (10, 7)                a turn of H, then rest[H][1] in B
//     rest[H][2] = (2 + 6, 5 + 6) = (8, 11)                a turn of V, then rest[V][1] in A
//
// Say that a node after a turn of V has the vector (2, -), and the table says that two units are
// left. The plan then takes at least min(2 + 10, -) = 12 ticks. Twice the fastest turn would have
// promised 2 + 4 = 6. If a plan of 12 ticks is known already, the limit is 12 and the search drops
// the node: any_below() checks whether any vector[s] + rest[s] is below the limit, sixteen states
// at a time.
//
// The product itself is the expensive part. through[V][c][n] is rest[.][n] taken back through
// composite c, so the same test works on a child before its vector exists:
//
//     through[V][H][1] = (5 + rest[H][1] in B, 2 + rest[H][1] in B) = (10, 7)
//
// and 2 + 10 >= 12 rejects the child at the cost of one addition per state. A composite may still
// grow on its own axis (U, then D beside it in the same time), so through is the least over all
// composites that it may become (TurnTimes::grow_all).
//
// The number of units in phase 1 is the exact distance to the group of phase 2. Beyond it nothing
// is known yet, so the bound adds kPhase2Floor units of phase 2 once phase 1 is so long that the
// cube cannot be nearly solved. In phase 2 it is the bound of its tables. Bounds never exceed the
// true time, because a longer plan never takes less than the fastest plan with as many units. So
// the search loses nothing faster than the limit, except by that floor and by the caps on phase 2
// below. When nothing is left to search, it starts again without the floor and with wider caps. It
// has a proof once no cap has cut anything off.
//
// A search from the cube's inverse finds a plan's last turn first. The same products then run
// backwards, and the end in the example is the start of the plan (TurnTimes, backward).
#include "robot/time_search.hpp"

#include <algorithm>
#include <bit>
#include <deque>

#include "two_phase/phase1_walk.hpp"

namespace cubist {
namespace {

// Units of phase 2 that phase 1 assumes once it has this many units itself (by metric). A cube that
// is nearly solved may need none.
constexpr int kPhase2Floor = 5;
constexpr std::array<int, 4> kFloorFromLength{7, 10, 7, 10};
// Longest phase 2, by metric, and the limit of nodes for one probe. Both are larger before there is
// any solution, for robots that cannot turn every face.
constexpr std::array<int, 4> kPhase2Cap{10, 18, 9, 13};
constexpr int kFirstPhase2Cap = 18;
constexpr std::uint64_t kProbeNodes = 300, kFirstProbeNodes = 3000;
constexpr std::uint64_t kNodesBetweenChecks = 256;
constexpr int kMaxLength = kMaxUnits - 2;  // of phase 1

struct Shared {
    const TwoPhaseTables& tables;
    Collector& collector;
    std::mutex mutex;
    // `for_proof`: the bounds are those that hold for every solution.
    bool for_proof = false, is_stop_gap = false;
    Effort effort;
    std::atomic<int> next_task{0}, lower_bound{0};
    std::atomic<int> limit{kNever};  // in the model's ticks: only faster plans count
    std::atomic<bool> stopped{false}, missed{false};

    // Starts again from the first length, with wider limits.
    void widen() {
        for_proof = true;
        effort = effort.wider();
        missed = false;
        next_task = 0;
    }
    void miss() { missed.store(true, std::memory_order_relaxed); }
};

// The least times to reach each state at one depth, and those before the turns on one axis.
struct Moment {
    Time* times = nullptr;
    const Time* base = nullptr;  // before the turns on the axis of the last turn
    int base_axis = kNoAxis;     // of the turn before those
};

// A node of phase 1 and the place of its moment on its level.
struct TimeNode : Phase1LevelNode {
    std::uint8_t moment;
};

// `count` moments of a model with `size` states.
class Moments {
public:
    Moments(int count, int size)
        : times_(new Time[std::size_t(count) * size]), moments_(std::size_t(count)) {
        for (int k = 0; k < count; ++k) moments_[k].times = times_.get() + std::size_t(k) * size;
    }

    Moment& operator[](int number) { return moments_[number]; }
    const Moment& operator[](int number) const { return moments_[number]; }

private:
    std::unique_ptr<Time[]> times_;
    std::vector<Moment> moments_;
};

// Nodes of phase 1 with their moments.
class TimeLevel : public Level<TimeNode, kComposites> {
public:
    explicit TimeLevel(int size) : moments_(kRoom, size) { static_assert(kRoom <= UINT8_MAX); }

    Moment& moment(const TimeNode& node) { return moments_[node.moment]; }
    const Moment& moment(const TimeNode& node) const { return moments_[node.moment]; }

private:
    Moments moments_;
};

// Memory of one thread, for models of up to `size` states. Its walks use it in turn.
class TimeLevels {
public:
    explicit TimeLevels(int size) : size_(size) {}

    TimeLevel& operator[](int depth) { return levels_[depth]; }
    void grow(int count) {
        while (std::ssize(levels_) < count) levels_.emplace_back(size_);
    }

private:
    int size_;
    std::deque<TimeLevel> levels_;
};

class TimeWalk {
public:
    TimeWalk(Shared& shared, const Deadline& deadline, const TimeModel& model, Direction direction,
             const CubieCube& seen, const CentreGoal& centres, TimeLevels& levels);

    int distance() const { return root_.distance; }
    bool worthwhile(int length) const;
    bool phase1(int length);

    // The interface for search_level.
    TimeLevel& level(int depth) { return levels_[depth]; }
    void add_children(int depth, int number);
    void sort_out(int depth);
    bool finish(int depth);
    bool must_stop();
    bool is_of_use() const { return worthwhile(length_); }

    std::uint64_t nodes = 0, probes = 0;

private:
    // The times from which a turn to a state continues: those before the turns on its axis.
    struct Origin {
        const Time* times;
        int axis;
    };

    int limit() const { return shared_.limit.load(std::memory_order_relaxed); }
    static Origin origin(const Moment& moment, int state, int next_state);
    void perform(Moment& after, Origin from, int next_state);
    void finish(int depth, int number, std::uint64_t ends);
    void probe(int corners, int middle, int state);
    void take_way();
    bool may_gain(Origin from, int next_state, int left) const;
    bool ends_well(int depth, int state) const;
    bool gains(int depth, int state, int units) const;
    void phase2(Phase2Node node, int centres, int depth, int left, int state);
    void found(int depth, int state);

    Shared& shared_;
    const Deadline& deadline_;
    const TwoPhaseTables& tables_;
    const Metric& metric_;
    const TimeModel& model_;
    Direction direction_;
    Phase1Path path_;
    WalkCentres centres_;
    TimeNode root_{};
    TimeLevels& levels_;
    int floor_from_;
    int length_ = 0;
    // The end of phase 1 being probed: the node before its last turn, and that turn.
    struct {
        int number, generator;
    } end_{};
    std::uint64_t probe_limit_ = 0, next_check_ = kNodesBetweenChecks;
    std::array<std::uint8_t, kMaxDepth> path2_{};
    Moments moments_;
};

TimeWalk::TimeWalk(Shared& shared, const Deadline& deadline, const TimeModel& model,
                   Direction direction, const CubieCube& seen, const CentreGoal& centres,
                   TimeLevels& levels)
    : shared_(shared),
      deadline_(deadline),
      tables_(shared.tables),
      metric_(shared.tables.metric),
      model_(model),
      direction_(direction),
      path_(tables_.phase2, seen),
      centres_(tables_, centres, direction),
      levels_(levels),
      floor_from_(shared.for_proof ? 0 : kFloorFromLength[static_cast<int>(metric_.kind)]),
      moments_(kMaxDepth, model.size()) {
    root_.node = tables_.phase1.node_of(seen);
    root_.distance = static_cast<std::uint8_t>(tables_.phase1.distance(root_.node));
    root_.state = kStart;
    root_.corners = static_cast<std::uint16_t>(path_.corners(0));
    root_.middle = static_cast<std::uint16_t>(path_.middle_placement(0));
}

bool TimeWalk::must_stop() {
    if (nodes >= next_check_) {
        next_check_ = nodes + kNodesBetweenChecks;
        if (deadline_.has_passed()) shared_.stopped.store(true, std::memory_order_relaxed);
    }
    return shared_.stopped.load(std::memory_order_relaxed);
}

bool TimeWalk::worthwhile(int length) const {
    return length == 0 || length < floor_from_ ||
           any_below(model_.start(), model_.least_in_phase1(kNoAxis, length), model_.size(),
                     limit());
}

bool TimeWalk::phase1(int length) {
    length_ = length;
    if (length == 0) {
        std::copy_n(model_.start(), model_.size(), moments_[0].times);
        if (centres_.are_in_reach(0, 0)) probe(root_.corners, root_.middle, kStart);
        return !must_stop();
    }
    levels_.grow(length);
    levels_[0].clear();
    levels_[0].candidate() = root_;
    levels_[0].accept();
    std::copy_n(model_.start(), model_.size(), levels_[0].moment(root_).times);
    return search_level(*this, 0, length);
}

int axis_of(int state) { return state == kStart ? kNoAxis : Composite::of(state).axis; }

TimeWalk::Origin TimeWalk::origin(const Moment& moment, int state, int next_state) {
    const int axis = axis_of(state);
    if (axis == axis_of(next_state)) return {moment.base, moment.base_axis};
    return {moment.times, axis};
}

void TimeWalk::perform(Moment& after, Origin from, int next_state) {
    after.base = from.times;
    after.base_axis = from.axis;
    model_.perform(from.axis, next_state, from.times, after.times);
}

void TimeWalk::add_children(int depth, int number) {
    cubist::add_children(tables_, levels_[depth], number, length_ - depth - 1, levels_[depth + 1]);
}

// Keeps the candidates that can reach the group of phase 2 fast enough.
void TimeWalk::sort_out(int depth) {
    const TimeLevel& above = levels_[depth - 1];
    TimeLevel& level = levels_[depth];
    const int left = length_ - depth;
    int kept = level.size();
    nodes += level.candidates();
    level.thin_out([&](TimeNode& node) {
        if (!is_in_reach(tables_.phase1, node, left)) return false;
        const TimeNode& parent = above[node.parent];
        const Origin from = origin(above.moment(parent), parent.state, node.state);
        if (!may_gain(from, node.state, left)) return false;
        carry(tables_, parent, node);
        if (!centres_.are_in_reach(node.odd_sides, left)) return false;
        node.moment = static_cast<std::uint8_t>(kept++);
        perform(level.moment(node), from, node.state);
        return true;
    });
    level.accept();
}

bool TimeWalk::finish(int depth) {
    const TimeLevel& level = levels_[depth];
    const Phase1Ends ends = ends_of(tables_, level);
    for (int number = 0; number < level.size(); ++number) finish(depth, number, ends[number]);
    return !must_stop();
}

void TimeWalk::finish(int depth, int number, std::uint64_t ends) {
    const TimeLevel& level = levels_[depth];
    const TimeNode& last = level[number];
    for (; ends != 0; ends &= ends - 1) {
        const int generator = tables_.phase1.unseen(last.node, std::countr_zero(ends));
        if (!centres_.are_in_reach_after(last.odd_sides, generator)) continue;
        const int next_state = metric_.phase1.state_after[last.state][generator];
        const Origin from = origin(level.moment(last), last.state, next_state);
        if (!may_gain(from, next_state, 0)) continue;
        end_ = {number, generator};
        perform(moments_[length_], from, next_state);
        probe(tables_.phase2.corners_after(last.corners, generator),
              tables_.phase2.placement_after(last.middle, generator), next_state);
    }
}

// Sets the path to the one that leads to the probed end.
void TimeWalk::take_way() {
    if (length_ == 0) return;
    path_.follow(way_to(*this, length_ - 1, end_.number), length_ - 1);
    path_.push(length_ - 1, end_.generator);
}

// Returns true if a turn of phase 1 with `left` more after it can be part of a faster plan.
bool TimeWalk::may_gain(Origin from, int next_state, int left) const {
    return length_ < floor_from_ ||
           any_below(from.times, model_.through_phase1(from.axis, next_state, left), model_.size(),
                     limit());
}

// Returns true if at least `units` more of phase 2 can still give a faster plan.
bool TimeWalk::gains(int depth, int state, int units) const {
    if (units == 0 && ends_well(depth, state)) return true;
    const Moment& end = moments_[depth];
    const int more = std::max(units, 1), size = model_.size();
    if (any_below(end.times, model_.least_in_phase2(axis_of(state), more), size, limit()))
        return true;
    if (!shared_.for_proof) return false;
    // The first turn of phase 2 may join the last one of phase 1: L, then R2 beside it. That seldom
    // pays and costs time, so only the proof checks it.
    for (const Step step : metric_.junction[state]) {
        if (axis_of(step.state) != axis_of(state)) continue;
        const int left = std::max(0, more - metric_.phase2.costs[step.generator]);
        for (const int rest : {left, std::max(left, 1)})
            if (any_below(end.base, model_.through_phase2(end.base_axis, step.state, rest), size,
                          limit()))
                return true;
    }
    return false;
}

// Returns true if ending with the turns on the axis of `state` gives a faster plan.
bool TimeWalk::ends_well(int depth, int state) const {
    if (state == kStart) return limit() > 0;
    const Moment& end = moments_[depth];
    return any_below(end.base, model_.end(end.base_axis, state), model_.size(), limit());
}

// Phase 1 has ended: searches for a phase 2 that gives a faster plan.
void TimeWalk::probe(int corners, int middle, int state) {
    ++probes;
    Phase2Node node{static_cast<std::uint16_t>(corners), 0,
                    static_cast<std::uint8_t>(middle % kOrders)};
    int bound = tables_.phase2.corner_bound(node.corners, node.middle);
    const bool first = limit() == kNever;
    const int usual = first ? kFirstPhase2Cap : kPhase2Cap[static_cast<int>(metric_.kind)];
    const int cap = std::min(usual + shared_.effort.longer, kMaxUnits);
    if (!gains(length_, state, bound)) return;
    if (bound > cap) return shared_.miss();
    take_way();
    node.outer = static_cast<std::uint16_t>(path_.outer(length_));
    const int centres = centres_.after(path_, length_);
    bound = std::max(tables_.phase2.bound(node), centres_.bound(node, centres));
    probe_limit_ = nodes + (first ? kFirstProbeNodes : kProbeNodes) * shared_.effort.more_nodes;
    for (int length = bound; gains(length_, state, std::min(length, kMaxUnits)); ++length) {
        if (length > cap) return shared_.miss();
        phase2(node, centres, 0, length, state);
        if (nodes > probe_limit_) return shared_.miss();
    }
}

void TimeWalk::phase2(Phase2Node node, int centres, int depth, int left, int state) {
    if (left == 0) {
        if (node.is_solved() && centres == 0) found(depth, state);
        return;
    }
    const int whole_depth = length_ + depth;
    for (const Step step : depth == 0 ? metric_.junction[state] : metric_.phase2.next[state]) {
        const int rest = left - metric_.phase2.costs[step.generator];
        if (rest < 0) continue;
        const Phase2Node child = tables_.phase2.after(node, step.generator);
        ++nodes;
        if (tables_.phase2.is_beyond(child, rest)) continue;
        const int turned = centres_.after(centres, step.generator);
        if (centres_.bound(child, turned) > rest) continue;
        const Origin from = origin(moments_[whole_depth], state, step.state);
        if (!any_below(from.times, model_.through_phase2(from.axis, step.state, rest),
                       model_.size(), limit()))
            continue;
        path2_[depth] = step.generator;
        perform(moments_[whole_depth + 1], from, step.state);
        phase2(child, turned, depth + 1, rest, step.state);
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
        shared_.collector.offer(whole, metric_.length(whole)) == SolutionSink::kEnough ||
        (shared_.is_stop_gap && !shared_.collector.found().empty());
    if (enough) shared_.stopped.store(true, std::memory_order_relaxed);
    shared_.limit.store(model_.limit_of(shared_.collector.worst_cost()), std::memory_order_relaxed);
}

int lower_bound_of(const std::vector<std::unique_ptr<TimeWalk>>& walks) {
    int bound = 0;
    for (const auto& walk : walks) bound = std::max(bound, walk->distance());
    return bound;
}

// Runs one thread: tries lengths of phase 1, one direction after the other, until none can give a
// faster plan.
void work(Shared& shared, const TimeModels& models, const CubieCube& cube,
          const TwoPhaseOptions& options, TwoPhaseReport& report) {
    const std::int64_t start = thread_cpu_ns();
    const Deadline deadline(options.time_limit, options.cancels);
    int widest = 0;
    for (const Direction direction : make_directions(options.directions))
        widest = std::max(widest, models.of(direction).size());
    TimeLevels levels(widest);
    std::vector<std::unique_ptr<TimeWalk>> walks;
    for (const Direction direction : make_directions(options.directions))
        walks.push_back(std::make_unique<TimeWalk>(shared, deadline, models.of(direction),
                                                   direction, direction.seen(cube), options.centres,
                                                   levels));
    const int count = static_cast<int>(walks.size());
    shared.lower_bound = lower_bound_of(walks);
    while (!shared.stopped) {
        const int task = shared.next_task++, length = task / count;
        TimeWalk& walk = *walks[task % count];
        if (length > kMaxLength) {
            if (walk.worthwhile(length)) shared.miss();
            break;
        }
        if (walk.distance() <= length && walk.worthwhile(length)) walk.phase1(length);
    }
    for (const auto& walk : walks) {
        report.nodes += walk->nodes;
        report.probes += walk->probes;
    }
    report.cpu_ns += thread_cpu_ns() - start;
}

}  // namespace

RobotTimes::RobotTimes(const TurnCosts& costs, const Metric& metric)
    : RobotTimes(costs, metric, kPhase2Floor) {}

RobotTimes::RobotTimes(const TurnCosts& costs, const Metric& metric, int floor)
    : costs_(costs), metric_(metric) {
    for (const Direction direction : make_directions(kDirections)) {
        TurnTimes::Names names;
        for (int c = 0; c < kComposites; ++c)
            names[c] = direction.back({static_cast<std::uint8_t>(c)})[0];
        turns_.emplace_back(costs, metric, names, direction.inverse, floor);
    }
}

const RobotTimes& RobotTimes::for_proof() const {
    std::call_once(is_made_, [this] { for_proof_.reset(new RobotTimes(costs_, metric_, 0)); });
    return *for_proof_;
}

TimeModels::TimeModels(const RobotTimes& robot, const CostModel& model)
    : robot_(robot), model_(model) {
    for (const TurnTimes& turns : robot.turns())
        models_.push_back(std::make_unique<TimeModel>(turns, model));
}

const TimeModels& TimeModels::for_proof() const {
    std::call_once(is_made_,
                   [this] { for_proof_.reset(new TimeModels(robot_.for_proof(), model_)); });
    return *for_proof_;
}

TwoPhaseReport search_time(const TwoPhaseTables& tables, const TimeModels& models,
                           const CubieCube& cube, const TwoPhaseOptions& options,
                           Collector& collector, std::uint32_t below) {
    Shared shared{.tables = tables, .collector = collector, .mutex = {}};
    const bool is_limited = below != UINT32_MAX;
    if (is_limited) shared.limit = models.of({}).limit_of(below);
    TwoPhaseReport report;
    TwoPhaseOptions left = options;
    const auto run = [&](const TimeModels& bounds) {
        report += on_threads(options.threads,
                             [&](TwoPhaseReport& own) { work(shared, bounds, cube, left, own); });
        left.time_limit = seconds_left(options, report);
    };
    run(models);
    const auto is_proven = [&] { return shared.for_proof && !shared.missed; };
    while (!shared.stopped && !is_proven()) {
        report.exhausted = Exhausted::kUnderCutOffs;
        if (is_limited || left.time_limit <= 0) break;
        shared.widen();
        const std::int64_t begun = thread_cpu_ns();
        const TimeModels& bounds = models.for_proof();
        report.cpu_ns += thread_cpu_ns() - begun;
        left.time_limit = seconds_left(options, report);
        run(bounds);
    }
    if (!shared.stopped && is_proven()) report.exhausted = Exhausted::kProven;
    report.lower_bound = shared.lower_bound;
    if (collector.found().empty() && !is_limited && !options.are_cancelled()) {
        Shared gap{.tables = tables, .collector = collector, .mutex = {}, .is_stop_gap = true};
        work(gap, models, cube, options.for_stop_gap(), report);
    }
    return report;
}

}  // namespace cubist
