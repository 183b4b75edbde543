// The 2x2x2 as Python passes it: uint8[8, 2] of (cubie, orientation) by slot.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "cube/cubie.hpp"

namespace cubist {

using CornerStates = nanobind::ndarray<const std::uint8_t, nanobind::shape<kCorners, 2>,
                                       nanobind::c_contig, nanobind::device::cpu>;

// The legality of the states is the caller's care; the edges are left solved.
inline CubieCube cube_of(const CornerStates& states) {
    CubieCube cube;
    for (std::size_t slot = 0; slot < kCorners; ++slot) {
        cube.cp[slot] = states(slot, 0);
        cube.co[slot] = states(slot, 1);
    }
    return cube;
}

}  // namespace cubist
