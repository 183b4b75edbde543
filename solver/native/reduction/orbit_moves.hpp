// What turns do to one orbit of 24 slots, and to a set of its pieces as a 24-bit mask.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "reduction/layered_cube.hpp"

namespace cubist {

constexpr int kOrbit = 24;

// By slot: the slot from which the piece came.
using OrbitMove = std::array<std::uint8_t, kOrbit>;

OrbitMove orbit_move(const Geometry& geometry, BlockTurn turn, const std::vector<int>& slots);

template <class Piece>
std::array<Piece, kOrbit> moved(const std::array<Piece, kOrbit>& pieces, const OrbitMove& from) {
    std::array<Piece, kOrbit> after;
    for (int slot = 0; slot < kOrbit; ++slot) after[slot] = pieces[from[slot]];
    return after;
}

using Mask = std::uint32_t;

// The slots of pieces that have one of the values.
template <class Piece>
Mask mask_of(const std::array<Piece, kOrbit>& pieces, const auto& is_wanted) {
    Mask mask = 0;
    for (int slot = 0; slot < kOrbit; ++slot)
        if (is_wanted(pieces[slot])) mask |= Mask{1} << slot;
    return mask;
}

// A move of masks, eight slots at a time.
class MaskMove {
public:
    explicit MaskMove(const OrbitMove& from);

    Mask operator()(Mask mask) const {
        return parts_[0][mask & 255] | parts_[1][mask >> 8 & 255] | parts_[2][mask >> 16];
    }

private:
    std::array<std::array<Mask, 256>, 3> parts_{};
};

// Numbers the subsets of `count` out of `slots` (at most 24) without gaps.
class SubsetRank {
public:
    SubsetRank(int slots, int count);

    int size() const { return size_; }
    int operator()(Mask mask) const {
        return high_[mask >> kHalf] + low_[mask & ((1 << kHalf) - 1)];
    }
    // All subsets in the order of their numbers.
    std::vector<Mask> all() const;

private:
    static constexpr int kHalf = 12;

    int slots_, count_, size_ = 0;
    std::vector<std::int32_t> high_, low_;
};

}  // namespace cubist
