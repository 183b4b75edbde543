// Python names for making and checking tables.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string_view.h>

#include "cube/arrays.hpp"
#include "bind/bindings.hpp"
#include "cube/checksum.hpp"
#include "two_phase/phase1_tables.hpp"
#include "two_phase/phase2_tables.hpp"

namespace nb = nanobind;

namespace cubist {
namespace {

bool make_phase1(std::string_view name, WritableBytes bytes, int threads,
                 const Progress& progress) {
    const Metric& chosen = metric(metric_kind(name));
    const nb::gil_scoped_release released;
    return Phase1Tables::generate(chosen, span_of(bytes), threads, unlocked(progress));
}

bool make_phase2(std::string_view name, WritableBytes bytes, int threads,
                 const Progress& progress) {
    const Metric& chosen = metric(metric_kind(name));
    const nb::gil_scoped_release released;
    return Phase2Tables::generate(chosen, span_of(bytes), threads, unlocked(progress));
}

std::uint64_t checksum_of(const TableBytes& bytes) {
    const auto span = span_of(bytes);
    const nb::gil_scoped_release released;
    return checksum(span);
}

}  // namespace

void bind_tables(nb::module_& module) {
    nb::exception<Stopped>(module, "Stopped");
    module.def("checksum", &checksum_of, nb::arg("data"), "A fast 64-bit checksum.");
    module.def(
        "phase1_size",
        [](std::string_view name) { return Phase1Tables::size(metric(metric_kind(name))); },
        nb::arg("metric"), "Bytes of the phase-1 table.");
    module.def(
        "phase2_size",
        [](std::string_view name) { return Phase2Tables::size(metric(metric_kind(name))); },
        nb::arg("metric"), "Bytes of the phase-2 table.");
    module.def("make_phase1", &make_phase1, nb::arg("metric"), nb::arg("data"), nb::arg("threads"),
               nb::arg("progress"), "Fill a phase-1 table; false when `progress` stopped it.");
    module.def("make_phase2", &make_phase2, nb::arg("metric"), nb::arg("data"), nb::arg("threads"),
               nb::arg("progress"), "Fill a phase-2 table; false when `progress` stopped it.");
}

}  // namespace cubist
