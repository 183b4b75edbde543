#include <algorithm>

#include "reduction/deepening.hpp"
#include "reduction/reductions.hpp"

namespace cubist {

bool FiveTables::make(std::span<std::uint8_t> table, int threads, const Progress& progress) {
    // Shares of the time.
    constexpr double kStaging = 0.15, kFour = 0.7;
    const auto from = [&](double start, double share) {
        return [&progress, start, share](double done) { return progress(start + share * done); };
    };
    const auto four = table.subspan(FiveStaging::bytes()), eight = four.subspan(four_.bytes());
    return staging_.make(table, from(0, kStaging)) &&
           four_.make(four, threads, from(kStaging, kFour)) &&
           eight_.make(eight, threads, from(kStaging + kFour, 1 - kStaging - kFour));
}

void FiveTables::use(std::span<const std::uint8_t> table) {
    staging_.use(table);
    table = table.subspan(FiveStaging::bytes());
    four_.use(table);
    eight_.use(table.subspan(four_.bytes()));
}

namespace {

constexpr int kPhases = 5;
constexpr int kFar = 100;

// The start of a phase: a candidate as the phase sees it.
template <class State>
struct PhaseStart {
    const HeldFive* from;
    State state;
    int bound;   // in turns
    int before;  // cost of the turns before it
    int least;   // the cost including `bound` turns
};

class FiveSearch {
public:
    FiveSearch(const FiveTables& tables, const ReductionOptions& options)
        : tables_(tables), options_(options) {
        if (options_.times == nullptr) return;
        const std::array<const FivePhase*, kPhases> phases{
            &tables.staging().phase1(), &tables.staging().phase2(), &tables.staging().phase3(),
            &tables.four().phase(), &tables.eight().phase()};
        for (int phase = 0; phase < kPhases; ++phase) {
            BlockTurns turns;
            for (const std::uint8_t number : phases[phase]->turns)
                turns.push_back(FiveCube::turn(number));
            turn_costs_[phase] = options_.times->mean(turns);
        }
    }

    std::vector<Reduction> run(std::span<const FiveStart> starts) {
        for (std::size_t start = 0; start < starts.size(); ++start) hold(starts[start], start);
        phase1();
        phase2();
        phase3();
        phase4();
        phase5();
        if (options_.times != nullptr)
            std::stable_sort(
                reductions_.begin(), reductions_.end(),
                [](const Reduction& a, const Reduction& b) { return a.time < b.time; });
        // Threads that end together may find a few more.
        if (reductions_.size() > options_.reductions) reductions_.resize(options_.reductions);
        return std::move(reductions_);
    }

private:
    // Any axis of the cube may have its centres placed first.
    void hold(const FiveStart& start, std::size_t number) {
        HeldFive held;
        held.state = tables_.cube().state_of(start.stickers);
        held.start = number;
        held.before = held.cost = start.turns;
        candidates_.push_back(held);
        for (const int axis : {U, F}) {
            candidates_.push_back(held);
            rotate_held(tables_.cube(), candidates_.back(), axis);
        }
    }

    // Costs are turns, or time. A future turn counts as an average one of its phase.
    int turn_cost(int phase) const { return turn_costs_[phase - 1]; }

    template <class State>
    PhaseStart<State> starting(const HeldFive& from, const State& state, int bound,
                               int phase) const {
        // The last phases have few ends, so only the distance of a start counts there, not its
        // cost.
        const int before = options_.times != nullptr && phase >= kRare ? 0 : from.cost;
        return {&from, state, bound, before, before + turn_cost(phase) * bound};
    }

    // The number of ends of a phase from which to choose the best.
    std::size_t choice(std::size_t wanted) const {
        return options_.times == nullptr ? wanted : kChoice * wanted;
    }

    bool is_cancelled() const { return options_.cancel != nullptr && options_.cancel->is_set(); }

    using Walker = EndWalker<HeldFive>;

    EndOptions ends_wanted(std::size_t count) const {
        return {.wanted = count,
                .least = kLeast[number_ - 1],
                .deadline = deadlines_[number_ - 1],
                // Phases that have few ends search once more before they hurry.
                .hurry = number_ == 1 ? 0 : -1,
                .most_hurry = kMostHurry,
                .more_time = kMoreTime * options_.time_limit,
                .threads = options_.threads,
                .cancel = options_.cancel};
    }

    // Finds the ends of a phase by number of turns, counted from the given cube. `step(at, turn,
    // left, next)` returns a bound. `on_end(walker, from)` adds the result of the walker's path.
    template <class State>
    std::vector<HeldFive> deepen(const FivePhase& phase, std::vector<PhaseStart<State>> starts,
                                 std::size_t wanted, const auto& step, const auto& on_end) {
        if (starts.empty()) return {};
        std::stable_sort(starts.begin(), starts.end(),
                         [](const auto& a, const auto& b) { return a.least < b.least; });
        ++number_;
        const auto walk = [&](const auto& self, Walker& walker, const HeldFive& from,
                              const State& at, int left, int last) -> void {
            for (const int turn : phase.after(last)) {
                State next;
                const int bound = step(at, turn, left - 1, next);
                if (bound + (bound < kSure ? 0 : walker.hurry()) >= left) continue;
                bool is_stopped = walker.must_stop();
                walker.path.push_back(phase.turns[turn]);
                if (left == 1) {
                    on_end(walker, from);
                    is_stopped = walker.is_stopped();
                } else if (bound > 0 && !is_stopped) {  // the next phase continues from an end
                    self(self, walker, from, next, left - 1, turn);
                    is_stopped = walker.is_stopped();
                }
                walker.path.pop_back();
                if (is_stopped) return;
            }
        };
        // If all starts are ends already, nothing more can be found.
        const bool is_done = std::all_of(starts.begin(), starts.end(),
                                         [](const auto& start) { return start.bound == 0; });
        const int each = turn_cost(number_);
        const int most = starts.back().least + (is_done ? 0 : kMostMore * each) + each - 1;
        std::vector<int> bounds;
        bounds.reserve(starts.size());
        for (const auto& start : starts) bounds.push_back(start.least);
        Deepening tasks(std::move(bounds), each, most);
        return find_ends<HeldFive>(ends_wanted(wanted), tasks,
                                   [&](Walker& walker, const Deepening::Task& task) {
                                       const auto& start = starts[task.start];
                                       const int left = (task.limit - start.before) / each;
                                       if (left == 0)
                                           on_end(walker, *start.from);
                                       else if (start.bound > 0)
                                           walk(walk, walker, *start.from, start.state, left, -1);
                                   });
    }

    // Applies a path to a start.
    HeldFive after(const HeldFive& from, std::span<const std::uint8_t> path) const {
        HeldFive held = from;
        turn_held(tables_.cube(), held, path);
        held.ends[number_ - 1] = static_cast<std::uint8_t>(held.turns.size());
        held.cost = options_.times == nullptr
                        ? held.length()
                        : options_.times->least(BlockTimes::holding(U, F), held.turns);
        held.bound = held.cost;
        return held;
    }

    std::vector<HeldFive> take_best(std::size_t count) {
        std::stable_sort(candidates_.begin(), candidates_.end(),
                         [](const HeldFive& a, const HeldFive& b) { return a.bound < b.bound; });
        if (candidates_.size() > count) candidates_.resize(count);
        return std::move(candidates_);
    }

    void phase1() {
        const FiveStaging& staging = tables_.staging();
        const auto from = take_best(candidates_.size());
        std::vector<PhaseStart<FiveStaging::State1>> starts;
        for (const HeldFive& one : from) {
            const auto state = staging.state1(one.state);
            starts.push_back(starting(one, state, staging.bound(state), number_ + 1));
        }
        candidates_ = deepen(
            staging.phase1(), std::move(starts), choice(kMore * ends1_),
            [&](const auto& at, int turn, int left, auto& next) {
                return staging.move(at, turn, left, next);
            },
            [&](Walker& walker, const HeldFive& start) {
                HeldFive end = after(start, walker.path);
                end.bound = end.cost + turn_cost(2) * staging.bound(staging.state2(end.state));
                walker.add(std::move(end));
            });
    }

    void phase2() {
        const FiveStaging& staging = tables_.staging();
        const auto from = take_best(ends1_);
        std::vector<PhaseStart<FiveStaging::State2>> starts;
        for (const HeldFive& one : from) {
            const auto state = staging.state2(one.state);
            starts.push_back(starting(one, state, staging.bound(state), number_ + 1));
        }
        candidates_ = deepen(
            staging.phase2(), std::move(starts), choice(options_.candidates),
            [&](const auto& at, int turn, int, auto& next) {
                next = staging.moved(at, turn);
                return staging.bound(next);
            },
            [&](Walker& walker, const HeldFive& start) { walker.add(after(start, walker.path)); });
        candidates_ = take_best(options_.candidates);
    }

    // From here on, R and L may be any axis.
    void phase3() {
        const FiveStaging& staging = tables_.staging();
        std::vector<HeldFive> from;
        for (HeldFive& one : candidates_)
            for (const int axis : {U, F, U}) {
                rotate_held(tables_.cube(), one, axis);
                from.push_back(one);
            }
        std::vector<PhaseStart<FiveStaging::State3>> starts;
        for (int farthest = NearEdges::kDeepest; starts.empty() && !is_cancelled(); ++farthest)
            for (const HeldFive& one : from)
                staging.each_state3(one.state, farthest, [&](const FiveStaging::State3& state) {
                    starts.push_back(starting(one, state, staging.bound(state), number_ + 1));
                });
        candidates_ = deepen(
            staging.phase3(), std::move(starts), choice(kBetween * options_.candidates),
            [&](const auto& at, int turn, int, auto& next) {
                next = staging.moved(at, turn);
                return staging.bound(next);
            },
            [&](Walker& walker, const HeldFive& start) {
                HeldFive end = after(start, walker.path);
                for (int held = 0; held < 2; ++held) {
                    add_if_four_are_outside(walker, end);
                    rotate_held(tables_.cube(), end, R);
                }
            });
    }

    void add_if_four_are_outside(Walker& walker, HeldFive end) const {
        const FourEdgesPhase& four = tables_.four();
        int bound = kFar;
        four.each_state(end.state, [&](const FourEdgesPhase::State& state) {
            bound = std::min(bound, four.bound(state));
        });
        if (bound == kFar) return;
        end.bound = end.cost + turn_cost(4) * bound;
        walker.add(std::move(end));
    }

    void phase4() {
        const FourEdgesPhase& four = tables_.four();
        const auto from = take_best(kBetween * options_.candidates);
        std::vector<PhaseStart<FourEdgesPhase::State>> starts;
        for (const HeldFive& one : from)
            four.each_state(one.state, [&](const FourEdgesPhase::State& state) {
                starts.push_back(starting(one, state, four.bound(state), number_ + 1));
            });
        candidates_ = deepen(
            four.phase(), std::move(starts), options_.candidates,
            [&](const auto& at, int turn, int left, auto& next) {
                return four.move(at, turn, left, next) ? four.bound(next) : kFar;
            },
            [&](Walker& walker, const HeldFive& start) {
                HeldFive end = after(start, walker.path);
                rotate_held(tables_.cube(), end, R);
                if (options_.times != nullptr)
                    end.bound +=
                        turn_cost(5) * tables_.eight().bound(tables_.eight().state_of(end.state));
                walker.add(std::move(end));
            });
    }

    void phase5() {
        const EightEdgesPhase& eight = tables_.eight();
        const auto from = take_best(options_.candidates);
        std::vector<PhaseStart<EightEdgesPhase::State>> starts;
        for (const HeldFive& one : from) {
            const auto state = eight.state_of(one.state);
            starts.push_back(starting(one, state, eight.bound(state), number_ + 1));
        }
        const auto ends = deepen(
            eight.phase(), std::move(starts), options_.reductions,
            [&](const auto& at, int turn, int left, auto& next) {
                return eight.move(at, turn, left, next) ? eight.bound(next) : kFar;
            },
            [&](Walker& walker, const HeldFive& start) {
                if (!ends_outside(walker.path)) walker.add(after(start, walker.path));
            });
        for (const HeldFive& end : ends) add_reduction(end);
    }

    // Returns whether the last turns are face turns. The solution of the 3x3x3 may as well begin
    // with them.
    static bool ends_outside(std::span<const std::uint8_t> path) {
        for (std::size_t at = path.size(); at-- > 0;) {
            const BlockTurn turn = FiveCube::turn(path[at]);
            if (turn.axis() != FiveCube::turn(path.back()).axis()) return false;
            if (turn.last == 1) return true;
        }
        return false;
    }

    void add_reduction(const HeldFive& end) {
        Reduction& found = reductions_.emplace_back();
        found.start = end.start;
        found.time = end.cost;
        std::size_t start = 0;
        for (int phase = 0; phase < kPhases; ++phase) {
            found.phases.emplace_back(end.turns.begin() + static_cast<std::ptrdiff_t>(start),
                                      end.turns.begin() + end.ends[phase]);
            start = end.ends[phase];
        }
    }

    static constexpr std::size_t kChoice = 4;   // ends for each one that continues (phases 1 to 3)
    static constexpr int kRare = 4;             // the first phase with few ends
    static constexpr std::size_t kMore = 4;     // ends of phase 1 to choose from
    static constexpr std::size_t kBetween = 2;  // factor for the candidates between phases 3 and 4
    static constexpr int kMostMore = 50;  // turns beyond a phase's least; none needs half of that
    static constexpr int kMostHurry = 3;
    // The number of ends below which the next phase would take long.
    static constexpr std::array<std::size_t, kPhases> kLeast{2, 8, 8, 8, 1};
    static constexpr int kSure = 4;            // turns up to which the tables are nearly exact
    static constexpr double kMoreTime = 0.15;  // until `hurry` rises, as a share of the limit

    // The end of each phase, as a share of the time.
    Deadline until(double share) const { return {share * options_.time_limit, {}}; }

    const FiveTables& tables_;
    ReductionOptions options_;
    // Ends of phase 1 that continue; each has many ends of phase 2.
    std::size_t ends1_ = options_.candidates / 5 * 2 + 1;
    const std::array<Deadline, kPhases> deadlines_{until(0.2), until(0.3), until(0.36), until(0.6),
                                                   until(1.0)};
    int number_ = 0;  // number of the current phase
    std::array<int, kPhases> turn_costs_{1, 1, 1, 1, 1};
    std::vector<HeldFive> candidates_;
    std::vector<Reduction> reductions_;
};

}  // namespace

std::vector<Reduction> reduce_five(const FiveTables& tables, std::span<const FiveStart> starts,
                                   const ReductionOptions& options) {
    return FiveSearch(tables, options).run(starts);
}

}  // namespace cubist
