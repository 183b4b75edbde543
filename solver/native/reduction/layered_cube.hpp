// Cubes of any size as stickers, turned a block of layers at a time.
//
// A sticker's place is an integer vector as in solver.cube.facelets: N along the normal of its face
// and odd or even steps of 2 across it. A layer is named by its coordinate along the axis, which is
// N - 1 at the outside and 0 in the middle of an odd cube.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "cube/cubie.hpp"

namespace cubist {

using Place = std::array<int, 3>;

Place normal_of(int face);
Place cross(const Place& a, const Place& b);
constexpr int opposite(int face) { return (face + 3) % kFaces; }

// Layers `first`..`last` counted from `face`, 1 outermost, turned clockwise.
struct BlockTurn {
    std::uint8_t face, first, last, quarters;

    bool operator==(const BlockTurn&) const = default;
    int axis() const { return face % 3; }
    BlockTurn inverse() const {
        return {face, first, last, static_cast<std::uint8_t>(4 - quarters)};
    }
};

using BlockTurns = std::vector<BlockTurn>;

void append_inverse(BlockTurns& turns, std::span<const BlockTurn> undone);

// Returns an equivalent sequence of few block turns. It adds up successive turns on one axis layer
// by layer; each border between layers that turn differently costs one outer block. If no layer
// stays at rest, a rotation of the whole cube follows.
BlockTurns joined(std::span<const BlockTurn> turns, int size);

// Counts block turns: 1 for one to N - 1 layers from the outside, 2 for an inner block, 0 for all
// layers.
int block_turn_count(std::span<const BlockTurn> turns, int size);

// The geometry of a size, shared by all cubes of that size.
class Geometry {
public:
    static constexpr int kLargest = 100;

    explicit Geometry(int size);

    int size() const { return size_; }
    int stickers() const { return kFaces * size_ * size_; }
    Place place(int sticker) const;
    int sticker_at(const Place& place) const;
    // Returns the coordinate of layer `number`, counted from 1 at the face.
    int coordinate(int number) const { return size_ + 1 - 2 * number; }
    int layer_number(int coordinate) const { return (size_ + 1 - coordinate) / 2; }

    template <class Sticker>
    void turn(BlockTurn turn, std::vector<Sticker>& stickers) const;
    template <class Sticker>
    void turn(std::span<const BlockTurn> turns, std::vector<Sticker>& stickers) const {
        for (const BlockTurn one : turns) turn(one, stickers);
    }

    // The wing slots `offset` half steps from the middle of their edges, each by the sticker on the
    // first of its two faces, in the order of wing_faces(). Rotations keep first and second apart.
    std::vector<int> wing_slots(int offset) const;
    // The same wings by the sticker on the second face.
    std::vector<int> wing_seconds(int offset) const;
    // The 24 centre stickers that quarter turns bring to (row, column) half steps off a centre.
    std::vector<int> centre_slots(int row, int column) const;

private:
    // Four stickers, each of which goes to the next in a quarter turn about U, R or F.
    using Cycle = std::array<std::uint16_t, 4>;

    int wing_sticker(int offset, int first, int second) const;

    int size_;
    std::vector<std::vector<Cycle>> cycles_;  // axis after axis, layers from U, R, F
};

// The 24 ordered pairs of neighbouring faces.
const std::array<std::array<int, 2>, 24>& wing_faces();

template <class Sticker>
void Geometry::turn(BlockTurn turn, std::vector<Sticker>& stickers) const {
    const bool is_near = turn.face < 3;
    const int first = is_near ? turn.first - 1 : size_ - turn.last;
    const int last = is_near ? turn.last - 1 : size_ - turn.first;
    const int quarters = is_near ? turn.quarters : 4 - turn.quarters;
    for (int layer = first; layer <= last; ++layer)
        for (const auto& [a, b, c, d] : cycles_[turn.axis() * size_ + layer]) {
            const Sticker at_a = stickers[a], at_b = stickers[b];
            if (quarters == 1) {
                stickers[a] = stickers[d];
                stickers[d] = stickers[c];
                stickers[c] = at_b;
                stickers[b] = at_a;
            } else if (quarters == 3) {
                stickers[a] = at_b;
                stickers[b] = stickers[c];
                stickers[c] = stickers[d];
                stickers[d] = at_a;
            } else {
                stickers[a] = stickers[c];
                stickers[c] = at_a;
                stickers[b] = stickers[d];
                stickers[d] = at_b;
            }
        }
}

// The effect of turns on one orbit of 24 slots, and on a set of its pieces as a 24-bit mask.

constexpr int kOrbit = 24;

// By slot: the slot that the piece came from.
using OrbitMove = std::array<std::uint8_t, kOrbit>;

OrbitMove orbit_move(const Geometry& geometry, BlockTurn turn, const std::vector<int>& slots);

// Returns the number of the wing slot on two faces, as in wing_faces(). Throws
// std::invalid_argument if no wing lies on both.
int wing_number(int first, int second);

// All 48 ways to rename the faces: rotations and reflections of the cube.
std::vector<FaceMap> all_face_maps();

// The effect of a symmetry on the slots of stickers (centres, middle edges) and on those of wings.
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

// Returns the slots of the pieces that have one of the values.
template <class Piece>
Mask mask_of(const std::array<Piece, kOrbit>& pieces, const auto& is_wanted) {
    Mask mask = 0;
    for (int slot = 0; slot < kOrbit; ++slot)
        if (is_wanted(pieces[slot])) mask |= Mask{1} << slot;
    return mask;
}

// The mask of the centre slots at R and L. Centre slots are numbered four a face.
constexpr Mask kRightLeft = 0xF0'0F0;

// Packs the slots at U F D B side by side, and unpacks them.
constexpr Mask band_of(Mask mask) {
    return (mask & 0xF) | (mask >> 4 & 0xFF0) | (mask >> 8 & 0xF000);
}
constexpr Mask from_band(Mask band) {
    return (band & 0xF) | (band & 0xFF0) << 4 | (band & 0xF000) << 8;
}

// Packs the slots of a face and the opposite one side by side, and unpacks them.
constexpr Mask pair_of(Mask mask, int axis) {
    return (mask >> 4 * axis & 0xF) | (mask >> 4 * (axis + 3) & 0xF) << 4;
}
constexpr Mask from_pair(Mask pair, int axis) {
    return (pair & 0xF) << 4 * axis | (pair >> 4) << 4 * (axis + 3);
}

// A permutation of masks, eight slots at a time.
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
    // All subsets, in the order of their numbers.
    std::vector<Mask> all() const;

private:
    static constexpr int kHalf = 12;

    int slots_, count_, size_ = 0;
    std::vector<std::int32_t> high_, low_;
};

}  // namespace cubist
