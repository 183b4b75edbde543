// The six ways to look at a cube: along its three axes, and all of it backwards.
#pragma once

#include <vector>

#include "cube/cubie.hpp"

namespace cubist {

struct Direction {
    int thirds = 0;  // turns about the UFR corner
    bool inverse = false;

    CubieCube seen(const CubieCube& cube) const;
    // A solution of the cube as seen, for the cube itself.
    Composites back(const Composites& solution) const;
};

constexpr int kDirections = 6;
// 1: as it is, 3: along three axes, 6: and backwards.
std::vector<Direction> make_directions(int count);

}  // namespace cubist
