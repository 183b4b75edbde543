#include "optimal_nodes.hpp"

#include <algorithm>

namespace cubist {
namespace {

FaceMap axis_map(int axis) {
    FaceMap map{U, R, F, D, L, B};
    for (int third = 0; third < axis; ++third) map = compose(kDiagonalThird, map);
    return map;
}

int turn_of_composite(int composite) {
    for (int turn = 0; turn < kFaceTurns; ++turn)
        if (composite_of_turn(turn) == composite) return turn;
    return -1;
}

// States of a succession: after a face that must not go on, after one that may.
constexpr int state_after(int face, bool may_go_on) { return 1 + 2 * face + (may_go_on ? 1 : 0); }

}  // namespace

Succession::Succession(OptimalMetric metric) {
    for (auto& row : next_) row.fill(kDisallowed);
    for (int turn : unit_turns(metric)) {
        const int face = face_of(turn);
        const bool may_go_on = metric == OptimalMetric::kQuarterTurn && quarters_of(turn) == 1;
        const auto next = static_cast<std::int8_t>(state_after(face, may_go_on));
        next_[0][turn] = next;
        for (int last = 0; last < kFaces; ++last)
            if (may_follow(last, face))
                next_[state_after(last, false)][turn] = next_[state_after(last, true)][turn] = next;
        if (may_go_on)
            next_[state_after(face, true)][turn] = static_cast<std::int8_t>(state_after(face, false));
    }
}

OptimalNodes::OptimalNodes(const OptimalTable& table, OptimalMetric metric)
    : table_(table), coordinates_(table.coordinates()), turns_(unit_turns(metric)),
      succession_(metric) {
    for (int axis = 0; axis < kViews; ++axis)
        for (int turn = 0; turn < kFaceTurns; ++turn)
            seen_[axis][turn] = static_cast<std::uint8_t>(
                turn_of_composite(conjugate_composite(composite_of_turn(turn), axis_map(axis))));
}

OptimalView OptimalNodes::turned(const OptimalView& view, int axis, int turn) const {
    const int seen = seen_[axis][turn];
    return {static_cast<std::uint16_t>(coordinates_.flip_after(view.flip, seen)),
            static_cast<std::uint16_t>(coordinates_.placed_after(view.placed, seen)),
            static_cast<std::uint16_t>(coordinates_.twist_after(view.twist, seen)), view.distance};
}

// Neighbours differ by one at most, so the distance follows from its remainder.
int OptimalNodes::measured(std::size_t entry, int before) const {
    return before - 1 + (table_.modulo_3(entry) + 2 * before + 1) % 3;
}

// The exact distance along one axis, by walking down to the goal.
int OptimalNodes::descended(OptimalView view, int axis) const {
    int steps = 0;
    while (view.flip != 0 || view.twist != 0 || view.placed != 0) {
        const int wanted = (table_.modulo_3(entry(view)) + 2) % 3;
        for (int turn : turns_) {
            const OptimalView next = turned(view, axis, turn);
            if (table_.modulo_3(entry(next)) != wanted) continue;
            view = next;
            break;
        }
        ++steps;
    }
    return steps;
}

OptimalNode OptimalNodes::root(const CubieCube& cube) const {
    OptimalNode node;
    for (int axis = 0; axis < kViews; ++axis) {
        const CubieCube seen = conjugate(cube, axis_map(axis));
        node.views[axis] = {static_cast<std::uint16_t>(flip_of(seen)),
                            static_cast<std::uint16_t>(coordinates_.placed_of(seen)),
                            static_cast<std::uint16_t>(twist_of(seen)), 0};
        node.views[axis].distance = static_cast<std::int8_t>(descended(node.views[axis], axis));
    }
    return node;
}

int OptimalNodes::allowed(int state, OptimalChildren& out) const {
    int count = 0;
    for (int turn : turns_) {
        const int next = succession_.after(state, turn);
        if (next == Succession::kDisallowed) continue;
        out[count].turn = static_cast<std::int8_t>(turn);
        out[count++].state = static_cast<std::int8_t>(next);
    }
    return count;
}

// Keeps those of `count` children that are within `left` along the axis.
int OptimalNodes::keep_near(int axis, int count, int left, OptimalChildren& out) const {
    int kept = 0;
    for (int k = 0; k < count; ++k) {
        OptimalView& view = out[k].node.views[axis];
        view.distance = static_cast<std::int8_t>(measured(out[k].entry, view.distance));
        if (view.distance > left) continue;
        if (kept != k) out[kept] = out[k];
        ++kept;
    }
    return kept;
}

// Each axis is asked for all children before the next, so that its memory reads overlap; the axis
// along which the parent is farthest comes first, since it refutes most.
int OptimalNodes::children(const OptimalNode& node, int state, int left,
                           OptimalChildren& out) const {
    std::array<int, kViews> order{0, 1, 2};
    std::sort(order.begin(), order.end(), [&](int a, int b) {
        return node.views[a].distance > node.views[b].distance;
    });
    int count = allowed(state, out);
    for (int axis : order) {
        for (int k = 0; k < count; ++k) {
            out[k].node.views[axis] = turned(node.views[axis], axis, out[k].turn);
            out[k].entry = entry(out[k].node.views[axis]);
            table_.prefetch(out[k].entry);
        }
        count = keep_near(axis, count, left - 1, out);
    }
    return count;
}

}  // namespace cubist
