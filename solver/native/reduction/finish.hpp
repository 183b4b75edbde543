// The reduction that always succeeds: it exchanges every centre and wing in cycles of three.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "reduction/layered_cube.hpp"

namespace cubist {

using Colours = std::vector<std::uint8_t>;  // of all stickers, 0..5 for the faces U R F D L B

// Returns whether the corners are an odd permutation, with colours named by the faces they belong
// on.
bool corners_are_odd(const Geometry& geometry, const Colours& stickers);

// Names the colours by the faces they belong on. Of the 24 ways to hold the cube it takes the one
// with the most centres in place; on odd cubes, the one given by the middle centres.
void name_by_faces(const Geometry& geometry, Colours& stickers);

// Turns grouped by their purpose.
struct Finish {
    BlockTurns parity, centres, edges;
};

// Brings the centres of each face to one colour and the wings of each edge together, on a legal
// cube of any size from 4 on. The result can be solved as a 3x3x3 without parity. `progress`
// receives the fraction done (0..1); if it returns false, the work stops and this returns false.
// Throws std::invalid_argument for stickers of no cube.
bool finish_reduction(const Geometry& geometry, Colours stickers,
                      const std::function<bool(double)>& progress, Finish& finish);

// Cubes a few turns from solved, found from both ends.

// Returns the largest number of turns searched exhaustively: fewer for large cubes, which have more
// turns and more stickers. Turns of single inner layers count as one here, so a solution may have
// up to twice as many block turns.
constexpr int few_turns_of(int size) { return size <= 11 ? 4 : 2; }

// Returns the fewest block turns that solve the cube, however it is held, or nothing if that takes
// more than few_turns_of(size). No shorter solution exists up to that number of block turns.
std::optional<BlockTurns> few_turns(const Geometry& geometry, const Colours& stickers);

}  // namespace cubist
