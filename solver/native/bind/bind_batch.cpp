// Python names of batch.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>

#include "cube/arrays.hpp"
#include "two_phase/batch.hpp"
#include "bind/bindings.hpp"
#include "cube/face_turns.hpp"

namespace nb = nanobind;

namespace cubist {
namespace {

using Batch = nb::ndarray<std::uint8_t, nb::shape<-1, 20, 2>, nb::c_contig, nb::device::cpu>;

void turn(const Batch& states, const TableBytes& turns) {
    const auto numbers = span_of(turns);
    if (numbers.size() != states.shape(0)) throw nb::value_error("one turn for each cube is needed");
    if (std::any_of(numbers.begin(), numbers.end(), [](std::uint8_t t) { return t >= kFaceTurns; }))
        throw nb::value_error("turns are numbers from 0 to 17");
    std::uint8_t* const data = states.data();
    const nb::gil_scoped_release released;
    turn_batch(data, numbers.data(), numbers.size());
}

}  // namespace

void bind_batch(nb::module_& module) {
    module.def("turn_batch", &turn, nb::arg("states").noconvert(), nb::arg("turns"),
               "Turn each cube of uint8[n, 20, 2] in place by its own face turn 0..17.");
}

}  // namespace cubist
