// The cost of sequences of composites on a robot: the kernel's copy of the models of
// solver/cost.py.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cube/cubie.hpp"

namespace cubist {

// Costs independent of the start of a solve.
class TurnCosts {
public:
    static constexpr std::uint32_t kImpossible = 0xFFFFFFFF;

    // next[3, 45, S, S], final[3, S] in microseconds; kImpossible if no path exists. Throws
    // std::invalid_argument if the sizes disagree.
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

// Costs from one start. `turns` must outlive it.
class CostModel {
public:
    static constexpr std::uint32_t kImpossible = TurnCosts::kImpossible;

    // first[45, S] in microseconds. Throws std::invalid_argument if it does not match `turns`.
    CostModel(const TurnCosts& turns, std::span<const std::uint32_t> first);

    const TurnCosts& turns() const { return turns_; }
    // Returns the cost of the cheapest execution of the composites, kImpossible if there is none.
    // Successive composites must be on different axes.
    std::uint32_t cost(const Composites& composites) const;

    // Costs from the start to each state.
    const std::uint32_t* first(int composite) const {
        return first_.data() + composite * turns_.states();
    }

private:
    const TurnCosts& turns_;
    std::vector<std::uint32_t> first_;
};

}  // namespace cubist
