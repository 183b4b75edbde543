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

}  // namespace cubist
