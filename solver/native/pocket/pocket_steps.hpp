// A complete table of a robot's fastest next step from every 2x2x2 position and mechanism state.
//
// The cell of (position, last axis turned, mechanism state) is one byte: the next turn and the
// mechanism state after it. Following the cells gives a fastest solution. The table is built
// backwards from the solved position in order of time, which proves this, and the robot need not be
// able to undo its own moves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cube/table_bytes.hpp"
#include "pocket/pocket.hpp"

namespace cubist {

class PocketSteps {
public:
    // Returns the bytes of the table for a mechanism with `states` states, or 0 if a step does not
    // fit into a byte.
    static std::size_t size(int states);
    // Fills `steps`, using four times as much working memory. Returns false if `progress` did.
    static bool generate(const PocketCosts& costs, std::span<std::uint8_t> steps, int threads,
                         const Progress& progress);

    // Copies the costs. `steps` must outlive this object.
    PocketSteps(const PocketCosts& costs, std::span<const std::uint8_t> steps);
    PocketSteps(const PocketSteps&) = delete;
    PocketSteps& operator=(const PocketSteps&) = delete;

    // Returns the fastest solution. first[45, states]: costs of the first turn, as in
    // solver.cost.CostModel.
    FastestResult solve(PocketPosition from, std::span<const std::uint32_t> first) const;
    // Returns the least time to solve a position after a turn of `axis` that ended in `state`.
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
