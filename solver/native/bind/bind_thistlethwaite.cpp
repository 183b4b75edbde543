// Python bindings of thistlethwaite.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/vector.h>

#include "bind/bindings.hpp"
#include "thistlethwaite/thistlethwaite.hpp"

namespace nb = nanobind;

namespace cubist {
namespace {

void make(Thistlethwaite* self, const Progress& progress) {
    const nb::gil_scoped_release released;
    new (self) Thistlethwaite(unlocked(progress));
}

std::array<Turns, kPhases> solve(const Thistlethwaite& solver, const CubeStates& states,
                                 std::size_t width) {
    const CubieCube cube = cube_of(states);
    nb::gil_scoped_release unlocked;
    return solver.solve(cube, width).phases;
}

std::array<int, kPhases> distances(const Thistlethwaite& solver, const CubeStates& states) {
    const CubieCube cube = cube_of(states);
    std::array<int, kPhases> out{};
    for (int phase = 0; phase < kPhases; ++phase) {
        out[phase] = solver.phase(phase).distance(cube);
        if (out[phase] != 0) break;
    }
    return out;
}

void bind_thistlethwaite(nb::module_& module) {
    nb::class_<Thistlethwaite>(module, "Thistlethwaite", "Four phases with an exact table each.")
        .def("__init__", &make, nb::arg("progress"))
        .def("solve", &solve, nb::arg("states"), nb::arg("width"),
             "Face turns 0..17 of each of the four phases.")
        .def("distances", &distances, nb::arg("states"),
             "Turns to the next group, up to the first phase that is not done.")
        .def_prop_ro("bytes", &Thistlethwaite::bytes, "Memory of the four tables.");
}

const Bindings registered("thistlethwaite", &bind_thistlethwaite);

}  // namespace
}  // namespace cubist
