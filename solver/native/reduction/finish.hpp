// The always-successful reduction: every centre and wing by exchanges of three.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "reduction/layered_cube.hpp"

namespace cubist {

using Colours = std::vector<std::uint8_t>;  // of all stickers, 0..5 for the faces U R F D L B

// Whether the corners are an odd exchange, with colours named by the faces they belong on.
bool corners_are_odd(const Geometry& geometry, const Colours& stickers);

// Names the colours by the faces they belong on: of the 24 ways to hold the cube that with the most
// centres in place, on odd cubes that of the middles.
void name_by_faces(const Geometry& geometry, Colours& stickers);

// Turns by what they are for.
struct Finish {
    BlockTurns parity, centres, edges;
};

// Brings the centres of each face to one colour and the wings of each edge together, on a legal
// cube of any size from 4 on. What comes out can be solved as a 3x3x3 without any parity left.
// `progress` hears how much is done, 0..1, and stops the work by
// false, which is then returned. Throws std::invalid_argument for stickers of no cube.
bool finish_reduction(const Geometry& geometry, Colours stickers,
                      const std::function<bool(double)>& progress, Finish& finish);

// Cubes a few turns from solved, met in the middle.

// All sequences of so many turns are looked at. Turns of single inner layers count as one here, so
// what is found may have up to twice as many block turns.
constexpr int kFewTurns = 4;

// The fewest block turns of those that solve the cube, however it is held; nothing when it takes
// more than kFewTurns. Up to as many block turns nothing shorter exists.
std::optional<BlockTurns> few_turns(const Geometry& geometry, const Colours& stickers);

}  // namespace cubist
