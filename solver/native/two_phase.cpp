#include "two_phase.hpp"

#include <algorithm>
#include <bit>
#include <thread>

#include "phase1_children.hpp"
#include "phase1_path.hpp"

namespace cubist {
namespace {

// What a metric's lengths are like: how long a first solution may be and how long phase 2; more
// costs more than it brings.
struct Habits {
    int first_length, phase2_length;
};
constexpr std::array<Habits, 4> kHabits{{{22, 10}, {30, 18}, {19, 9}, {25, 13}}};
constexpr std::uint64_t kProbeNodes = 3000;
constexpr std::uint64_t kNodesBetweenChecks = 512;

// What all threads share.
struct Shared {
    Shared(const TwoPhaseTables& tables, SolutionSink& sink) : tables(tables), sink(sink) {
        allow(kHabits[static_cast<int>(tables.metric.kind)].first_length);
    }
    void allow(int length) {
        limit = length;
        max_length = length;
        next_task = 0;
    }
    void raise_lower_bound(int distance) {
        int known = lower_bound;
        while (known < distance && !lower_bound.compare_exchange_weak(known, distance)) {
        }
    }

    const TwoPhaseTables& tables;
    SolutionSink& sink;
    std::mutex sink_mutex;
    int limit;                    // no solution may be longer
    std::atomic<int> max_length;  // nor longer than what the sink says
    std::atomic<int> lower_bound{0}, next_task{0};
    std::atomic<int> shortest{kMaxDepth};
    std::atomic<bool> enough{false};  // says the sink
    std::atomic<bool> found{false}, stopped{false}, capped{false};
};

// One thread's depth-first walk in one direction.
class Walk {
public:
    Walk(Shared& shared, const Deadline& deadline, Direction direction, const CubieCube& seen);

    int distance() const { return root_distance_; }
    // All ends of phase 1 with exactly this length; false when stopped.
    bool phase1(int length);

    std::uint64_t nodes = 0, probes = 0;

private:
    bool descend(Phase1Node node, int distance, int depth, int state);
    bool last_step(Phase1Node node, std::uint64_t worthwhile, int depth, int state);
    bool must_stop();
    int probe(int state);
    bool phase2(Phase2Node node, int depth, int left, const std::vector<Step>& steps);
    void found(int length);

    Shared& shared_;
    const TwoPhaseTables& tables_;
    const Metric& metric_;
    const Deadline& deadline_;
    Direction direction_;
    Phase1Path path_;
    Phase1Node root_;
    int root_distance_;
    int length_ = 0;  // of phase 1 now
    std::uint64_t probe_limit_ = 0, next_check_ = kNodesBetweenChecks;
    std::array<std::uint8_t, kMaxDepth> path2_{};
    int path2_length_ = 0;
};

Walk::Walk(Shared& shared, const Deadline& deadline, Direction direction, const CubieCube& seen)
    : shared_(shared),
      tables_(shared.tables),
      metric_(shared.tables.metric),
      deadline_(deadline),
      direction_(direction),
      path_(tables_.phase2, seen),
      root_(tables_.phase1.node_of(seen)),
      root_distance_(tables_.phase1.distance(root_)) {}

bool Walk::must_stop() {
    if (nodes >= next_check_) {
        next_check_ = nodes + kNodesBetweenChecks;
        if (deadline_.has_passed()) shared_.stopped.store(true, std::memory_order_relaxed);
    }
    return shared_.stopped.load(std::memory_order_relaxed);
}

bool Walk::phase1(int length) {
    length_ = length;
    if (length == 0) {
        probe(kStart);
        return !must_stop();
    }
    return descend(root_, root_distance_, 0, kStart);
}

// Visits the children from which the group of phase 2 can still be reached in time.
bool Walk::descend(Phase1Node node, int distance, int depth, int state) {
    const int left = length_ - depth - 1;
    std::uint64_t worthwhile =
        tables_.allowed[state][node.symmetry] & tables_.phase1.worthwhile(node, left);
    if (left == 0) return last_step(node, worthwhile, depth, state);
    if (length_ > shared_.max_length.load(std::memory_order_relaxed)) return true;
    const Phase1Children children(tables_.phase1, node, worthwhile);
    nodes += children.size();
    if (must_stop()) return false;
    for (const Phase1Child& child : children) {
        const int child_distance = tables_.phase1.distance(child.node, distance);
        if (child_distance > left || (child_distance == 0 && left <= 2)) continue;
        const int generator = tables_.phase1.unseen(node, child.generator);
        path_.push(depth, generator);
        if (!descend(child.node, child_distance, depth + 1,
                     metric_.phase1.state_after[state][generator]))
            return false;
    }
    return true;
}

// With nothing left, what is worthwhile for both parts is an end of phase 1.
bool Walk::last_step(Phase1Node node, std::uint64_t worthwhile, int depth, int state) {
    for (; worthwhile != 0; worthwhile &= worthwhile - 1) {
        const int seen = std::countr_zero(worthwhile),
                  generator = tables_.phase1.unseen(node, seen);
        if (!leaves_phase2(Composite::of(metric_.phase1.generators[generator]))) continue;
        path_.push(depth, generator);
        const int excess = probe(metric_.phase1.state_after[state][generator]);
        if (excess > metric_.kin_cost) worthwhile &= ~metric_.kin[seen];
    }
    return !must_stop();
}

// Phase 1 has ended: looks for a phase 2 that makes an acceptable whole. Returns by how much the
// end is too far away, or 0.
int Walk::probe(int state) {
    ++probes;
    int limit = shared_.max_length.load(std::memory_order_relaxed) - length_;
    const int cap = kHabits[static_cast<int>(metric_.kind)].phase2_length;
    const bool is_capped = limit > cap;
    if (is_capped) limit = cap;
    Phase2Node node{static_cast<std::uint16_t>(path_.corners(length_)), 0,
                    static_cast<std::uint8_t>(path_.middle(length_))};
    if (is_capped) shared_.capped.store(true, std::memory_order_relaxed);
    int bound = tables_.phase2.corner_bound(node.corners, node.middle);
    if (bound > limit) return bound - limit;
    node.outer = static_cast<std::uint16_t>(path_.outer(length_));
    bound = tables_.phase2.bound(node);
    probe_limit_ = nodes + kProbeNodes;
    for (int length = bound; length <= limit; ++length) {
        path2_length_ = 0;
        if (phase2(node, 0, length, metric_.junction[state])) {
            found(length_ + length);
            return 0;
        }
        if (nodes > probe_limit_) {
            shared_.capped.store(true, std::memory_order_relaxed);
            return 0;
        }
    }
    return std::max(0, bound - limit);
}

bool Walk::phase2(Phase2Node node, int depth, int left, const std::vector<Step>& steps) {
    if (left == 0) {
        path2_length_ = depth;
        return node.is_solved();
    }
    for (const Step step : steps) {
        const int rest = left - metric_.phase2.costs[step.generator];
        if (rest < 0) continue;
        const Phase2Node child = tables_.phase2.after(node, step.generator);
        ++nodes;
        if (tables_.phase2.is_beyond(child, rest)) continue;
        path2_[depth] = step.generator;
        if (phase2(child, depth + 1, rest, metric_.phase2.next[step.state])) return true;
        if (nodes > probe_limit_) return false;
    }
    return false;
}

void Walk::found(int length) {
    Composites solution;
    for (int d = 0; d < length_; ++d)
        solution.push_back(metric_.phase1.generators[path_.generator(d)]);
    for (int d = 0; d < path2_length_; ++d)
        solution.push_back(metric_.phase2.generators[path2_[d]]);
    const Composites whole = joined(direction_.back(solution));
    const std::lock_guard lock(shared_.sink_mutex);
    if (length > shared_.max_length.load(std::memory_order_relaxed)) return;
    const int whole_length = metric_.length(whole);
    const int wanted = shared_.sink.offer(whole, whole_length);
    shared_.shortest = std::min(shared_.shortest.load(), whole_length);
    shared_.enough = wanted == SolutionSink::kEnough;
    shared_.max_length.store(std::min(wanted, shared_.limit), std::memory_order_relaxed);
    shared_.found.store(true, std::memory_order_relaxed);
}

// One thread: takes lengths of phase 1, direction by direction, as long as they can improve on
// what is known.
void work(Shared& shared, const CubieCube& cube, const TwoPhaseOptions& options,
          TwoPhaseReport& report) {
    const std::int64_t start = thread_cpu_ns();
    const Deadline deadline(options.time_limit, options.cancels);
    std::vector<Walk> walks;
    for (const Direction direction : make_directions(options.directions))
        walks.emplace_back(shared, deadline, direction, direction.seen(cube));
    const int count = static_cast<int>(walks.size());
    for (const Walk& walk : walks) shared.raise_lower_bound(walk.distance());
    while (!shared.stopped && shared.max_length >= shared.lower_bound) {
        const int task = shared.next_task++;
        if (task / count > shared.max_length) break;
        Walk& walk = walks[task % count];
        if (walk.distance() <= task / count) walk.phase1(task / count);
    }
    for (const Walk& walk : walks) {
        report.nodes += walk.nodes;
        report.probes += walk.probes;
    }
    report.cpu_ns += thread_cpu_ns() - start;
}

}  // namespace

TwoPhaseTables::TwoPhaseTables(const Metric& metric, Phase1Tables phase1, Phase2Tables phase2)
    : metric(metric), phase1(std::move(phase1)), phase2(std::move(phase2)) {
    const auto seen = conjugate_generators(metric.phase1.generators);
    for (int state = 0; state < kStates; ++state)
        for (int symmetry = 0; symmetry < kSymmetries; ++symmetry)
            for (const Step step : metric.phase1.next[state])
                allowed[state][symmetry] |= std::uint64_t{1} << seen[symmetry][step.generator];
}

TwoPhaseReport search_two_phase(const TwoPhaseTables& tables, const CubieCube& cube,
                                const TwoPhaseOptions& options, SolutionSink& sink) {
    Shared shared(tables, sink);
    TwoPhaseReport report;
    while (!shared.stopped && !shared.found && shared.limit < kMaxDepth) {
        report = on_threads(options.threads,
                            [&](TwoPhaseReport& own) { work(shared, cube, options, own); });
        if (!shared.found) shared.allow(shared.limit + 2);
    }
    report.lower_bound = shared.lower_bound;
    report.exhausted = shared.shortest <= shared.lower_bound ||
                       (!shared.stopped && !shared.capped && !shared.enough);
    return report;
}

TwoPhaseReport on_threads(int threads, const std::function<void(TwoPhaseReport&)>& work) {
    std::vector<TwoPhaseReport> reports(std::max(1, threads));
    {
        std::vector<std::jthread> others;
        for (std::size_t k = 1; k < reports.size(); ++k)
            others.emplace_back([&, k] { work(reports[k]); });
        work(reports[0]);
    }
    TwoPhaseReport sum;
    for (const TwoPhaseReport& report : reports) {
        sum.nodes += report.nodes;
        sum.probes += report.probes;
        sum.cpu_ns += report.cpu_ns;
    }
    return sum;
}

}  // namespace cubist
