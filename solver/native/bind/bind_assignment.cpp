// Python names of assignment.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "cube/arrays.hpp"
#include "decode/assignment.hpp"
#include "bind/bindings.hpp"

namespace nb = nanobind;

namespace cubist {

void bind_assignment(nb::module_& module) {
    using Costs = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    module.def(
        "cheapest_assignment",
        [](const Costs& costs) {
            return cheapest_assignment(span_of(costs), static_cast<int>(costs.shape(0)),
                                       static_cast<int>(costs.shape(1)));
        },
        nb::arg("costs"), "The column of each row of float64[rows, columns], rows <= columns.");
}

}  // namespace cubist
