// Python names of control.hpp: stopping a search from outside.
#include "bind/bindings.hpp"
#include "cube/control.hpp"

namespace nb = nanobind;

namespace cubist {

void bind_control(nb::module_& module) {
    nb::class_<CancelFlag>(module, "CancelFlag",
                           "Stops the searches it was given to; may be set from any thread.")
        .def(nb::init<>())
        .def("set", &CancelFlag::set, "Ask the searches to stop; they return their best so far.")
        .def("is_set", &CancelFlag::is_set, "Whether stopping was asked for.");
}

}  // namespace cubist
