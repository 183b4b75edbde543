#include "optimal/optimal_nodes.hpp"

#include <algorithm>
#include <stdexcept>

namespace cubist {
namespace {

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
    : table_(table), turns_(unit_turns(metric)), succession_(metric) {
    for (int axis = 0; axis < kViews; ++axis)
        for (int symmetry = 0; symmetry < kSymmetries; ++symmetry)
            for (int turn = 0; turn < kFaceTurns; ++turn)
                seen_[axis][symmetry][turn] = static_cast<std::uint8_t>(turn_of_composite(
                    conjugate_composite(conjugate_composite(composite_of_turn(turn), axis_map(axis)),
                                        symmetries().maps[symmetry])));
}

// The distance along one axis, by walking down to the goal unless it is far.
int OptimalNodes::descended(OptimalView view) const {
    if (table_.remainder(view) == OptimalTable::kFarEntry) return table_.shape().far;
    int steps = 0;
    while (!view.is_home()) {
        const int wanted = (table_.remainder(view) + 2) % 3;
        const auto nearer = std::find_if(turns_.begin(), turns_.end(), [&](int turn) {
            return table_.remainder(table_.after(view, turn)) == wanted;
        });
        if (nearer == turns_.end()) throw std::logic_error("optimal table without a way down");
        view = table_.after(view, *nearer);
        ++steps;
    }
    return steps;
}

OptimalStart OptimalNodes::root(const CubieCube& cube) const {
    OptimalStart start{.node = {}, .cube = cube, .state = 0, .turns = {}};
    for (int axis = 0; axis < kViews; ++axis) {
        OptimalView& view = start.node.views[axis];
        view = table_.view_of(table_.coordinates().position_of(conjugate(cube, axis_map(axis))));
        view.distance = static_cast<std::int8_t>(descended(view));
    }
    return start;
}

int OptimalNodes::bound(const CubieCube& cube) const {
    const int bound = root(cube).node.bound();
    if (!table_.inverse()) return bound;
    const auto positions = table_.inverse()->positions(cube);
    OptimalNode inverse;
    for (int axis = 0; axis < kViews; ++axis) {
        inverse.views[axis] = table_.view_of(positions[axis]);
        inverse.views[axis].distance =
            static_cast<std::int8_t>(table_.least_distance(inverse.views[axis]));
    }
    return std::max(bound, inverse.bound());
}

std::vector<OptimalStart> OptimalNodes::next(const OptimalStart& start) const {
    std::vector<OptimalStart> all;
    for (const int turn : turns_) {
        const int state = succession_.after(start.state, turn);
        if (state == Succession::kDisallowed) continue;
        OptimalStart& next = all.emplace_back(start);
        next.state = state;
        next.turns.push_back(turn);
        next.cube = start.cube * face_turn_cube(turn);
        for (int axis = 0; axis < kViews; ++axis) {
            OptimalView& view = next.node.views[axis];
            view = turned(view, axis, turn);
            view.distance = static_cast<std::int8_t>(distance(next.node, axis));
        }
    }
    return all;
}

}  // namespace cubist
