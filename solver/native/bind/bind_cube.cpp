// Python bindings: stopping a search, making and checking tables, turning many cubes.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>

#include "bind/bindings.hpp"
#include "cube/control.hpp"
#include "cube/cubie.hpp"
#include "cube/table_bytes.hpp"

namespace nb = nanobind;

namespace cubist {
namespace {

void bind_control(nb::module_& module) {
    nb::class_<CancelFlag>(module, "CancelFlag",
                           "Stops the searches it was given to; may be set from any thread.")
        .def(nb::init<>())
        .def("set", &CancelFlag::set, "Ask the searches to stop; they return their best so far.")
        .def("is_set", &CancelFlag::is_set, "Return whether a stop was requested.");
}

std::uint64_t checksum_of(const TableBytes& bytes) {
    const auto span = span_of(bytes);
    const nb::gil_scoped_release released;
    return checksum(span);
}

void bind_tables(nb::module_& module) {
    nb::exception<Stopped>(module, "Stopped");
    module.def(
        "clock_cuts", [] { return clock_cuts.load(std::memory_order_relaxed); },
        "Number of times only the wall clock ended a search in this process.");
    module.def("checksum", &checksum_of, nb::arg("data"), "A fast 64-bit checksum.");
    module.def(
        "watch_table",
        [](std::uintptr_t start, std::size_t size, std::string_view path) {
            watch_table(reinterpret_cast<const void*>(start), size, path);
        },
        nb::arg("start"), nb::arg("size"), nb::arg("path"),
        "Name the file mapped at an address if it becomes unreadable.");
    module.def(
        "unwatch_table",
        [](std::uintptr_t start) { unwatch_table(reinterpret_cast<const void*>(start)); },
        nb::arg("start"), "Forget a mapped file; it is about to be unmapped.");
    module.def("set_lost_table_signal", &set_lost_table_signal, nb::arg("number"),
               "Set the signal that a process sends itself when it has lost a table; 0: it ends.");
    module.def("has_lost_table", &has_lost_table, "True if a table was lost: no search is valid.");
}

using Batch = nb::ndarray<std::uint8_t, nb::shape<-1, 20, 2>, nb::c_contig, nb::device::cpu>;

void turn(const Batch& states, const TableBytes& turns) {
    const auto numbers = span_of(turns);
    if (numbers.size() != states.shape(0))
        throw nb::value_error("one turn for each cube is needed");
    if (std::any_of(numbers.begin(), numbers.end(), [](std::uint8_t t) { return t >= kFaceTurns; }))
        throw nb::value_error("turns are numbers from 0 to 17");
    std::uint8_t* const data = states.data();
    const nb::gil_scoped_release released;
    turn_batch(data, numbers.data(), numbers.size());
}

using HotBatch = nb::ndarray<std::uint8_t, nb::shape<-1, 20, 24>, nb::c_contig, nb::device::cpu>;
using ReadableBatch =
    nb::ndarray<const std::uint8_t, nb::shape<-1, 20, 2>, nb::c_contig, nb::device::cpu>;

void show(const ReadableBatch& states, const HotBatch& hot) {
    if (hot.shape(0) != states.shape(0)) throw nb::value_error("one row for each cube is needed");
    const std::uint8_t* const data = states.data();
    std::uint8_t* const rows = hot.data();
    const std::size_t count = states.shape(0);
    bool is_good;
    {
        const nb::gil_scoped_release released;
        is_good = show_one_hot(data, rows, count);
    }
    if (!is_good) throw nb::value_error("there is no such cubie or orientation");
}

void bind_batch(nb::module_& module) {
    module.def("one_hot", &show, nb::arg("states"), nb::arg("hot").noconvert(),
               "Write uint8[n, 20, 24]: a one for the cubie and orientation of every slot.");
    module.def("turn_batch", &turn, nb::arg("states").noconvert(), nb::arg("turns"),
               "Turn each cube of uint8[n, 20, 2] in place by its own face turn 0..17.");
}

const Bindings registered("cube", [](nb::module_& module) {
    bind_control(module);
    bind_tables(module);
    bind_batch(module);
});

}  // namespace
}  // namespace cubist
