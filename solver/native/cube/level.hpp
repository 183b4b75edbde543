// Searches many branches of a depth-first search together, so that their memory accesses overlap.
//
// Deep in the tree a node seldom has more than one child, and each step waits for a few cache
// lines. A level therefore collects nodes from many branches before the search looks up any of
// their children. A level keeps its nodes until their subtrees are finished, so the path to a node
// follows from its parents.
#pragma once

#include <array>

namespace cubist {

template <class Node, int kMaxChildren>
class Level {
public:
    // Nodes to expand, and candidates looked up at a time.
    static constexpr int kNodes = 64, kCandidates = 64;
    static constexpr int kRoom = kNodes + kCandidates + kMaxChildren;

    bool is_full() const { return count_ >= kNodes; }
    bool has_enough_candidates() const { return end_ - count_ >= kCandidates; }
    void clear() { count_ = end_ = 0; }
    // Adds a candidate for the caller to fill in.
    Node& candidate() { return nodes_[end_++]; }
    // Drops the candidates that `keep` rejects. `keep` may fill them in.
    void thin_out(const auto& keep) {
        int kept = count_;
        for (int k = count_; k < end_; ++k)
            if (keep(nodes_[k])) nodes_[kept++] = nodes_[k];
        end_ = kept;
    }
    // Turns the remaining candidates into nodes.
    void accept() { count_ = end_; }

    int size() const { return count_; }
    int candidates() const { return end_ - count_; }
    const Node& operator[](int number) const { return nodes_[number]; }

private:
    int count_ = 0, end_ = 0;
    std::array<Node, kRoom> nodes_;
};

// Searches everything below a level's nodes, with phase 1 of the given length. Returns false if the
// search must stop. `Search` provides level(depth), add_children(depth, number) for one node of a
// level, sort_out(depth) for its candidates, finish(depth) one turn before the end, is_of_use()
// (whether this length of phase 1 can still improve the result) and must_stop() (whether time is
// up).
template <class Search>
bool search_level(Search& search, int depth, int length) {
    if (!search.is_of_use()) return true;
    if (depth + 1 == length) return search.finish(depth);
    auto& next = search.level(depth + 1);
    next.clear();
    const int size = search.level(depth).size();
    for (int number = 0; number < size; ++number) {
        search.add_children(depth, number);
        const bool is_last = number + 1 == size;
        if (!is_last && !next.has_enough_candidates()) continue;
        search.sort_out(depth + 1);
        if (search.must_stop()) return false;
        if (!is_last && !next.is_full()) continue;
        if (next.size() > 0 && !search_level(search, depth + 1, length)) return false;
        next.clear();
    }
    return true;
}

}  // namespace cubist
