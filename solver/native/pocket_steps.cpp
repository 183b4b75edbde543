#include "pocket_steps.hpp"

#include <algorithm>

namespace cubist {
namespace {

constexpr std::uint8_t kStop = 0xFF;  // solved: nothing more to do
constexpr std::uint8_t kLost = 0xFE;  // no way to the solved position

// Cells are in chunks, one for each permutation, so that a turn leads from chunk to chunk.
class StepGeneration {
public:
    StepGeneration(const PocketCosts& costs, std::span<std::uint8_t> steps)
        : costs_(costs),
          states_(costs.states),
          row_(kPocketAxes * states_),
          chunk_(kPocketTwists * row_),
          steps_(steps),
          times_(steps.size(), kNever),
          next_(kPocketPerms, kNever) {
        std::fill(steps_.begin(), steps_.end(), kLost);
        std::copy(costs.final.begin(), costs.final.end(), times_.begin());
        std::fill_n(steps_.begin(), row_, kStop);
        next_[0] = *std::min_element(costs.final.begin(), costs.final.end());
    }

    // In the order of time: what is left at a time can no longer be lowered.
    bool run(const PocketSteps::Progress& progress) {
        constexpr int kCallEvery = 4;
        for (int round = 0;; ++round) {
            const std::uint32_t now = *std::min_element(next_.begin(), next_.end());
            if (now == kNever) return progress(1.0);
            if (round % kCallEvery == 0 && !progress(double(done_) / double(times_.size())))
                return false;
            for (int perm = 0; perm < kPocketPerms; ++perm)
                if (next_[perm] == now) settle(perm, now);
        }
    }

private:
    struct Cell {
        std::uint16_t twist;
        std::uint8_t axis, state;
    };

    // The cells of a chunk whose time has come, and when its next ones will be.
    void settle(int perm, std::uint32_t now) {
        settled_.clear();
        std::uint32_t next = kNever;
        const std::uint32_t* times = &times_[std::size_t(perm) * chunk_];
        for (int k = 0; k < chunk_; ++k) {
            if (times[k] == now)
                settled_.push_back({static_cast<std::uint16_t>(k / row_),
                                    static_cast<std::uint8_t>(k % row_ / states_),
                                    static_cast<std::uint8_t>(k % states_)});
            else if (times[k] > now)
                next = std::min(next, times[k]);
        }
        next_[perm] = next;
        done_ += settled_.size();
        for (int turn = 0; turn < kPocketTurns; ++turn) lower_before(perm, turn, now);
    }

    // What comes before the settled cells by one turn.
    void lower_before(int perm, int turn, std::uint32_t now) {
        const PocketTurns& turns = pocket_turns();
        const int from = turns.perm[perm][undone(turn)];
        for (const Cell cell : settled_) {
            if (cell.axis != turn / 3) continue;
            const std::size_t row =
                std::size_t(from) * chunk_ + std::size_t(turns.twist[cell.twist][undone(turn)]) * row_;
            const auto step = static_cast<std::uint8_t>(turn * states_ + cell.state);
            for (int last = 0; last < kPocketAxes; ++last) {
                if (last == turn / 3) continue;
                const std::uint32_t* costs = costs_.matrix(last, turn) + cell.state;
                for (int state = 0; state < states_; ++state)
                    lower(from, row + last * states_ + state, sum(now, costs[state * states_]), step);
            }
        }
    }

    void lower(int perm, std::size_t cell, std::uint32_t time, std::uint8_t step) {
        if (time >= times_[cell]) return;
        times_[cell] = time;
        steps_[cell] = step;
        next_[perm] = std::min(next_[perm], time);
    }

    const PocketCosts& costs_;
    int states_, row_, chunk_;
    std::span<std::uint8_t> steps_;
    std::vector<std::uint32_t> times_, next_;
    std::vector<Cell> settled_;
    std::size_t done_ = 0;
};

}  // namespace

std::size_t PocketSteps::size(int states) {
    if (states < 1 || kPocketTurns * states > kLost) return 0;
    return std::size_t(kPocketPositions) * kPocketAxes * states;
}

bool PocketSteps::generate(const PocketCosts& costs, std::span<std::uint8_t> steps,
                           const Progress& progress) {
    return StepGeneration(costs, steps).run(progress);
}

PocketSteps::PocketSteps(const PocketCosts& costs, std::span<const std::uint8_t> steps)
    : costs_(costs), steps_(steps) {}

// The time along the cells, kNever from `limit` on.
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

SoonestResult PocketSteps::solve(PocketPosition from, std::span<const std::uint32_t> first) const {
    if (from.is_solved()) return {.turns = {}, .cost = 0, .proven = true, .nodes = 0};
    SoonestResult best{.turns = {}, .proven = true};
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
