// What sequences of composites cost on a robot: solver/cost.py's models for the kernel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cube/cubie.hpp"

namespace cubist {

// Wherever a solve starts.
class TurnCosts {
public:
    static constexpr std::uint32_t kImpossible = 0xFFFFFFFF;

    // next[3, 45, S, S], final[3, S] in microseconds; kImpossible where there is no way. Throws
    // std::invalid_argument when the sizes do not agree.
    TurnCosts(std::span<const std::uint32_t> next, std::span<const std::uint32_t> final);

    int states() const { return states_; }
    // [from][to], after a turn on `axis`.
    const std::uint32_t* next(int axis, int composite) const {
        return next_.data() + (std::size_t(axis) * kComposites + composite) * states_ * states_;
    }
    const std::uint32_t* final(int axis) const { return final_.data() + axis * states_; }

private:
    int states_;
    std::vector<std::uint32_t> next_, final_;
};

// From one start; `turns` must outlive it.
class CostModel {
public:
    static constexpr std::uint32_t kImpossible = TurnCosts::kImpossible;

    // first[45, S] in microseconds; throws std::invalid_argument when it does not fit `turns`.
    CostModel(const TurnCosts& turns, std::span<const std::uint32_t> first);

    const TurnCosts& turns() const { return turns_; }
    // Of the cheapest way to perform the composites, kImpossible if there is none. Neighbours are
    // on different axes.
    std::uint32_t cost(const Composites& composites) const;

    // To each state from the start.
    const std::uint32_t* first(int composite) const {
        return first_.data() + composite * turns_.states();
    }

private:
    const TurnCosts& turns_;
    std::vector<std::uint32_t> first_;
};

}  // namespace cubist
