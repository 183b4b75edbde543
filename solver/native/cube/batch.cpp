#include "cube/batch.hpp"

#include <array>

#include "cube/cubie.hpp"

namespace cubist {
namespace {

constexpr int kMoved = 8;  // cubies a turn moves: four corners, then four edges

// The slots that a turn changes, where their cubies come from, and their orientations afterwards.
struct Moved {
    std::array<std::uint8_t, kMoved> to, from, add;
};

Moved moved_by(int turn) {
    const CubieCube& cube = face_turn_cube(turn);
    Moved moved{};
    int k = 0;
    for (std::uint8_t slot = 0; slot < kCorners; ++slot)
        if (cube.cp[slot] != slot) {
            moved.to[k] = slot;
            moved.from[k] = cube.cp[slot];
            moved.add[k++] = cube.co[slot];
        }
    for (std::uint8_t slot = 0; slot < kEdges; ++slot)
        if (cube.ep[slot] != slot) {
            moved.to[k] = kCorners + slot;
            moved.from[k] = kCorners + cube.ep[slot];
            moved.add[k++] = cube.eo[slot];
        }
    return moved;
}

std::array<Moved, kFaceTurns> make_all() {
    std::array<Moved, kFaceTurns> all;
    for (int turn = 0; turn < kFaceTurns; ++turn) all[turn] = moved_by(turn);
    return all;
}

void turn_one(std::uint8_t* state, const Moved& moved) {
    constexpr std::array<std::uint8_t, 5> kModulo3{0, 1, 2, 0, 1};
    std::array<std::uint8_t, 2 * kMoved> before;
    for (int k = 0; k < kMoved; ++k) {
        before[2 * k] = state[2 * moved.from[k]];
        before[2 * k + 1] = state[2 * moved.from[k] + 1];
    }
    for (int k = 0; k < kMoved; ++k) {
        const std::uint8_t turned = before[2 * k + 1] + moved.add[k];
        state[2 * moved.to[k]] = before[2 * k];
        state[2 * moved.to[k] + 1] = k < kMoved / 2 ? kModulo3[turned] : turned & 1;
    }
}

}  // namespace

void turn_batch(std::uint8_t* states, const std::uint8_t* turns, std::size_t count) {
    static const auto all = make_all();
    for (std::size_t cube = 0; cube < count; ++cube)
        turn_one(states + cube * kStateBytes, all[turns[cube]]);
}

}  // namespace cubist
