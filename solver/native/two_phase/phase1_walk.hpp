// Branches of a depth-first search that are searched together, so that their memory accesses
// overlap.
//
// Far down there is seldom more than one way to go on from a node, and each step waits for a few
// cache lines. A level therefore collects nodes of many branches before any of their children are
// looked at; a level's nodes stay until all that comes after them is done, so that the way to a
// node is known from its parents.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "two_phase/phase1_tables.hpp"
#include "two_phase/phase2_tables.hpp"

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

// A node of phase 1 with what a search wants to know where phase 1 ends.

struct Phase1LevelNode {
    Phase1Node node;
    std::uint8_t distance;          // of the parent, until it is measured
    std::uint8_t generator;         // the last turn, in the cube's numbers
    std::uint8_t state;             // after it
    std::uint16_t parent;           // on the level above
    std::uint16_t corners, middle;  // permutation of the corners, placement of the middle edges
};
using Phase1Level = Level<Phase1LevelNode, kComposites>;

// The nodes next to a node of phase 1, asked for in memory before they are looked at.

struct Phase1Child {
    Phase1Node node;
    std::uint8_t generator;  // in the parent's frame
};

class Phase1Children {
public:
    // `generators`: bits of those to take, in the parent's frame.
    Phase1Children(const Phase1Tables& tables, Phase1Node parent, std::uint64_t generators) {
        for (; generators != 0; generators &= generators - 1) {
            Phase1Child& child = children_[count_++];
            child.generator = static_cast<std::uint8_t>(std::countr_zero(generators));
            child.node = tables.after(parent, child.generator);
            tables.prefetch_class(child.node);
            tables.prefetch_distance(child.node);
        }
    }

    const Phase1Child* begin() const { return children_.data(); }
    const Phase1Child* end() const { return children_.data() + count_; }
    std::uint64_t size() const { return count_; }

private:
    std::array<Phase1Child, kComposites> children_;
    std::uint64_t count_ = 0;
};

// The turns of phase 1 on one branch of a search, with what phase 2 wants to know of the cube.
//
// Permutations are brought up to date only when an end of phase 1 is looked at, from the depth on
// where the branch differs from the one looked at before.

constexpr int kMaxDepth = 64;

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
    // Makes the path this one, up to wherever it is used.
    void follow(const std::array<std::uint8_t, kMaxDepth>& generators, int length) {
        const auto [own, other] =
            std::mismatch(generators_.begin(), generators_.begin() + length, generators.begin());
        const auto depth = static_cast<int>(own - generators_.begin());
        std::copy_n(other, length - depth, own);
        corners_known_ = std::min(corners_known_, depth);
        edges_known_ = std::min(edges_known_, depth);
    }
    int generator(int depth) const { return generators_[depth]; }

    // At the end of phase 1 after `length` turns.
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
    int corners_known_ = 0, edges_known_ = 0;  // depths up to which permutations are right
    std::array<std::uint8_t, kMaxDepth> generators_{};
    std::array<std::uint16_t, kMaxDepth + 1> corners_, up_, down_, middle_;
};

}  // namespace cubist
