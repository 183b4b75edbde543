// NumPy arrays as Python passes them: cubes, tables, costs.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>

#include "cube/cubie.hpp"

namespace cubist {

using CubeStates = nanobind::ndarray<const std::uint8_t, nanobind::shape<kCorners + kEdges, 2>,
                                     nanobind::c_contig, nanobind::device::cpu>;
using TableBytes = nanobind::ndarray<const std::uint8_t, nanobind::ndim<1>, nanobind::c_contig,
                                     nanobind::device::cpu>;
using WritableBytes =
    nanobind::ndarray<std::uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Microseconds =
    nanobind::ndarray<const std::uint32_t, nanobind::c_contig, nanobind::device::cpu>;

template <class Array>
auto span_of(const Array& array) {
    return std::span(array.data(), array.size());
}

// Legality is Python's business; this only copies.
inline CubieCube cube_of(const CubeStates& states) {
    const std::uint8_t* row = states.data();
    CubieCube cube;
    for (int slot = 0; slot < kCorners; ++slot, row += 2) {
        cube.cp[slot] = row[0];
        cube.co[slot] = row[1];
    }
    for (int slot = 0; slot < kEdges; ++slot, row += 2) {
        cube.ep[slot] = row[0];
        cube.eo[slot] = row[1];
    }
    return cube;
}

}  // namespace cubist
