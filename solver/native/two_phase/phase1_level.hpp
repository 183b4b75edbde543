// A node of phase 1 with what a search wants to know where phase 1 ends.
#pragma once

#include <cstdint>

#include "two_phase/levels.hpp"
#include "two_phase/phase1_tables.hpp"

namespace cubist {

struct Phase1LevelNode {
    Phase1Node node;
    std::uint8_t distance;          // of the parent, until it is measured
    std::uint8_t generator;         // the last turn, in the cube's numbers
    std::uint8_t state;             // after it
    std::uint16_t parent;           // on the level above
    std::uint16_t corners, middle;  // permutation of the corners, placement of the middle edges
};
using Phase1Level = Level<Phase1LevelNode, kComposites>;

}  // namespace cubist
