// The 3x3x3 as cubies in slots, in the order and with the orientations of Cubist's states[20, 2].
//
// A slot's name lists its faces: corners counter-clockwise from the U/D face, edges from the face
// of higher rank (U D, then F B, then R L). An orientation is the place in the slot's name where
// the first-named sticker of the cubie lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cubist {

enum Face : std::uint8_t { U, R, F, D, L, B };
constexpr int kFaces = 6;
constexpr int kCorners = 8;
constexpr int kEdges = 12;

// An axis composite turns each of the two faces of an axis by 0..3 clockwise quarters, not both by
// 0.
constexpr int kComposites = 45;
constexpr int kCompositesPerAxis = 15;
constexpr std::array<std::array<Face, 2>, 3> kAxes{{{U, D}, {R, L}, {F, B}}};

struct Composite {
    std::uint8_t axis, first, second;

    static constexpr Composite of(int index) {
        const int rest = index % kCompositesPerAxis + 1;
        return {static_cast<std::uint8_t>(index / kCompositesPerAxis),
                static_cast<std::uint8_t>(rest / 4), static_cast<std::uint8_t>(rest % 4)};
    }
    constexpr int index() const { return axis * kCompositesPerAxis + 4 * first + second - 1; }
    constexpr bool is_nothing() const { return first == 0 && second == 0; }
    // Adds the quarters; both must be on one axis.
    constexpr Composite then(Composite other) const {
        return {axis, static_cast<std::uint8_t>((first + other.first) % 4),
                static_cast<std::uint8_t>((second + other.second) % 4)};
    }
    constexpr Composite inverse() const {
        return {axis, static_cast<std::uint8_t>((4 - first) % 4),
                static_cast<std::uint8_t>((4 - second) % 4)};
    }
};

using Composites = std::vector<std::uint8_t>;

struct CubieCube {
    std::array<std::uint8_t, kCorners> cp{0, 1, 2, 3, 4, 5, 6, 7};
    std::array<std::uint8_t, kCorners> co{};
    std::array<std::uint8_t, kEdges> ep{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    std::array<std::uint8_t, kEdges> eo{};

    bool operator==(const CubieCube&) const = default;

    // Returns this cube after the turns that make `move` from the solved cube.
    CubieCube operator*(const CubieCube& move) const;
    CubieCube inverse() const;
    bool is_solved() const { return *this == CubieCube{}; }
};

// Returns the cube that a composite makes from the solved one.
const CubieCube& composite_cube(int composite);

// The destination of each face under one of the cube's 48 rotations and reflections.
using FaceMap = std::array<Face, kFaces>;

bool is_reflection(const FaceMap& map);
FaceMap inverse(const FaceMap& map);
// First `before`, then `after`.
FaceMap compose(const FaceMap& after, const FaceMap& before);

// Returns the cube as seen through the map: its turns are the mapped turns of `cube`.
CubieCube conjugate(const CubieCube& cube, const FaceMap& map);
int conjugate_composite(int composite, const FaceMap& map);

// The rotation by a third of a turn about the corner UFR. It sends U to R, R to F and F to U.
constexpr FaceMap kDiagonalThird{R, F, U, L, B, D};

// The 18 turns of one face: U U2 U' R R2 R' F F2 F' D D2 D' L L2 L' B B2 B' as 0..17.

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

// Returns whether a turn of `face` may follow one of `last_face`: never the same face twice, and of
// two opposite faces the one with the smaller number first. Every position stays reachable in as
// few turns.
constexpr int kNoFace = -1;
constexpr bool may_follow(int last_face, int face) {
    return last_face == kNoFace || (face != last_face && face + 3 != last_face);
}

// The six directions of a search: along the cube's three axes, each forwards and backwards.

struct Direction {
    int thirds = 0;  // thirds of a turn about the corner UFR
    bool inverse = false;

    CubieCube seen(const CubieCube& cube) const;
    // Converts a solution of the cube as seen to one of the cube itself.
    Composites back(const Composites& solution) const;
};

constexpr int kDirections = 6;
// 1: the cube as it is; 3: along three axes; 6: also backwards.
std::vector<Direction> make_directions(int count);

// Turns many cubes at once, for learning: changes states[n, 20, 2] in place.

constexpr std::size_t kStateBytes = 40;

// Applies one face turn 0..17 (U U2 U' R ... B') to each of `count` cubes.
void turn_batch(std::uint8_t* states, const std::uint8_t* turns, std::size_t count);

// Writes hot[n, 20, 24]: a one at `cubie + 8 * orientation` of corners, `+ 12 *` of edges. Returns
// false at the first number that is too large, with the cubes before it written.
constexpr std::size_t kHotColumns = 24;
bool show_one_hot(const std::uint8_t* states, std::uint8_t* hot, std::size_t count);

}  // namespace cubist
