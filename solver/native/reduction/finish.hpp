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
// cube of at least 4 layers. The result can be solved as a 3x3x3 without parity. `progress`
// receives the fraction done (0..1); if it returns false, the work stops and this returns false.
// Throws std::invalid_argument if the stickers belong to no cube.
bool finish_reduction(const Geometry& geometry, Colours stickers,
                      const std::function<bool(double)>& progress, Finish& finish);

// Solutions of a cube a few turns from solved.
struct FewTurns {
    std::vector<BlockTurns> ways;  // never empty
    int least;                     // no solution has fewer block turns
};

// Returns solutions of a cube that is a few turns from solved, however it is held, or nothing. It
// finds a shortest one of up to twelve block turns, but gives up if that takes too long. Others
// follow, `most` in all, of up to `longer` turns more, because one of them may be faster on a
// robot. On cubes of up to 11 layers it also finds any solution of four turns, counting a turn of a
// single inner layer as one.
std::optional<FewTurns> few_turns(const Geometry& geometry, const Colours& stickers,
                                  std::size_t most, int longer);

}  // namespace cubist
