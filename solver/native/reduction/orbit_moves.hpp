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

// The number of the wing slot on two faces, as in wing_faces().
int wing_number(int first, int second);

// All 48 ways to rename the faces: rotations and reflections of the cube.
std::vector<FaceMap> all_face_maps();

// What a symmetry does to the slots of stickers (centres, middle edges) and to those of wings.
OrbitMove sticker_symmetry(const Geometry& geometry, const FaceMap& map,
                           const std::vector<int>& slots);
OrbitMove wing_symmetry(const FaceMap& map);

template <class Piece>
std::array<Piece, kOrbit> moved(const std::array<Piece, kOrbit>& pieces, const OrbitMove& from) {
    std::array<Piece, kOrbit> after;
    for (int slot = 0; slot < kOrbit; ++slot) after[slot] = pieces[from[slot]];
    return after;
}

template <class Piece, std::size_t Count>
bool is_odd(const std::array<Piece, Count>& pieces) {
    bool odd = false;
    for (std::size_t i = 0; i < Count; ++i)
        for (std::size_t j = i + 1; j < Count; ++j) odd ^= pieces[i] > pieces[j];
    return odd;
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

// Centre slots are numbered four a face. Those at R and L.
constexpr Mask kRightLeft = 0xF0'0F0;

// The slots at U F D B side by side, and back.
constexpr Mask band_of(Mask mask) {
    return (mask & 0xF) | (mask >> 4 & 0xFF0) | (mask >> 8 & 0xF000);
}
constexpr Mask from_band(Mask band) {
    return (band & 0xF) | (band & 0xFF0) << 4 | (band & 0xF000) << 8;
}

// The slots of a face and the opposite one side by side, and back.
constexpr Mask pair_of(Mask mask, int axis) {
    return (mask >> 4 * axis & 0xF) | (mask >> 4 * (axis + 3) & 0xF) << 4;
}
constexpr Mask from_pair(Mask pair, int axis) {
    return (pair & 0xF) << 4 * axis | (pair >> 4) << 4 * (axis + 3);
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
