// Positions as the optimal search sees them: three views, along the three axes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "optimal_table.hpp"

namespace cubist {

constexpr int kViews = 3;

// What the table knows of a position along one axis.
struct OptimalView {
    std::uint16_t flip, placed, twist;
    std::int8_t distance;
};

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

struct OptimalChild {
    OptimalNode node;
    std::size_t entry;
    std::int8_t turn, state;
};
using OptimalChildren = std::array<OptimalChild, kFaceTurns>;

class OptimalNodes {
public:
    OptimalNodes(const OptimalTable& table, OptimalMetric metric);

    OptimalNode root(const CubieCube& cube) const;
    // Fills `out` with the positions after one turn that may be solved in `left` - 1 more.
    int children(const OptimalNode& node, int state, int left, OptimalChildren& out) const;

private:
    OptimalView turned(const OptimalView& view, int axis, int turn) const;
    std::size_t entry(const OptimalView& view) const {
        return table_.entry(view.flip, view.placed, view.twist);
    }
    int measured(std::size_t entry, int before) const;
    int descended(OptimalView view, int axis) const;
    int allowed(int state, OptimalChildren& out) const;
    int keep_near(int axis, int count, int left, OptimalChildren& out) const;

    const OptimalTable& table_;
    const OptimalCoordinates& coordinates_;
    const std::vector<int>& turns_;
    Succession succession_;
    // The turn as seen along each axis.
    std::array<std::array<std::uint8_t, kFaceTurns>, kViews> seen_{};
};

}  // namespace cubist
