// Coordinates of Thistlethwaite's last two phases, for cubes with all cubies oriented.
#pragma once

#include "thistlethwaite/thistlethwaite_phase.hpp"

namespace cubist {

// Corner permutations that differ by half turns made first: 40320 / 96 classes, the solved one 0.
// A class is closed under renaming the cubies by half turns, so turns lead from class to class.
Coordinate corner_orbits();
// Which slots of U and D hold the edges of the slice between L and R: 70 sets.
Coordinate edge_slices();
// In the half-turn group: its 96 permutations of corners.
Coordinate half_turn_corners();
// In the half-turn group: the orders of the edges of each of the three slices.
Coordinate half_turn_edges();

}  // namespace cubist
