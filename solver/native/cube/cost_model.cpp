#include "cube/cost_model.hpp"

#include <algorithm>
#include <stdexcept>

namespace cubist {
namespace {

constexpr std::uint32_t sum(std::uint32_t a, std::uint32_t b) {
    return a > CostModel::kImpossible - b ? CostModel::kImpossible : a + b;
}

std::vector<std::uint32_t> copy(std::span<const std::uint32_t> values) {
    return {values.begin(), values.end()};
}

}  // namespace

TurnCosts::TurnCosts(std::span<const std::uint32_t> next, std::span<const std::uint32_t> final)
    : states_(static_cast<int>(final.size() / 3)), next_(copy(next)), final_(copy(final)) {
    const auto states = static_cast<std::size_t>(states_);
    if (states == 0 || final.size() != 3 * states ||
        next.size() != 3 * kComposites * states * states)
        throw std::invalid_argument("the arrays of a cost model do not fit together");
}

CostModel::CostModel(const TurnCosts& turns, std::span<const std::uint32_t> first)
    : turns_(turns), first_(copy(first)) {
    if (first.size() != kComposites * static_cast<std::size_t>(turns.states()))
        throw std::invalid_argument("the arrays of a cost model do not fit together");
}

std::uint32_t CostModel::cost(const Composites& composites) const {
    if (composites.empty()) return 0;
    const int states = turns_.states();
    std::vector<std::uint32_t> now(first(composites[0]), first(composites[0]) + states);
    std::vector<std::uint32_t> after(states);
    for (std::size_t k = 1; k < composites.size(); ++k) {
        const std::uint32_t* row =
            turns_.next(Composite::of(composites[k - 1]).axis, composites[k]);
        std::fill(after.begin(), after.end(), kImpossible);
        for (int from = 0; from < states; ++from, row += states)
            for (int to = 0; to < states; ++to)
                after[to] = std::min(after[to], sum(now[from], row[to]));
        now.swap(after);
    }
    const std::uint32_t* last = turns_.final(Composite::of(composites.back()).axis);
    std::uint32_t best = kImpossible;
    for (int state = 0; state < states; ++state)
        best = std::min(best, sum(now[state], last[state]));
    return best;
}

}  // namespace cubist
