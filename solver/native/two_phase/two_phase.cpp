#include "two_phase/two_phase.hpp"

#include <algorithm>
#include <bit>
#include <deque>

#include "cube/parallel.hpp"
#include "two_phase/phase1_walk.hpp"

namespace cubist {
namespace {

// Typical lengths in a metric: the limit for a first solution, and the limits of phase 2 before and
// after there is one. A longer phase 2 costs more than it gains.
struct Habits {
    int first_length, first_phase2_length, phase2_length;
};
constexpr std::array<Habits, 4> kHabits{{{21, 12, 10}, {30, 18, 18}, {18, 11, 9}, {24, 15, 13}}};
// Turning the centres correctly makes a solution about this much longer.
constexpr int kLongerWithCentres = 3;
constexpr std::uint64_t kProbeNodes = 3000;
// If any solution will do, every second probe is as short as this, every fourth twice as long, and
// so on: some cubes need many short probes, others a few long ones. (Luby, Sinclair, Zuckerman:
// such a mixture is about as fast as the best length, which is not known in advance.)
constexpr std::uint64_t kStopGapProbeNodes = 32;
// After every kProbesPerStep probes that found nothing, phase 2 starts one step longer, up to
// kMostSteps: there are more solutions among the longer ones, and the shorter ones are skipped.
constexpr std::uint64_t kProbesPerStep = 64;
constexpr std::uint64_t kMostSteps = 4;
constexpr std::uint64_t kNodesBetweenChecks = 512;

// Data that all threads share.
struct Shared {
    Shared(const TwoPhaseTables& tables, const TwoPhaseOptions& options, SolutionSink& sink)
        : tables(tables), sink(sink), habits(kHabits[static_cast<int>(tables.metric.kind)]) {
        const bool has_centres = options.centres.table != nullptr;
        if (has_centres) effort.longer = kLongerWithCentres;
        allow(habits.first_length + (has_centres ? kLongerWithCentres : 0));
    }
    void allow(int length) {
        limit = length;
        max_length = length;
        next_task = 0;
    }
    // Starts again from the first length, with wider limits.
    void widen() {
        effort = effort.wider();
        uncovered = kMaxDepth;
        next_task = 0;
    }
    // Notes that solutions of `length` and more may have been missed.
    void miss(int length) {
        int known = uncovered;
        while (known > length && !uncovered.compare_exchange_weak(known, length)) {
        }
    }
    void raise_lower_bound(int distance) {
        int known = lower_bound;
        while (known < distance && !lower_bound.compare_exchange_weak(known, distance)) {
        }
    }

    const TwoPhaseTables& tables;
    SolutionSink& sink;
    const Habits& habits;
    Effort effort;
    bool has_mixed_probes = false;
    bool is_stop_gap = false;  // the first solution will do, and it may have any length
    std::mutex sink_mutex;
    int limit;                    // longest solution allowed
    std::atomic<int> max_length;  // current limit, from the sink
    std::atomic<int> lower_bound{0}, next_task{0};
    std::atomic<int> shortest{kMaxDepth};
    std::atomic<bool> enough{false};        // set when the sink has enough
    std::atomic<int> uncovered{kMaxDepth};  // solutions of this length may have been missed
    std::atomic<bool> found{false}, stopped{false};
};

// Data of one thread. Its walks use it in turn.
using Phase1Levels = std::deque<Phase1Level>;

// One thread's walk in one direction: depth-first from level to level, many branches at a time.
class Walk {
public:
    Walk(Shared& shared, const Deadline& deadline, Direction direction, const CubieCube& seen,
         const CentreGoal& centres, Phase1Levels& levels);

    int distance() const { return root_.distance; }
    // Searches all ends of phase 1 with exactly this length. Returns false if stopped.
    bool phase1(int length);

    // The interface for search_level.
    Phase1Level& level(int depth) { return levels_[depth]; }
    void add_children(int depth, int number);
    void sort_out(int depth);
    bool finish(int depth);
    bool must_stop();
    bool is_of_use() const { return length_ <= shared_.max_length.load(std::memory_order_relaxed); }

    std::uint64_t nodes = 0, probes = 0;

private:
    void finish(int depth, int number, std::uint64_t ends);
    void take_way(int depth, int number);
    int probe(int corners, int middle);
    void look_for_phase2(int corners, int middle, int state);
    int phase2_limit();
    std::uint64_t nodes_for_probe();
    int slack() const;
    bool phase2(Phase2Node node, int centres, int depth, int left, const std::vector<Step>& steps);
    void found(int length);

    Shared& shared_;
    const TwoPhaseTables& tables_;
    const Metric& metric_;
    const Deadline& deadline_;
    Direction direction_;
    Phase1Path path_;
    WalkCentres centres_;
    Phase1LevelNode root_{};
    Phase1Levels& levels_;
    int length_ = 0;  // current length of phase 1
    std::uint64_t probe_limit_ = 0, searches_ = 0, next_check_ = kNodesBetweenChecks;
    std::array<std::uint8_t, kMaxDepth> path2_{};
    int path2_length_ = 0;
};

Walk::Walk(Shared& shared, const Deadline& deadline, Direction direction, const CubieCube& seen,
           const CentreGoal& centres, Phase1Levels& levels)
    : shared_(shared),
      tables_(shared.tables),
      metric_(shared.tables.metric),
      deadline_(deadline),
      direction_(direction),
      path_(tables_.phase2, seen),
      centres_(tables_, centres, direction),
      levels_(levels) {
    root_.node = tables_.phase1.node_of(seen);
    root_.distance = static_cast<std::uint8_t>(tables_.phase1.distance(root_.node));
    root_.state = kStart;
    root_.corners = static_cast<std::uint16_t>(path_.corners(0));
    root_.middle = static_cast<std::uint16_t>(path_.middle_placement(0));
}

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
        if (centres_.are_in_reach(0, 0) && probe(root_.corners, root_.middle) == 0)
            look_for_phase2(root_.corners, root_.middle, kStart);
        return !must_stop();
    }
    levels_.resize(std::max<std::size_t>(levels_.size(), length));
    levels_[0].clear();
    levels_[0].candidate() = root_;
    levels_[0].accept();
    return search_level(*this, 0, length);
}

void Walk::add_children(int depth, int number) {
    cubist::add_children(tables_, levels_[depth], number, length_ - depth - 1, levels_[depth + 1]);
}

// Keeps the candidates from which the group of phase 2 is reachable.
void Walk::sort_out(int depth) {
    const Phase1Level& above = levels_[depth - 1];
    Phase1Level& level = levels_[depth];
    nodes += level.candidates();
    level.thin_out([&](Phase1LevelNode& node) {
        if (!is_in_reach(tables_.phase1, node, length_ - depth)) return false;
        carry(tables_, above[node.parent], node);
        return centres_.are_in_reach(node.odd_sides, length_ - depth);
    });
    level.accept();
}

// One turn before the end of phase 1. An end is any turn that brings both parts of a node to their
// goal.
bool Walk::finish(int depth) {
    const Phase1Level& level = levels_[depth];
    const Phase1Ends ends = ends_of(tables_, level);
    for (int number = 0; number < level.size(); ++number) {
        if (ends[number] == 0) continue;
        finish(depth, number, ends[number]);
        if (must_stop()) return false;
    }
    return !must_stop();
}

void Walk::finish(int depth, int number, std::uint64_t ends) {
    const Phase1LevelNode& from = levels_[depth][number];
    for (; ends != 0; ends &= ends - 1) {
        const int seen = std::countr_zero(ends), generator = tables_.phase1.unseen(from.node, seen);
        if (!centres_.are_in_reach_after(from.odd_sides, generator)) continue;
        const int corners = tables_.phase2.corners_after(from.corners, generator),
                  middle = tables_.phase2.placement_after(from.middle, generator);
        const int excess = probe(corners, middle);
        if (excess > metric_.kin_cost) ends &= ~metric_.kin[seen];
        if (excess > 0) continue;
        take_way(depth, number);
        path_.push(depth, generator);
        look_for_phase2(corners, middle, metric_.phase1.state_after[from.state][generator]);
    }
}

// Sets the path to the one that leads to a node.
void Walk::take_way(int depth, int number) { path_.follow(way_to(*this, depth, number), depth); }

int Walk::phase2_limit() {
    const int limit = shared_.max_length.load(std::memory_order_relaxed) - length_;
    const bool first = !shared_.found.load(std::memory_order_relaxed);
    const int usual = first ? shared_.habits.first_phase2_length : shared_.habits.phase2_length;
    const int cap = usual + shared_.effort.longer;
    if (limit > cap) shared_.miss(length_ + cap + 1);
    return std::min(limit, cap);
}

// Returns the distance by which an end of phase 1 is too far for an acceptable solution, or 0.
int Walk::probe(int corners, int middle) {
    ++probes;
    return std::max(0, tables_.phase2.corner_bound(corners, middle % kOrders) - phase2_limit());
}

std::uint64_t Walk::nodes_for_probe() {
    if (!shared_.has_mixed_probes) return kProbeNodes * shared_.effort.more_nodes;
    return kStopGapProbeNodes << std::countr_zero(++searches_);
}

// Returns the excess of the first length to try over the bound.
int Walk::slack() const {
    return metric_.step * static_cast<int>(std::min(searches_ / kProbesPerStep, kMostSteps));
}

// Phase 1 has ended: searches for a phase 2 that gives an acceptable solution.
void Walk::look_for_phase2(int corners, int middle, int state) {
    const Phase2Node node{static_cast<std::uint16_t>(corners),
                          static_cast<std::uint16_t>(path_.outer(length_)),
                          static_cast<std::uint8_t>(middle % kOrders)};
    const int limit = phase2_limit(), centres = centres_.after(path_, length_);
    int length = std::max(tables_.phase2.bound(node), centres_.bound(node, centres));
    // The distance of corners is exact, so it differs by whole steps from that of all pieces.
    length += (length - tables_.phase2.corner_bound(node.corners, node.middle)) % metric_.step;
    length = std::max(length, std::min(length + slack(), limit));
    probe_limit_ = nodes + nodes_for_probe();
    for (; length <= limit; length += metric_.step) {
        path2_length_ = 0;
        if (phase2(node, centres, 0, length, metric_.junction[state]))
            return found(length_ + length);
        if (nodes > probe_limit_) return shared_.miss(length_ + length);
    }
}

bool Walk::phase2(Phase2Node node, int centres, int depth, int left,
                  const std::vector<Step>& steps) {
    if (left == 0) {
        path2_length_ = depth;
        return node.is_solved() && centres == 0;
    }
    for (const Step step : steps) {
        const int rest = left - metric_.phase2.costs[step.generator];
        if (rest < 0) continue;
        const Phase2Node child = tables_.phase2.after(node, step.generator);
        ++nodes;
        if (tables_.phase2.is_beyond(child, rest)) continue;
        const int turned = centres_.after(centres, step.generator);
        if (centres_.bound(child, turned) > rest) continue;
        path2_[depth] = step.generator;
        if (phase2(child, turned, depth + 1, rest, metric_.phase2.next[step.state])) return true;
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
    if (shared_.is_stop_gap) shared_.stopped.store(true, std::memory_order_relaxed);
}

// Runs one thread: tries lengths of phase 1, one direction after the other, while they can improve
// the result.
void work(Shared& shared, const CubieCube& cube, const TwoPhaseOptions& options,
          TwoPhaseReport& report) {
    const std::int64_t start = thread_cpu_ns();
    const Deadline deadline(options.time_limit, options.cancels);
    if (deadline.has_passed()) shared.stopped = true;
    Phase1Levels levels;
    std::vector<Walk> walks;
    walks.reserve(options.directions);
    for (const Direction direction : make_directions(options.directions))
        walks.emplace_back(shared, deadline, direction, direction.seen(cube), options.centres,
                           levels);
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

// Finds the first solution, of any length.
TwoPhaseReport find_stop_gap(const TwoPhaseTables& tables, const CubieCube& cube,
                             const TwoPhaseOptions& options, SolutionSink& sink) {
    Shared shared(tables, options, sink);
    shared.is_stop_gap = true;
    // With centres, few ends of phase 1 have any solution, and short probes miss those.
    shared.has_mixed_probes = options.centres.table == nullptr;
    shared.effort.longer += 2 * Effort::kLonger;
    shared.allow(kMaxDepth - 1);
    TwoPhaseReport report;
    work(shared, cube, options.for_stop_gap(), report);
    return report;
}

}  // namespace

TwoPhaseTables::TwoPhaseTables(const Metric& metric, Phase1Tables phase1, Phase2Tables phase2)
    : metric(metric), phase1(std::move(phase1)), phase2(phase2) {
    for (std::size_t g = 0; g < metric.phase1.generators.size(); ++g) {
        const Composite turn = Composite::of(metric.phase1.generators[g]);
        const auto [first, second] = kAxes[turn.axis];
        quarters[g] =
            static_cast<std::uint32_t>(turn.first << (4 * first) | turn.second << (4 * second));
    }
    const auto seen = conjugate_generators(metric.phase1.generators);
    for (int state = 0; state < kStates; ++state)
        for (int symmetry = 0; symmetry < kSymmetries; ++symmetry)
            for (const Step step : metric.phase1.next[state]) {
                const std::uint64_t bit = std::uint64_t{1} << seen[symmetry][step.generator];
                allowed[state][symmetry] |= bit;
                if (leaves_phase2(Composite::of(metric.phase1.generators[step.generator])))
                    leaving[state][symmetry] |= bit;
            }
}

TwoPhaseReport search_two_phase(const TwoPhaseTables& tables, const CubieCube& cube,
                                const TwoPhaseOptions& options, SolutionSink& sink) {
    Shared shared(tables, options, sink);
    TwoPhaseReport report;
    TwoPhaseOptions left = options;
    const auto run = [&] {
        report += on_threads(options.threads,
                             [&](TwoPhaseReport& own) { work(shared, cube, left, own); });
        left.time_limit = seconds_left(options, report);
    };
    run();
    while (!shared.stopped && !shared.found && shared.limit < kMaxDepth - 2) {
        shared.allow(shared.limit + 2);
        run();
    }
    if (!shared.found && !options.are_cancelled()) {
        report += find_stop_gap(tables, cube, options, sink);
        report.lower_bound = shared.lower_bound;
        return report;
    }
    const auto is_proven = [&] {
        return shared.shortest <= shared.lower_bound || shared.shortest <= shared.uncovered;
    };
    while (!shared.stopped && !shared.enough && !is_proven()) {
        report.exhausted = Exhausted::kUnderCutOffs;
        shared.widen();
        run();
    }
    report.lower_bound = shared.lower_bound;
    if (shared.shortest <= shared.lower_bound || (!shared.stopped && !shared.enough && is_proven()))
        report.exhausted = Exhausted::kProven;
    return report;
}

TwoPhaseReport on_threads(int threads, const std::function<void(TwoPhaseReport&)>& work) {
    std::vector<TwoPhaseReport> reports(std::max(1, threads));
    on_each_thread(threads, [&](int number) { work(reports[number]); });
    TwoPhaseReport sum;
    for (const TwoPhaseReport& report : reports) sum += report;
    return sum;
}

TwoPhaseReport& TwoPhaseReport::operator+=(const TwoPhaseReport& other) {
    nodes += other.nodes;
    probes += other.probes;
    cpu_ns += other.cpu_ns;
    return *this;
}

double seconds_left(const TwoPhaseOptions& options, const TwoPhaseReport& so_far) {
    const double each = static_cast<double>(so_far.cpu_ns) * 1e-9 / std::max(1, options.threads);
    return std::max(0.0, options.time_limit - each);
}

}  // namespace cubist
