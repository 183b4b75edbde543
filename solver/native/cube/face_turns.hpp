// The 18 turns of one face: U U2 U' R R2 R' F F2 F' D D2 D' L L2 L' B B2 B' as 0..17.
#pragma once

#include "cube/cubie.hpp"

namespace cubist {

constexpr int kFaceTurns = 18;

constexpr int face_of(int turn) { return turn / 3; }
constexpr int quarters_of(int turn) { return turn % 3 + 1; }
constexpr bool is_half(int turn) { return turn % 3 == 1; }

// Faces across from each other have numbers that differ by 3.
constexpr int composite_of_turn(int turn) {
    const auto axis = static_cast<std::uint8_t>(face_of(turn) % 3);
    const auto quarters = static_cast<std::uint8_t>(quarters_of(turn));
    return face_of(turn) < 3 ? Composite{axis, quarters, 0}.index()
                             : Composite{axis, 0, quarters}.index();
}

inline const CubieCube& face_turn_cube(int turn) { return composite_cube(composite_of_turn(turn)); }

// Whether a sequence may go on with a face: never the same one twice, and of two opposite faces
// the one of the smaller number first. Every position is still reached in as few turns.
constexpr int kNoFace = -1;
constexpr bool may_follow(int last_face, int face) {
    return last_face == kNoFace || (face != last_face && face + 3 != last_face);
}

}  // namespace cubist
