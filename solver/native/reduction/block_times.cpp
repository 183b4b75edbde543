#include "reduction/block_times.hpp"

#include <algorithm>
#include <stdexcept>

namespace cubist {
namespace {

constexpr std::uint32_t kNoWay = 0xFFFFFFFF;
constexpr int kQuarters = 3;

Time units(std::uint32_t microseconds) {
    if (microseconds == kNoWay) return kNever;
    return static_cast<Time>((microseconds + BlockTimes::kUnitUs / 2) / BlockTimes::kUnitUs);
}

int quarters_of(int run, int cut) { return run >> 2 * cut & 3; }

void keep_least(const Time* more, int size, Time* times) {
    for (int i = 0; i < size; ++i) times[i] = std::min(times[i], more[i]);
}

}  // namespace

BlockTimes::BlockTimes(int size, std::span<const std::uint32_t> next,
                       std::span<const std::uint32_t> first)
    : cuts_(size - 1) {
    const std::size_t rows = kHoldings * 3 * std::size_t(cuts_) * kQuarters;
    states_ = static_cast<int>(first.size() / rows);
    width_ = (states_ + kLanes - 1) / kLanes * kLanes;
    const std::size_t matrices = 9 * std::size_t(cuts_) * kQuarters;
    if (states_ == 0 || states_ > kMostStates || first.size() != rows * states_ ||
        next.size() != matrices * states_ * states_)
        throw std::invalid_argument("times of block turns do not fit the cube");
    fill_runs(next);
    fill_openings(first);
}

void BlockTimes::fill_runs(std::span<const std::uint32_t> next) {
    const std::size_t matrix = std::size_t(width_) * width_;
    const int numbers = 1 << 2 * cuts_;
    for (int before = 0; before < 3; ++before)
        for (int axis = 0; axis < 3; ++axis) {
            Times& filled = before == axis ? within_[axis] : runs_[before][axis];
            filled.assign((before == axis ? cuts_ * kQuarters : numbers) * matrix, kNever);
            for (int turn = 0; turn < cuts_ * kQuarters; ++turn) {
                const int number = (turn % kQuarters + 1) << 2 * (turn / kQuarters);
                Time* rows = &filled[(before == axis ? turn : number) * matrix];
                for (int from = 0; from < states_; ++from, rows += width_)
                    for (int to = 0; to < states_; ++to, next = next.subspan(1))
                        rows[to] = units(next[0]);
            }
        }
    for (int before = 0; before < 3; ++before)
        for (int axis = 0; axis < 3; ++axis)
            for (int number = 1; before != axis && number < numbers; ++number)
                for (int cut = 0; cut < cuts_; ++cut) {
                    const int quarters = quarters_of(number, cut);
                    const int rest = number - (quarters << 2 * cut);
                    if (quarters == 0 || rest == 0) continue;
                    const Time* last = &within_[axis][(cut * kQuarters + quarters - 1) * matrix];
                    std::array<Time, kMostStates> row;
                    for (int from = 0; from < states_; ++from) {
                        min_plus(run(before, axis, rest) + from * width_, last, states_, width_,
                                 row.data());
                        keep_least(row.data(), width_, run(before, axis, number) + from * width_);
                    }
                }
}

void BlockTimes::fill_openings(std::span<const std::uint32_t> first) {
    const int numbers = 1 << 2 * cuts_;
    openings_.assign(kHoldings * 3 * std::size_t(numbers) * width_, kNever);
    for (int holding = 0; holding < kHoldings; ++holding)
        for (int axis = 0; axis < 3; ++axis) {
            for (int turn = 0; turn < cuts_ * kQuarters; ++turn) {
                const int number = (turn % kQuarters + 1) << 2 * (turn / kQuarters);
                for (int to = 0; to < states_; ++to, first = first.subspan(1))
                    opening(holding, axis, number)[to] = units(first[0]);
            }
            for (int number = 1; number < numbers; ++number)
                for (int cut = 0; cut < cuts_; ++cut) {
                    const int quarters = quarters_of(number, cut);
                    const int rest = number - (quarters << 2 * cut);
                    if (quarters == 0 || rest == 0) continue;
                    std::array<Time, kMostStates> row;
                    min_plus(opening(holding, axis, rest),
                             &within_[axis][(cut * kQuarters + quarters - 1) * std::size_t(width_) *
                                            width_],
                             states_, width_, row.data());
                    keep_least(row.data(), width_, opening(holding, axis, number));
                }
        }
}

int BlockTimes::least(int holding, std::span<const BlockTurn> turns) const {
    struct Run {
        int axis, number;
    };
    std::vector<Run> all;
    for (const BlockTurn turn : turns) {
        if (all.empty() || all.back().axis != turn.axis()) all.push_back({turn.axis(), 0});
        int& number = all.back().number;
        const int shift = 2 * cut_of(turn);
        const int quarters = (quarters_of(number, cut_of(turn)) + turn.quarters) % 4;
        number = (number & ~(3 << shift)) | quarters << shift;
        if (number == 0) all.pop_back();
    }
    if (all.empty()) return 0;
    std::array<Time, kMostStates> times, before;
    std::copy_n(opening(holding, all[0].axis, all[0].number), width_, times.begin());
    for (std::size_t i = 1; i < all.size(); ++i) {
        before = times;
        min_plus(before.data(), run(all[i - 1].axis, all[i].axis, all[i].number), states_, width_,
                 times.data());
    }
    return *std::min_element(times.begin(), times.begin() + states_);
}

int BlockTimes::mean(std::span<const BlockTurn> turns) const {
    // The same random walks each time.
    constexpr std::size_t kWalks = 16, kSteps = 50;
    std::uint32_t number = 1;
    int total = 0;
    for (std::size_t walk = 0; walk < kWalks; ++walk) {
        BlockTurns made;
        while (made.size() < kSteps) {
            number = number * 1664525 + 1013904223;
            const BlockTurn next = turns[(number >> 16) % turns.size()];
            if (made.empty() || made.back().axis() != next.axis()) made.push_back(next);
        }
        total += least(holding(U, F), made);
    }
    return std::max(1, static_cast<int>(total / (kWalks * kSteps)));
}

}  // namespace cubist
