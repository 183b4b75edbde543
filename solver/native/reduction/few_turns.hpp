// Cubes a few turns from solved, met in the middle.
#pragma once

#include <optional>

#include "reduction/finish.hpp"
#include "reduction/layered_cube.hpp"

namespace cubist {

// All sequences of so many turns are looked at. Turns of single inner layers count as one here, so
// what is found may have up to twice as many block turns.
constexpr int kFewTurns = 4;

// The fewest block turns of those that solve the cube, however it is held; nothing when it takes
// more than kFewTurns. Up to as many block turns nothing shorter exists.
std::optional<BlockTurns> few_turns(const Geometry& geometry, const Colours& stickers);

}  // namespace cubist
