#include "optimal/optimal_walk.hpp"

#include <algorithm>
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

namespace {

// The order in which to check the axes. The one along which the parent is farthest refutes most
// children.
constexpr int asked(int farthest, int rank) { return (farthest + rank) % kViews; }

std::uint8_t farthest_axis(const OptimalNode& node) {
    const auto farthest =
        std::max_element(node.views.begin(), node.views.end(),
                         [](const auto& a, const auto& b) { return a.distance < b.distance; });
    return static_cast<std::uint8_t>(farthest - node.views.begin());
}

}  // namespace

template <bool kIsCutOff>
OptimalWalk<kIsCutOff>::OptimalWalk(const OptimalNodes& nodes, int depth,
                                    const std::atomic<bool>& halted,
                                    std::atomic<std::uint64_t>& counter, Finish finish)
    : nodes_(nodes),
      depth_(depth),
      halted_(halted),
      counter_(counter),
      finish_(std::move(finish)),
      levels_(depth + 1) {}

template <bool kIsCutOff>
void OptimalWalk<kIsCutOff>::add(const OptimalStart& start) {
    const int depth = static_cast<int>(start.turns.size());
    if (start.node.bound() > turns_left(depth)) return;
    Level& level = levels_[depth];
    Position& position = level.positions[level.size++];
    position.node = start.node;
    position.state = static_cast<std::int8_t>(start.state);
    std::copy(start.turns.begin(), start.turns.end(), position.turns.begin());
    if constexpr (kIsCutOff) position.cube = start.cube;
    go_on(depth);
}

template <bool kIsCutOff>
void OptimalWalk<kIsCutOff>::run_out(int first) {
    gone_on_ = 0;
    for (int depth = first; depth <= depth_ && !halted_; ++depth) go_on(depth);
}

// Expands all positions of a level. Some of their descendants may wait for more.
template <bool kIsCutOff>
void OptimalWalk<kIsCutOff>::go_on(int depth) {
    if (depth == depth_) return finish();
    Level& level = levels_[depth];
    if constexpr (kIsCutOff) drop_by_inverse(depth);
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

template <bool kIsCutOff>
void OptimalWalk<kIsCutOff>::add_children(int depth, int number) {
    const Position& from = levels_[depth].positions[number];
    const std::uint8_t farthest = farthest_axis(from.node);
    for (const int turn : nodes_.turns()) {
        const int state = nodes_.succession().after(from.state, turn);
        if (state == Succession::kDisallowed) continue;
        Candidate& child = candidates_[candidate_count_++];
        child.node = from.node;
        child.turn = static_cast<std::int8_t>(turn);
        child.state = static_cast<std::int8_t>(state);
        child.farthest = farthest;
        child.parent = static_cast<std::uint8_t>(number);
        turn_along(child, asked(farthest, 0));
    }
}

// Measures all candidates along one axis and keeps those that may be solved in time. It avoids a
// branch, which would be mispredicted half the time, and writes the distance last, because a copy
// would wait for a value that was just written.
template <bool kIsCutOff>
void OptimalWalk<kIsCutOff>::measure(int rank, int left) {
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

// Keeps the candidates that may be solved in time. Checks one axis for all of them before the next,
// which then has fewer to check.
template <bool kIsCutOff>
void OptimalWalk<kIsCutOff>::sort_out(int depth) {
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
template <bool kIsCutOff>
void OptimalWalk<kIsCutOff>::accept(int depth) {
    Level& level = levels_[depth];
    for (int k = 0; k < candidate_count_; ++k) {
        const Candidate& child = candidates_[k];
        if (child.node.bound() > turns_left(depth)) continue;
        const Position& parent = levels_[depth - 1].positions[child.parent];
        Position& position = level.positions[level.size++];
        position.node = child.node;
        position.state = child.state;
        position.turns = parent.turns;
        position.turns[depth - 1] = child.turn;
        if constexpr (kIsCutOff)
            position.cube = parent.cube * face_turn_cube(child.turn);
        else
            nodes_.prefetch_turns(child.node);
    }
    candidate_count_ = 0;
}

// Keeps the positions whose inverses may be solved in time.
template <bool kIsCutOff>
void OptimalWalk<kIsCutOff>::drop_by_inverse(int depth)
    requires kIsCutOff
{
    Level& level = levels_[depth];
    const int left = turns_left(depth);
    const auto& inverse = nodes_.table().inverse();
    // Beyond this, only views that all agree would give a better bound, which is rare.
    if (left >= nodes_.table().shape().far || !inverse) return;
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
        nodes_.prefetch_turns(position.node);
    }
}

template <bool kIsCutOff>
void OptimalWalk<kIsCutOff>::measure_inverses(int axis, int left)
    requires kIsCutOff
{
    for (int k = 0; k < inverse_count_; ++k) {
        const OptimalView view = nodes_.table().view_of(inverses_[k].positions[axis]);
        inverses_[k].node.views[axis] = view;
        nodes_.table().template prefetch_distance<true>(view);
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

template <bool kIsCutOff>
void OptimalWalk<kIsCutOff>::finish() {
    Level& last = levels_[depth_];
    for (int k = 0; k < last.size; ++k) {
        const auto& turns = last.positions[k].turns;
        finish_(std::vector<int>(turns.begin(), turns.begin() + depth_));
    }
    last.size = 0;
}

template class OptimalWalk<false>;
template class OptimalWalk<true>;

}  // namespace cubist
