// Positions as the optimal search sees them: three views, along the three axes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "optimal/optimal_table.hpp"

namespace cubist {

struct OptimalNode {
    std::array<OptimalView, kViews> views;

    // A lower bound on the turns to solved. When all views agree on a distance above 0 the true one
    // is longer: the last turn of a solution does not matter in the view along its own axis, where
    // the goal therefore comes a turn earlier.
    int bound() const {
        const int a = views[0].distance, b = views[1].distance, c = views[2].distance;
        return std::max({a, b, c}) + (a == b && b == c && a > 0 ? 1 : 0);
    }
};

// Which turns may follow which, so that sequences that only differ in the order of commuting turns,
// or could be shortened on one face, are visited once. States are numbers; 0 is the start.
class Succession {
public:
    static constexpr int kDisallowed = -1;

    explicit Succession(OptimalMetric metric);
    int after(int state, int turn) const { return next_[state][turn]; }

private:
    // Per face turned last: whether, counting quarters, a second clockwise one may follow.
    static constexpr int kStates = 1 + 2 * kFaces;

    std::array<std::array<std::int8_t, kFaceTurns>, kStates> next_;
};

// A position with the turns that led to it.
struct OptimalStart {
    OptimalNode node;
    CubieCube cube;
    int state = 0;
    std::vector<int> turns;
};

class OptimalNodes {
public:
    OptimalNodes(const OptimalTable& table, OptimalMetric metric);

    OptimalStart root(const CubieCube& cube) const;
    // No solution is shorter, by what the table says of the cube and, if it is cut off, its inverse.
    int bound(const CubieCube& cube) const;
    // The positions after each turn that may follow.
    std::vector<OptimalStart> next(const OptimalStart& start) const;
    const OptimalTable& table() const { return table_; }
    const std::vector<int>& turns() const { return turns_; }
    const Succession& succession() const { return succession_; }

    // The view along an axis after a turn of the cube; its distance is still the one before.
    OptimalView turned(OptimalView view, int axis, int turn) const {
        return table_.after(view, seen_[axis][view.symmetry][turn]);
    }
    // Along one axis, from what it was before the turn.
    int distance(const OptimalNode& node, int axis) const {
        return table_.distance(node.views[axis], node.views[axis].distance);
    }
    void prefetch_turns(const OptimalNode& node) const {
        for (const OptimalView& view : node.views) table_.prefetch_links(view);
    }

private:
    int descended(OptimalView view) const;

    const OptimalTable& table_;
    const std::vector<int>& turns_;
    Succession succession_;
    // The turn as seen along each axis through each symmetry.
    std::array<std::array<std::array<std::uint8_t, kFaceTurns>, kSymmetries>, kViews> seen_{};
};

}  // namespace cubist
