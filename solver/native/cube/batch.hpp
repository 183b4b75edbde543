// Turning many cubes at once, for learning: states[n, 20, 2] changed in place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cubist {

constexpr std::size_t kStateBytes = 40;

// Applies to each of `count` cubes the face turn 0..17 (U U2 U' R ... B') of its own.
void turn_batch(std::uint8_t* states, const std::uint8_t* turns, std::size_t count);

}  // namespace cubist
