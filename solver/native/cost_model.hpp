// What sequences of composites cost on a robot: solver/cost.py's CostModel for the kernel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cubie.hpp"

namespace cubist {

class CostModel {
public:
    static constexpr std::uint32_t kImpossible = 0xFFFFFFFF;

    // first[45, S], next[3, 45, S, S], final[3, S] in microseconds; kImpossible where there is no
    // way. Throws std::invalid_argument when the sizes do not agree.
    CostModel(std::span<const std::uint32_t> first, std::span<const std::uint32_t> next,
              std::span<const std::uint32_t> final);

    int states() const { return states_; }
    // Of the cheapest way to perform the composites, kImpossible if there is none. Neighbours are
    // on different axes.
    std::uint32_t cost(const Composites& composites) const;

    // To each state from the start.
    const std::uint32_t* first(int composite) const { return first_.data() + composite * states_; }
    // [from][to], after a turn on `axis`.
    const std::uint32_t* next(int axis, int composite) const {
        return next_.data() + (std::size_t(axis) * kComposites + composite) * states_ * states_;
    }
    const std::uint32_t* final(int axis) const { return final_.data() + axis * states_; }

private:
    int states_;
    std::vector<std::uint32_t> first_, next_, final_;
};

}  // namespace cubist
