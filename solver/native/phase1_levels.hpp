// Branches of phase 1 that are searched together, so that their memory accesses overlap.
//
// Below a node of phase 1 there is seldom more than one way to go, and each step waits for two or
// three cache lines. A level therefore collects the nodes of many branches before any of their
// children are looked at; a level's nodes stay until all that comes after them is done, so that the
// way to a node is known from its parents.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "phase1_tables.hpp"

namespace cubist {

struct LevelNode {
    Phase1Node node;
    std::uint8_t distance;   // of the parent, until it is measured
    std::uint8_t generator;  // the last turn, in the cube's numbers
    std::uint8_t state;      // after it
    std::uint16_t parent;    // on the level above
    std::uint16_t corners, middle;  // permutation of the corners, placement of the middle edges
};

class Level {
public:
    // Nodes that are worth going on with, and what one more parent may add before they are sorted.
    static constexpr int kNodes = 64, kCandidates = 64;
    static constexpr int kRoom = kNodes + kCandidates + kComposites;

    bool is_full() const { return count_ >= kNodes; }
    bool has_candidates() const { return end_ - count_ >= kCandidates; }
    void clear() { count_ = end_ = 0; }
    void add(const LevelNode& candidate) { nodes_[end_++] = candidate; }
    // Keeps the candidates that `keep`, which may complete them, says to keep.
    void sort_out(const auto& keep) {
        for (int k = count_; k < end_; ++k)
            if (keep(nodes_[k])) nodes_[count_++] = nodes_[k];
        end_ = count_;
    }

    int size() const { return count_; }
    int candidates() const { return end_ - count_; }
    const LevelNode& operator[](int number) const { return nodes_[number]; }

private:
    int count_ = 0, end_ = 0;
    std::array<LevelNode, kRoom> nodes_;
};

}  // namespace cubist
