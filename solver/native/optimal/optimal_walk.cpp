#include "optimal/optimal_walk.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace cubist {
namespace {

int turn_of_composite(int composite) {
    for (int turn = 0; turn < kFaceTurns; ++turn)
        if (composite_of_turn(turn) == composite) return turn;
    return -1;
}

// States of a succession: after a face that must not follow itself, and after one that may.
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
            next_[state_after(face, true)][turn] =
                static_cast<std::int8_t>(state_after(face, false));
    }
    for (int state = 0; state < kStates; ++state)
        for (int turn = 0; turn < kFaceTurns; ++turn)
            if (next_[state][turn] != kDisallowed) allowed_[state] |= Turns{1} << turn;
}

OptimalNodes::OptimalNodes(const OptimalTable& table, OptimalMetric metric)
    : table_(table), turns_(unit_turns(metric)), succession_(metric) {
    for (int axis = 0; axis < kViews; ++axis)
        for (int symmetry = 0; symmetry < kSymmetries; ++symmetry)
            for (int turn = 0; turn < kFaceTurns; ++turn)
                seen_[axis][symmetry][turn] =
                    static_cast<std::uint8_t>(turn_of_composite(conjugate_composite(
                        conjugate_composite(composite_of_turn(turn), axis_map(axis)),
                        symmetries().maps[symmetry])));
    const OptimalNode home = root({}).node;
    for (int axis = 0; axis < kViews; ++axis)
        for (const int turn : turns_)
            if (turned(home.views[axis], axis, turn).is_home()) kept_[axis] |= Turns{1} << turn;
}

// The distance along one axis, counted by walking down to the goal unless it is far.
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
    return std::max(root(cube).node.bound(), root(cube.inverse()).node.bound());
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

namespace {

// The order in which to check the axes. The one along which the parent is farthest refutes most
// children.
constexpr int asked(int farthest, int rank) { return (farthest + rank) % kViews; }

std::int8_t inverse_turn(int turn) {
    return static_cast<std::int8_t>(3 * face_of(turn) + 3 - quarters_of(turn));
}

std::uint8_t farthest_axis(const OptimalNode& node) {
    const auto farthest =
        std::max_element(node.views.begin(), node.views.end(),
                         [](const auto& a, const auto& b) { return a.distance < b.distance; });
    return static_cast<std::uint8_t>(farthest - node.views.begin());
}

}  // namespace

OptimalWalk::OptimalWalk(const OptimalNodes& nodes, int depth, const std::atomic<bool>& halted,
                         std::atomic<std::uint64_t>& counter, Finish finish)
    : nodes_(nodes),
      depth_(depth),
      halted_(halted),
      counter_(counter),
      finish_(std::move(finish)),
      levels_(depth + 1) {}

void OptimalWalk::add(const OptimalStart& start) {
    const int depth = static_cast<int>(start.turns.size());
    if (start.node.bound() > turns_left(depth)) return;
    Level& level = levels_[depth];
    Position& position = level.positions[level.size++];
    position.node = start.node;
    position.states = {static_cast<std::int8_t>(start.state), 0};
    position.allowed = nodes_.succession().allowed(start.state);
    position.first = static_cast<std::int8_t>(depth);
    position.is_inverse = false;
    std::copy(start.turns.begin(), start.turns.end(), position.turns.begin());
    position.cube = start.cube;
    go_on(depth);
}

void OptimalWalk::run_out(int first) {
    gone_on_ = 0;
    for (int depth = first; depth <= depth_ && !halted_; ++depth) go_on(depth);
}

// Expands all positions of a level. Some of their descendants may wait until their level has
// enough.
void OptimalWalk::go_on(int depth) {
    if (depth == depth_) return finish();
    Level& level = levels_[depth];
    drop_by_inverse(depth);
    counter_.fetch_add(level.size, std::memory_order_relaxed);
    gone_on_ += level.size;
    for (int number = 0; number < level.size; ++number) {
        add_children(depth, number);
        if (candidate_count_ < kCandidates && number + 1 < level.size) continue;
        sort_out(depth + 1);
        if (levels_[depth + 1].size >= kTogether) go_on(depth + 1);
        // Nothing waits on the levels above: their positions are being expanded.
        if (gone_on_ >= kPatience) run_out(depth + 1);
        // Positions left on a level stay there if the search is halted.
        if (halted_.load(std::memory_order_relaxed)) return;
    }
    level.size = 0;
}

void OptimalWalk::add_children(int depth, int number) {
    const Position& from = levels_[depth].positions[number];
    const std::uint8_t farthest = farthest_axis(from.node);
    const int before = from.states[from.side()];
    for (Turns turns = from.allowed; turns != 0; turns &= turns - 1) {
        const int turn = std::countr_zero(turns);
        const int state = nodes_.succession().after(before, turn);
        Candidate& child = candidates_[candidate_count_++];
        child.node = from.node;
        child.turn = static_cast<std::int8_t>(turn);
        child.state = static_cast<std::int8_t>(state);
        child.farthest = farthest;
        child.parent = static_cast<std::uint8_t>(number);
        turn_along(child, asked(farthest, 0));
    }
}

// Measures all candidates along one axis and keeps those that may be solved in the turns left. It
// avoids a branch, which would be mispredicted half the time, and writes the distance last, because
// a copy would wait for a value that was just written.
void OptimalWalk::measure(int rank, int left) {
    int kept = 0;
    for (int k = 0; k < candidate_count_; ++k) {
        const int axis = asked(candidates_[k].farthest, rank);
        const int distance = nodes_.distance(candidates_[k].node, axis);
        candidates_[kept] = candidates_[k];
        candidates_[kept].node.views[axis].distance = static_cast<std::int8_t>(distance);
        kept += distance <= left;
    }
    candidate_count_ = kept;
}

// Keeps the candidates that may be solved in the turns left. Checks one axis for all of them before
// the next, which then has fewer to check.
void OptimalWalk::sort_out(int depth) {
    const int left = turns_left(depth);
    measure(0, left);
    for (int rank = 1; rank < kViews; ++rank) {
        for (int k = 0; k < candidate_count_; ++k) {
            Candidate& child = candidates_[k];
            turn_along(child, asked(child.farthest, rank));
        }
        measure(rank, left);
    }
    accept(depth);
}

// Turns candidates into positions of a level.
void OptimalWalk::accept(int depth) {
    Level& level = levels_[depth];
    for (int k = 0; k < candidate_count_; ++k) {
        const Candidate& child = candidates_[k];
        if (child.node.bound() > turns_left(depth)) continue;
        const Position& parent = levels_[depth - 1].positions[child.parent];
        Position& position = level.positions[level.size++];
        position.node = child.node;
        position.cube = parent.cube * face_turn_cube(child.turn);
        position.turns = parent.turns;
        position.allowed = nodes_.succession().allowed(child.state);
        position.states = parent.states;
        position.states[parent.side()] = child.state;
        position.first = parent.first;
        position.is_inverse = parent.is_inverse;
        if (parent.is_inverse)
            position.turns[depth_ - depth + parent.first] = inverse_turn(child.turn);
        else
            position.turns[position.first++] = child.turn;
        if (turns_left(depth) > nodes_.table().shape().far) nodes_.prefetch_turns(child.node);
    }
    candidate_count_ = 0;
}

// Drops the positions whose inverses cannot be solved in the turns left, and chooses the side from
// which to continue.
void OptimalWalk::drop_by_inverse(int depth) {
    Level& level = levels_[depth];
    const int left = turns_left(depth);
    const auto& inverse = nodes_.table().inverse();
    // The table does not distinguish greater distances.
    if (left > nodes_.table().shape().far || !inverse) return;
    inverse_count_ = level.size;
    for (int k = 0; k < level.size; ++k) {
        inverses_[k] = {inverse->positions(level.positions[k].cube), {}, k};
        for (const OptimalPosition& position : inverses_[k].positions)
            nodes_.table().prefetch_view(position);
    }
    for (int axis = 0; axis < kViews; ++axis) measure_inverses(axis, left);
    level.size = 0;
    for (int k = 0; k < inverse_count_; ++k) {
        if (inverses_[k].node.bound() > left) continue;
        Position& position = level.positions[level.size++];
        position = level.positions[inverses_[k].number];
        choose_side(position, inverses_[k].node, left);
        nodes_.prefetch_turns(position.node);
    }
}

// Drops the turns that cannot begin a solution in the turns left, and switches to the inverse if
// that leaves fewer turns to try.
void OptimalWalk::choose_side(Position& position, const OptimalNode& inverse, int left) const {
    Turns others = nodes_.succession().allowed(position.states[1 - position.side()]);
    bool is_known = true;  // otherwise the distances after a turn are unknown
    for (int axis = 0; axis < kViews; ++axis) {
        if (position.node.views[axis].distance >= left) others &= ~nodes_.kept(axis);
        if (inverse.views[axis].distance >= left) position.allowed &= ~nodes_.kept(axis);
        is_known = is_known && inverse.views[axis].distance > 0;
    }
    if (!is_known || std::popcount(others) >= std::popcount(position.allowed)) return;
    position.node = inverse;
    position.cube = position.cube.inverse();
    position.allowed = others;
    position.is_inverse = !position.is_inverse;
}

void OptimalWalk::measure_inverses(int axis, int left) {
    for (int k = 0; k < inverse_count_; ++k) {
        const OptimalView view = nodes_.table().view_of(inverses_[k].positions[axis]);
        inverses_[k].node.views[axis] = view;
        nodes_.table().prefetch_distance(view);
    }
    int kept = 0;
    for (int k = 0; k < inverse_count_; ++k) {
        const int distance = nodes_.table().least_distance(inverses_[k].node.views[axis]);
        inverses_[kept] = inverses_[k];
        inverses_[kept].node.views[axis].distance = static_cast<std::int8_t>(distance);
        kept += distance <= left;
    }
    inverse_count_ = kept;
}

void OptimalWalk::finish() {
    Level& last = levels_[depth_];
    for (int k = 0; k < last.size; ++k) {
        const auto& turns = last.positions[k].turns;
        finish_(std::vector<int>(turns.begin(), turns.begin() + depth_));
    }
    last.size = 0;
}

}  // namespace cubist
