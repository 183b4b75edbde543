// The walk of phase 1 over levels of nodes: nodes, their children, and the ends of phase 1.
//
// `search_level` searches many branches of a depth-first search together, so that their memory
// accesses overlap. Deep in the tree a node seldom has more than one child, and each step waits for
// a few cache lines. A level therefore collects nodes from many branches before the search looks up
// any of their children. A level keeps its nodes until their subtrees are finished, so the path to
// a node follows from its parents.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "two_phase/phase1_tables.hpp"
#include "two_phase/phase2_tables.hpp"
#include "two_phase/two_phase.hpp"

namespace cubist {

constexpr int kMaxDepth = 64;

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

// A node of phase 1 with the data that a search needs at the end of phase 1.

struct Phase1LevelNode {
    Phase1Node node;
    std::uint8_t distance;          // the parent's until is_in_reach() measures it
    std::uint8_t generator;         // the last turn, numbered in the cube's frame
    std::uint8_t state;             // state of the metric after it
    std::uint8_t odd_sides;         // bits of the faces R F L B with an odd number of quarters
    std::uint16_t parent;           // its number on the level above
    std::uint16_t corners, middle;  // permutation of the corners, placement of the middle edges
};
using Phase1Level = Level<Phase1LevelNode, kComposites>;

// Bits of the faces R F L B that are turned by an odd number of quarters.
constexpr std::uint8_t odd_sides_of(std::uint32_t quarters) {
    return static_cast<std::uint8_t>((quarters >> 4 & 1) | (quarters >> 7 & 2) |
                                     (quarters >> 14 & 4) | (quarters >> 17 & 8));
}

// Adds the children of a level's node that may still reach the group of phase 2 in `left` more
// turns. Each has its parent's distance until is_in_reach() measures its own.
template <class AnyLevel>
void add_children(const TwoPhaseTables& tables, const AnyLevel& level, int number, int left,
                  AnyLevel& next) {
    const auto& from = level[number];
    std::uint64_t worthwhile =
        tables.allowed[from.state][from.node.symmetry] & tables.phase1.worthwhile(from.node, left);
    for (; worthwhile != 0; worthwhile &= worthwhile - 1) {
        const int seen = std::countr_zero(worthwhile);
        auto& child = next.candidate();
        child.node = tables.phase1.after(from.node, seen);
        tables.phase1.prefetch_distance(child.node);
        child.distance = from.distance;
        child.generator = static_cast<std::uint8_t>(tables.phase1.unseen(from.node, seen));
        child.state = tables.metric.phase1.state_after[from.state][child.generator];
        child.parent = static_cast<std::uint16_t>(number);
    }
}

// Measures a candidate's distance. Returns true if it can reach the group of phase 2 in `left`
// turns.
inline bool is_in_reach(const Phase1Tables& tables, Phase1LevelNode& node, int left) {
    node.distance = static_cast<std::uint8_t>(tables.distance(node.node, node.distance));
    return node.distance <= left && (node.distance > 0 || left > 2);
}

// Computes the part of the cube's state that an accepted candidate carries along.
inline void carry(const TwoPhaseTables& tables, const Phase1LevelNode& parent,
                  Phase1LevelNode& node) {
    tables.phase1.prefetch_class(node.node);
    node.corners =
        static_cast<std::uint16_t>(tables.phase2.corners_after(parent.corners, node.generator));
    node.middle =
        static_cast<std::uint16_t>(tables.phase2.placement_after(parent.middle, node.generator));
    node.odd_sides = parent.odd_sides ^ odd_sides_of(tables.quarters[node.generator]);
    tables.phase2.prefetch_after(node.corners, node.middle);
}

// One turn before the end of phase 1: finds, for each node of a level, the generators that end it,
// in the node's frame, and prefetches the phase 2 entries of the resulting cubes.
using Phase1Ends = std::array<std::uint64_t, Phase1Level::kRoom>;
template <class AnyLevel>
Phase1Ends ends_of(const TwoPhaseTables& tables, const AnyLevel& level) {
    Phase1Ends ends;
    for (int number = 0; number < level.size(); ++number) {
        const auto& from = level[number];
        ends[number] =
            tables.leaving[from.state][from.node.symmetry] & tables.phase1.worthwhile(from.node, 0);
        if (ends[number] == 0) continue;
        const int generator = tables.phase1.unseen(from.node, std::countr_zero(ends[number]));
        tables.phase2.prefetch_bound(tables.phase2.corners_after(from.corners, generator),
                                     tables.phase2.placement_after(from.middle, generator));
    }
    return ends;
}

// Returns the generators that lead to node `number` of `search.level(depth)`.
template <class Search>
std::array<std::uint8_t, kMaxDepth> way_to(Search& search, int depth, int number) {
    std::array<std::uint8_t, kMaxDepth> way;
    for (int d = depth; d > 0; --d) {
        way[d - 1] = search.level(d)[number].generator;
        number = search.level(d)[number].parent;
    }
    return way;
}

// The turns of phase 1 on one branch of a search, with the permutations that phase 2 needs.
//
// It updates permutations only at an end of phase 1, from the depth at which the branch differs
// from the previous one.

class Phase1Path {
public:
    Phase1Path(const Phase2Tables& tables, const CubieCube& cube) : tables_(&tables) {
        corners_[0] = static_cast<std::uint16_t>(corner_perm_of(cube));
        up_[0] = static_cast<std::uint16_t>(placement_of(cube, Layer::kUp));
        down_[0] = static_cast<std::uint16_t>(placement_of(cube, Layer::kDown));
        middle_[0] = static_cast<std::uint16_t>(placement_of(cube, Layer::kMiddle));
    }

    void push(int depth, int generator) {
        generators_[depth] = static_cast<std::uint8_t>(generator);
        corners_known_ = std::min(corners_known_, depth);
        edges_known_ = std::min(edges_known_, depth);
    }
    // Replaces the first `length` turns of the path.
    void follow(const std::array<std::uint8_t, kMaxDepth>& generators, int length) {
        const auto [own, other] =
            std::mismatch(generators_.begin(), generators_.begin() + length, generators.begin());
        const auto depth = static_cast<int>(own - generators_.begin());
        std::copy_n(other, length - depth, own);
        corners_known_ = std::min(corners_known_, depth);
        edges_known_ = std::min(edges_known_, depth);
    }
    int generator(int depth) const { return generators_[depth]; }

    // Coordinates at the end of phase 1, after `length` turns.
    int corners(int length) {
        carry_corners(length);
        return corners_[length];
    }
    int middle_placement(int length) {
        carry_corners(length);
        return middle_[length];
    }
    int middle(int length) { return middle_placement(length) % kOrders; }
    int outer(int length) {
        carry_edges(length);
        return outer_edges(up_[length], down_[length]);
    }

private:
    void carry_corners(int length) {
        for (int& d = corners_known_; d < length; ++d) {
            corners_[d + 1] =
                static_cast<std::uint16_t>(tables_->corners_after(corners_[d], generators_[d]));
            middle_[d + 1] =
                static_cast<std::uint16_t>(tables_->placement_after(middle_[d], generators_[d]));
        }
    }
    void carry_edges(int length) {
        for (int& d = edges_known_; d < length; ++d) {
            up_[d + 1] =
                static_cast<std::uint16_t>(tables_->placement_after(up_[d], generators_[d]));
            down_[d + 1] =
                static_cast<std::uint16_t>(tables_->placement_after(down_[d], generators_[d]));
        }
    }

    const Phase2Tables* tables_;
    int corners_known_ = 0, edges_known_ = 0;  // depths up to which permutations are current
    std::array<std::uint8_t, kMaxDepth> generators_{};
    std::array<std::uint16_t, kMaxDepth + 1> corners_, up_, down_, middle_;
};

// The remaining turns of the centres, as seen by a walk in one direction. Phase 2 makes only half
// turns of the sides, so phase 1 must end with the right sides turned by an odd number of quarters.
class WalkCentres {
public:
    WalkCentres(const TwoPhaseTables& tables, const CentreGoal& goal, Direction direction)
        : table_(goal.table), quarters_(&tables.quarters) {
        const bool is_axial = tables.metric.kind == MetricKind::kAxial ||
                              tables.metric.kind == MetricKind::kAxialQuarter;
        for (int face = 0; face < kFaces; ++face) {
            int seen = face;
            for (int k = 0; k < direction.thirds; ++k) seen = kDiagonalThird[seen];
            const std::uint32_t turns = goal.turns[face];
            wanted_ |= ((direction.inverse ? 4 - turns : turns) & 3) << (4 * seen);
        }
        odd_sides_ = odd_sides_of(wanted_);
        for (int odd = 0; odd < 16; ++odd)
            turns_for_[odd] = static_cast<std::uint8_t>(
                is_axial ? std::popcount(static_cast<unsigned>((odd | odd >> 2) & 3))
                         : std::popcount(static_cast<unsigned>(odd)));
    }

    // Returns whether phase 1 can turn the wanted sides by an odd number of quarters, in `left`
    // more turns.
    bool are_in_reach(int odd_sides, int left) const {
        return table_ == nullptr || turns_for_[odd_sides ^ odd_sides_] <= left;
    }
    bool are_in_reach_after(int odd_sides, int generator) const {
        return are_in_reach(odd_sides ^ odd_sides_of((*quarters_)[generator]), 0);
    }
    // Returns the centres at the end of phase 1.
    int after(const Phase1Path& path, int length) const {
        if (table_ == nullptr) return 0;
        std::uint32_t left = wanted_;
        for (int d = 0; d < length; ++d)
            left = (left + 0x444444 - (*quarters_)[path.generator(d)]) & 0x333333;
        return static_cast<int>((left & 3) | (left >> 10 & 12) | (left >> 1 & 16) |
                                (left >> 4 & 32) | (left >> 11 & 64) | (left >> 14 & 128));
    }
    // The same after a generator of phase 2.
    int after(int centres, int generator) const {
        return table_ == nullptr ? 0 : table_->after(centres, generator);
    }
    int bound(Phase2Node node, int centres) const {
        return table_ == nullptr ? 0 : table_->bound(node, centres);
    }

private:
    const CentreTable* table_;
    const std::array<std::uint32_t, kComposites>* quarters_;
    std::uint32_t wanted_ = 0;
    std::uint8_t odd_sides_ = 0;
    std::array<std::uint8_t, 16> turns_for_{};
};

}  // namespace cubist
