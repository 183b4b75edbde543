// Branches of a depth-first search that are searched together, so that their memory accesses
// overlap.
//
// Far down there is seldom more than one way to go on from a node, and each step waits for a few
// cache lines. A level therefore collects nodes of many branches before any of their children are
// looked at; a level's nodes stay until all that comes after them is done, so that the way to a
// node is known from its parents.
#pragma once

#include <array>

namespace cubist {

template <class Node, int kMaxChildren>
class Level {
public:
    // Nodes to go on with, and candidates looked up at a time.
    static constexpr int kNodes = 64, kCandidates = 64;
    static constexpr int kRoom = kNodes + kCandidates + kMaxChildren;

    bool is_full() const { return count_ >= kNodes; }
    bool has_enough_candidates() const { return end_ - count_ >= kCandidates; }
    void clear() { count_ = end_ = 0; }
    // A new candidate, to be filled in.
    Node& candidate() { return nodes_[end_++]; }
    // Drops the candidates that `keep`, which may fill them in, does not want.
    void thin_out(const auto& keep) {
        int kept = count_;
        for (int k = count_; k < end_; ++k)
            if (keep(nodes_[k])) nodes_[kept++] = nodes_[k];
        end_ = kept;
    }
    // What is left of the candidates becomes nodes.
    void accept() { count_ = end_; }

    int size() const { return count_; }
    int candidates() const { return end_ - count_; }
    const Node& operator[](int number) const { return nodes_[number]; }

private:
    int count_ = 0, end_ = 0;
    std::array<Node, kRoom> nodes_;
};

// All that comes after a level's nodes when phase 1 has so many turns; false when the search is to
// stop. `Search` has level(depth), and of a level at a depth: add_children(depth, number) of one of
// its nodes, sort_out(depth) of its candidates, finish(depth) with one turn left; is_of_use() says
// whether a phase 1 of this length still is, must_stop() whether time is up.
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
