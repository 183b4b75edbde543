// Python bindings of the kernel. Each bind_<subject>.cpp registers those of its subject.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "cube/cubie.hpp"
#include "cube/table_bytes.hpp"

namespace cubist {

// The names that a subject adds to solver._native. A static object in bind_<subject>.cpp registers
// them, so there is no central list. `subject` orders the names in the module.
class Bindings {
public:
    using Add = void (*)(nanobind::module_&);

    Bindings(std::string_view subject, Add add);

    // Adds everything registered, sorted by subject.
    static void add_all(nanobind::module_& module);
};

// Wraps Python's `progress(done) -> bool` for threads that do not hold the GIL.
inline Progress unlocked(const Progress& progress) {
    return [&progress](double done) {
        const nanobind::gil_scoped_acquire locked;
        return progress(done);
    };
}

// NumPy arrays as Python passes them: cubes, tables, costs.

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

// Copies the states. Python has checked that they are legal.
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

// The 2x2x2 as Python passes it: uint8[8, 2] of (cubie, orientation) by slot.

using CornerStates = nanobind::ndarray<const std::uint8_t, nanobind::shape<kCorners, 2>,
                                       nanobind::c_contig, nanobind::device::cpu>;

// The caller has checked that the states are legal. The edges stay solved.
inline CubieCube cube_of(const CornerStates& states) {
    CubieCube cube;
    for (std::size_t slot = 0; slot < kCorners; ++slot) {
        cube.cp[slot] = states(slot, 0);
        cube.co[slot] = states(slot, 1);
    }
    return cube;
}

}  // namespace cubist
