#include "pocket/pocket_steps.hpp"

#include <algorithm>
#include <atomic>

#include "cube/parallel.hpp"

namespace cubist {
namespace {

constexpr std::uint8_t kStop = 0xFF;  // solved: no step left
constexpr std::uint8_t kLost = 0xFE;  // the solved position is unreachable

// The times' share of the work. The steps take the rest.
constexpr double kTimesShare = 0.7;

// Stores the time if it is lower than the stored one. Returns whether it was.
bool lower(std::uint32_t& there, std::uint32_t time, std::memory_order order) {
    const std::atomic_ref cell(there);
    std::uint32_t before = cell.load(std::memory_order_relaxed);
    while (time < before)
        if (cell.compare_exchange_weak(before, time, order, std::memory_order_relaxed)) return true;
    return false;
}

// First computes all times, in ascending order, then the step of every cell. Cells are in chunks,
// one per permutation, so that a turn leads from chunk to chunk.
//
// No step takes less than `shortest_`. So of the open times, those within `shortest_` of the least
// one can no longer fall, and threads may expand all of them at once. Of steps that take equally
// long, the table holds the one to the fastest cell, then to the first permutation, then the first
// step. So the table does not depend on the order in which threads find them.
class StepGeneration {
public:
    StepGeneration(const PocketCosts& costs, std::span<std::uint8_t> steps, int threads)
        : costs_(costs),
          states_(costs.states),
          row_(kPocketAxes * states_),
          chunk_(kPocketTwists * row_),
          threads_(threads),
          steps_(steps),
          times_(steps.size(), kNever),
          next_(kPocketPerms, kNever) {
        std::copy(costs.final.begin(), costs.final.end(), times_.begin());
        next_[0] = *std::min_element(costs.final.begin(), costs.final.end());
        for_steps([this](int last, int turn) {
            const std::uint32_t* matrix = costs_.matrix(last, turn);
            shortest_ = std::min(shortest_, *std::min_element(matrix, matrix + states_ * states_));
        });
        shortest_ = std::max<std::uint32_t>(shortest_, 1);
    }

    bool run(const Progress& progress) {
        if (!progress(0.0)) return false;
        for (;;) {
            const std::uint32_t now = *std::min_element(next_.begin(), next_.end());
            if (now == kNever) break;
            const auto settle_due = [this, now](int first, int last) {
                for (int perm = first; perm < last; ++perm) settle(perm, now, sum(now, shortest_));
            };
            const auto report = [this, &progress] {
                return progress(kTimesShare * double(done_) / double(times_.size()));
            };
            if (!in_blocks(kPocketPerms, kBlock, threads_, settle_due, report)) return false;
        }
        std::atomic<int> chosen{0};
        const auto choose_all = [this, &chosen](int first, int last) {
            for (int perm = first; perm < last; ++perm) choose(perm);
            chosen += last - first;
        };
        return in_blocks(
                   kPocketPerms, kBlock, threads_, choose_all,
                   [&] {
                       return progress(kTimesShare + (1.0 - kTimesShare) * chosen / kPocketPerms);
                   }) &&
               progress(1.0);
    }

private:
    static constexpr int kBlock = 40;  // chunks handed to a thread at a time
    static constexpr std::uint64_t kNone = ~std::uint64_t{0};

    struct Cell {
        std::uint16_t twist;
        std::uint8_t axis, state;
        std::uint32_t time;
    };

    static void for_steps(const auto& see) {
        for (int last = 0; last < kPocketAxes; ++last)
            for (int turn = 0; turn < kPocketTurns; ++turn)
                if (turn / 3 != last) see(last, turn);
    }
    std::uint32_t* times(int perm) { return &times_[std::size_t(perm) * chunk_]; }

    // Expands the cells of a chunk whose time is less than `end`, and notes the next time to visit
    // it.
    void settle(int perm, std::uint32_t now, std::uint32_t end) {
        // A thread that lowers a time of this chunk notes it afterwards: either this loop sees the
        // time, or the note is newer than the one taken here.
        if (std::atomic_ref(next_[perm]).load(std::memory_order_relaxed) >= end) return;
        std::atomic_ref(next_[perm]).exchange(kNever, std::memory_order_acq_rel);
        std::vector<Cell> settled;
        std::uint32_t next = kNever;
        for (int k = 0; k < chunk_; ++k) {
            const std::uint32_t time =
                std::atomic_ref(times(perm)[k]).load(std::memory_order_relaxed);
            if (time >= end)
                next = std::min(next, time);
            else if (time >= now)
                settled.push_back({static_cast<std::uint16_t>(k / row_),
                                   static_cast<std::uint8_t>(k % row_ / states_),
                                   static_cast<std::uint8_t>(k % states_), time});
        }
        lower(next_[perm], next, std::memory_order_acq_rel);
        done_ += settled.size();
        for (int turn = 0; turn < kPocketTurns; ++turn) lower_before(settled, perm, turn);
    }

    // Lowers the cells that lead to the settled ones by one turn.
    void lower_before(const std::vector<Cell>& settled, int perm, int turn) {
        const PocketTurns& turns = pocket_turns();
        const int from = turns.perm[perm][undone(turn)];
        std::uint32_t least = kNever;
        for (const Cell cell : settled) {
            if (cell.axis != turn / 3) continue;
            std::uint32_t* const before =
                times(from) + std::size_t(turns.twist[cell.twist][undone(turn)]) * row_;
            for (int last = 0; last < kPocketAxes; ++last) {
                if (last == turn / 3) continue;
                const std::uint32_t* costs = costs_.matrix(last, turn) + cell.state;
                for (int state = 0; state < states_; ++state) {
                    const std::uint32_t time = sum(cell.time, costs[state * states_]);
                    if (lower(before[last * states_ + state], time, std::memory_order_relaxed))
                        least = std::min(least, time);
                }
            }
        }
        lower(next_[from], least, std::memory_order_acq_rel);
    }

    // Chooses the steps of a chunk. For each cell it is the least of (time of the next cell,
    // permutation, step) among the steps that take the cell's time.
    void choose(int perm) {
        const PocketTurns& turns = pocket_turns();
        std::vector<std::uint64_t> best(chunk_, kNone);
        for_steps([&](int last, int turn) {
            const int to = turns.perm[perm][turn];
            const std::uint32_t* const matrix = costs_.matrix(last, turn);
            for (int twist = 0; twist < kPocketTwists; ++twist) {
                const std::uint32_t* const after =
                    times(to) + turns.twist[twist][turn] * row_ + turn / 3 * states_;
                const int row = twist * row_ + last * states_;
                for (int k = 0; k < states_ * states_; ++k) {
                    const int cell = row + k / states_, onward = k % states_;
                    if (sum(after[onward], matrix[k]) != times(perm)[cell]) continue;
                    best[cell] = std::min(best[cell], std::uint64_t{after[onward]} << 32 |
                                                          std::uint64_t(to) << 16 |
                                                          std::uint64_t(turn * states_ + onward));
                }
            }
        });
        std::uint8_t* const steps = steps_.data() + std::size_t(perm) * chunk_;
        for (int k = 0; k < chunk_; ++k) {
            const bool is_solved = perm == 0 && k < row_;
            if (is_solved && times(perm)[k] == costs_.final[k])
                steps[k] = kStop;
            else
                steps[k] = times(perm)[k] == kNever ? kLost : static_cast<std::uint8_t>(best[k]);
        }
    }

    const PocketCosts& costs_;
    int states_, row_, chunk_, threads_;
    std::span<std::uint8_t> steps_;
    std::vector<std::uint32_t> times_, next_;
    std::uint32_t shortest_ = kNever;
    std::atomic<std::size_t> done_{0};
};

}  // namespace

std::size_t PocketSteps::size(int states) {
    if (states < 1 || kPocketTurns * states > kLost) return 0;
    return std::size_t(kPocketPositions) * kPocketAxes * states;
}

bool PocketSteps::generate(const PocketCosts& costs, std::span<std::uint8_t> steps, int threads,
                           const Progress& progress) {
    return StepGeneration(costs, steps, threads).run(progress);
}

PocketSteps::PocketSteps(const PocketCosts& costs, std::span<const std::uint8_t> steps)
    : costs_(costs), steps_(steps) {}

// Returns the time along the cells, or kNever if it reaches `limit`.
std::uint32_t PocketSteps::follow(PocketPosition at, int axis, int state, std::uint32_t limit,
                                  std::vector<int>* turns) const {
    const int states = costs_->states;
    std::uint32_t time = 0;
    while (time < limit) {
        const std::size_t row = std::size_t(at.index()) * kPocketAxes + axis;
        const std::uint8_t step = steps_[row * states + state];
        if (step == kLost) return kNever;
        if (step == kStop) return sum(time, costs_->final_row(axis)[state]);
        const int turn = step / states, onward = step % states;
        time = sum(time, costs_->matrix(axis, turn)[state * states + onward]);
        if (turns != nullptr) turns->push_back(turn);
        at = pocket_turns().after(at, turn);
        axis = turn / 3;
        state = onward;
    }
    return kNever;
}

FastestResult PocketSteps::solve(PocketPosition from, std::span<const std::uint32_t> first) const {
    if (from.is_solved()) return {.turns = {}, .cost = 0, .proven = true, .nodes = 0};
    FastestResult best{.turns = {}, .proven = true};
    int best_state = 0;
    for (int turn = 0; turn < kPocketTurns; ++turn)
        for (int state = 0; state < costs_->states; ++state) {
            const std::uint32_t begun = PocketCosts::row(first, turn, costs_->states)[state];
            if (begun >= best.cost) continue;
            const PocketPosition at = pocket_turns().after(from, turn);
            const std::uint32_t left = follow(at, turn / 3, state, best.cost - begun, nullptr);
            ++best.nodes;
            if (sum(begun, left) >= best.cost) continue;
            best.cost = begun + left;
            best.turns = {turn};
            best_state = state;
        }
    if (best.turns.empty()) return best;
    const int turn = best.turns.front();
    follow(pocket_turns().after(from, turn), turn / 3, best_state, kNever, &best.turns);
    return best;
}

}  // namespace cubist
