// Numbers that describe part of a cube, for the two phases of Kociemba's algorithm.
//
// Phase 1 ends in the group <U, D, R2, L2, F2, B2>: twist, flip and slice are all 0 there.
#pragma once

#include "cube/cubie.hpp"

namespace cubist {

constexpr int kTwists = 2187;
constexpr int kFlips = 2048;
constexpr int kSlices = 495;
constexpr int kFlipSlices = kFlips * kSlices;
constexpr int kCornerPerms = 40320;
// Four edges in order on the twelve slots: 495 sets of slots, 24 orders each.
constexpr int kPlacements = 11880;
constexpr int kOrders = 24;
// In the group of phase 2: the U edges on 70 sets of slots, the orders of the U and of the D edges.
constexpr int kOuterEdges = 40320;

// Edges by home layer.
enum class Layer { kUp, kDown, kMiddle };
// Returns the first of a layer's four edges.
constexpr int first_edge(Layer layer) {
    return layer == Layer::kUp ? 0 : layer == Layer::kDown ? 8 : 4;
}

int twist_of(const CubieCube& cube);
int flip_of(const CubieCube& cube);
int corner_perm_of(const CubieCube& cube);
int placement_of(const CubieCube& cube, Layer layer);
// Returns the set of slots with the middle edges. Ranks count down because the middle slots rank
// last.
inline int slice_of(const CubieCube& cube) {
    return kSlices - 1 - placement_of(cube, Layer::kMiddle) / kOrders;
}
inline int flip_slice_of(const CubieCube& cube) { return slice_of(cube) * kFlips + flip_of(cube); }

// Sets that coordinate of the cube and leaves the others.
void set_twist(CubieCube& cube, int twist);
void set_flip(CubieCube& cube, int flip);
void set_corner_perm(CubieCube& cube, int rank);
// Places the edges of one layer; the remaining slots get the other edges in order.
void set_placement(CubieCube& cube, Layer layer, int placement);
void set_flip_slice(CubieCube& cube, int flip_slice);
// Sets the outer edges and the order of the middle ones, in the group of phase 2.
void set_outer_edges(CubieCube& cube, int outer, int middle_order);

// Combines the placements of the U and the D edges in the group of phase 2.
constexpr int outer_edges(int up, int down) { return up * kOrders + down % kOrders; }

}  // namespace cubist
