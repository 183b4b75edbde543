// The fastest next step of a robot from every 2x2x2 position and mechanism state: a complete table.
//
// A cell holds one byte for (position, axis turned last, mechanism state): the turn to make next
// and the mechanism state to end it in. Following the cells is a fastest solution, proven by how
// the table is made: backwards from the solved position in the order of time, so that a robot need
// not be able to undo what it does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cube/table_bytes.hpp"
#include "pocket/pocket.hpp"

namespace cubist {

class PocketSteps {
public:
    // Bytes of the table of a mechanism with so many states; 0 when a step does not fit into a
    // byte.
    static std::size_t size(int states);
    // Fills `steps`, with four times as many bytes beside it; false when `progress` stopped it.
    static bool generate(const PocketCosts& costs, std::span<std::uint8_t> steps, int threads,
                         const Progress& progress);

    // The costs are copied, the steps looked at as long as this lives.
    PocketSteps(const PocketCosts& costs, std::span<const std::uint8_t> steps);
    PocketSteps(const PocketSteps&) = delete;
    PocketSteps& operator=(const PocketSteps&) = delete;

    // The fastest solution; first[45, states]: what a first turn costs, as in
    // solver.cost.CostModel.
    FastestResult solve(PocketPosition from, std::span<const std::uint32_t> first) const;
    // Least time from a position on, after a turn of `axis` that ended in `state`.
    std::uint32_t left(PocketPosition at, int axis, int state) const {
        return follow(at, axis, state, kNever, nullptr);
    }
    std::size_t bytes() const { return steps_.size(); }

private:
    std::uint32_t follow(PocketPosition at, int axis, int state, std::uint32_t limit,
                         std::vector<int>* turns) const;

    CopiedPocketCosts costs_;
    std::span<const std::uint8_t> steps_;
};

}  // namespace cubist
