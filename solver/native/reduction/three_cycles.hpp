// Commutators that exchange three pieces of one orbit and leave everything else in place.
//
// A slice X and another one seen through a face turn, Y = F S F', share a single piece, so X Y X'
// Y' moves just three: the shared one and those that X and Y move to its place. The orbits of all
// sizes differ only in the distances of their layers from the middle. So one table for each of the
// four kinds is built on the smallest cube that has it, and its layers are then renamed.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reduction/layered_cube.hpp"

namespace cubist {

// The piece in slot 0 of `slots` moves to slot 1, from there to 2, from there to 0.
struct ThreeCycle {
    std::array<std::uint8_t, 3> slots{};
    std::uint8_t cost = 0;  // block turns
    BlockTurns turns;       // on the model
};

enum class OrbitKind { kWing, kDiagonal, kMiddle, kOblique };

// The cheapest known commutator for every triple of slots that has one.
class ThreeCycles {
public:
    static const ThreeCycles& of(OrbitKind kind);

    explicit ThreeCycles(OrbitKind kind);

    std::span<const ThreeCycle> all() const { return cycles_; }
    // Appends the turns of a cycle on a cube of `geometry` for the orbit (row, column) half steps
    // off the middle, both at least 0 (for wings, row is their offset).
    void append(BlockTurns& turns, const ThreeCycle& cycle, const Geometry& geometry, int row,
                int column) const;

private:
    void find_cycles();
    void find_with(const BlockTurns& x, int face, std::span<const int> coordinates);
    void add_conjugates();
    int cost_of(const std::array<std::uint8_t, 3>& slots) const;
    void keep(ThreeCycle cycle);

    Geometry model_;
    int row_, column_;
    std::vector<int> slots_;
    bool is_wing_;
    std::vector<ThreeCycle> cycles_;
    std::vector<int> number_;  // number of the cycle of a triple of slots, or -1
};

}  // namespace cubist
