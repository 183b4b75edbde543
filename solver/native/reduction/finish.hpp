// The always-successful reduction: every centre and wing by exchanges of three.
#pragma once

#include <cstdint>
#include <functional>
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

}  // namespace cubist
