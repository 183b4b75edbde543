#include "optimal_walk.hpp"

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

template <bool kIsLarge>
OptimalWalk<kIsLarge>::OptimalWalk(const OptimalNodes& nodes, int depth,
                                   const std::atomic<bool>& halted,
                                   std::atomic<std::uint64_t>& counter, Finish finish)
    : nodes_(nodes), depth_(depth), halted_(halted), counter_(counter), finish_(std::move(finish)) {}

template <bool kIsLarge>
void OptimalWalk<kIsLarge>::run(const OptimalStart& start) {
    start_ = &start;
    const int left = depth_ - static_cast<int>(start.turns.size());
    if (start.node.bound() > left) return;
    levels_.resize(left + 1);
    levels_[0].clear();
    levels_[0].candidate() = {.node = start.node,
                              .turn = -1,
                              .state = static_cast<std::int8_t>(start.state),
                              .farthest = 0,
                              .parent = 0};
    levels_[0].accept();
    go_on(0);
}

// All that comes after a level's nodes.
template <bool kIsLarge>
void OptimalWalk<kIsLarge>::go_on(int depth) {
    if (depth + 1 == static_cast<int>(levels_.size())) return finish();
    const int size = levels_[depth].size();
    counter_.fetch_add(size, std::memory_order_relaxed);
    auto& next = levels_[depth + 1];
    next.clear();
    for (int number = 0; number < size; ++number) {
        add_children(depth, number);
        const bool is_last = number + 1 == size;
        if (!is_last && !next.has_enough_candidates()) continue;
        sort_out(depth + 1);
        if (halted_.load(std::memory_order_relaxed)) return;
        if (!is_last && !next.is_full()) continue;
        if (next.size() > 0) go_on(depth + 1);
        next.clear();
    }
}

template <bool kIsLarge>
void OptimalWalk<kIsLarge>::add_children(int depth, int number) {
    const Node& from = levels_[depth][number];
    const std::uint8_t farthest = farthest_axis(from.node);
    for (const int turn : nodes_.turns()) {
        const int state = nodes_.succession().after(from.state, turn);
        if (state == Succession::kDisallowed) continue;
        Node& child = levels_[depth + 1].candidate();
        child.node = from.node;
        child.turn = static_cast<std::int8_t>(turn);
        child.state = static_cast<std::int8_t>(state);
        child.farthest = farthest;
        child.parent = static_cast<std::uint16_t>(number);
        nodes_.template turn<kIsLarge>(child.node, asked(farthest, 0), turn);
    }
}

// Keeps the candidates that may be solved in time. Each axis is asked for all of them before the
// next, which needs the fewer.
template <bool kIsLarge>
void OptimalWalk<kIsLarge>::sort_out(int depth) {
    auto& level = levels_[depth];
    const int left = static_cast<int>(levels_.size()) - 1 - depth;
    for (int rank = 0; rank + 1 < kViews; ++rank)
        level.thin_out([&](Node& node) {
            if (nodes_.measure(node.node, asked(node.farthest, rank)) > left) return false;
            nodes_.template turn<kIsLarge>(node.node, asked(node.farthest, rank + 1), node.turn);
            return true;
        });
    level.thin_out([&](Node& node) {
        nodes_.measure(node.node, asked(node.farthest, kViews - 1));
        if (node.node.bound() > left) return false;
        nodes_.prefetch_turns(node.node);
        return true;
    });
    level.accept();
}

template <bool kIsLarge>
void OptimalWalk<kIsLarge>::finish() {
    const int last = static_cast<int>(levels_.size()) - 1;
    for (int number = 0; number < levels_[last].size(); ++number) {
        std::vector<int> turns(start_->turns);
        turns.resize(turns.size() + last);
        for (int depth = last, at = number; depth > 0; --depth) {
            turns[start_->turns.size() + depth - 1] = levels_[depth][at].turn;
            at = levels_[depth][at].parent;
        }
        finish_(turns);
    }
}

template class OptimalWalk<false>;
template class OptimalWalk<true>;

}  // namespace cubist
