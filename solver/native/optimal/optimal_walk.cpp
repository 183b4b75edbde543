#include "optimal/optimal_walk.hpp"

#include <algorithm>

namespace cubist {
namespace {

// Which axis is asked first, second and last. The one along which the parent is farthest refutes
// most children.
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
    : nodes_(nodes), depth_(depth), halted_(halted), counter_(counter), finish_(std::move(finish)),
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

// From all positions of a level; some of what comes after them may wait for more.
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
        // Nothing waits on the levels above: they are being gone on from.
        if (gone_on_ >= kPatience) run_out(depth + 1);
        // What is left on a level when the search is halted stays there.
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

// Measures all candidates along one axis and keeps those that may be solved in time. There is no
// branch, which would be guessed wrong half the time, and the distance is written last: a copy of
// what was written just before would wait for it.
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

// Keeps the candidates that may be solved in time. Each axis is asked for all of them before the
// next, which needs the fewer.
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

// Candidates become positions of a level.
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
        if constexpr (kIsCutOff) position.cube = parent.cube * face_turn_cube(child.turn);
        else nodes_.prefetch_turns(child.node);
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
    // Then only views that all agree would tell more, which is seldom.
    if (left >= nodes_.table().shape().far) return;
    inverse_count_ = level.size;
    for (int k = 0; k < level.size; ++k) {
        inverses_[k] = {nodes_.table().inverse()->positions(level.positions[k].cube), {}, k};
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
