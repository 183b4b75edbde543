// Python bindings of optimal_search.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <exception>

#include "bind/bindings.hpp"
#include "optimal/optimal_search.hpp"
#include "robot/fastest_search.hpp"
#include "robot/time_search.hpp"

namespace nb = nanobind;

namespace cubist {
namespace {

bool make(std::string_view metric, OptimalShape shape, WritableBytes bytes, int threads,
          const Progress& progress) {
    const OptimalMetric counted = optimal_metric(metric);
    const nb::gil_scoped_release released;
    return OptimalTable::generate(counted, shape, span_of(bytes), threads, unlocked(progress));
}

using OnProgress = std::function<void(int, std::uint64_t, double)>;

OptimalReport solve(const OptimalTable& table, std::string_view metric, const CubeStates& states,
                    const OptimalOptions& options, const std::optional<OnProgress>& on_progress) {
    const CubieCube cube = cube_of(states);
    const OptimalMetric counted = optimal_metric(metric);
    const nb::gil_scoped_release unlocked;
    return search_optimal(table, counted, cube, options, [&](const OptimalProgress& progress) {
        if (!on_progress) return;
        const nb::gil_scoped_acquire locked;
        (*on_progress)(progress.depth, progress.nodes, progress.seconds);
    });
}

OptimalOptions options(int shortest, int longest, double time_limit, int threads,
                       const CancelFlag* cancel) {
    return {shortest, longest, time_limit, threads, cancel};
}

int bound(const OptimalTable& table, std::string_view metric, const CubeStates& states) {
    return optimal_bound(table, optimal_metric(metric), cube_of(states));
}

TimeProof fastest(const OptimalTable& table, const CubeStates& states, const TimeModels& models,
                  const CostModel& costs, const TimeProofOptions& options) {
    const CubieCube cube = cube_of(states);
    const nb::gil_scoped_release unlocked;
    const OptimalNodes nodes(table, OptimalMetric::kHalfTurn);
    return search_fastest(nodes, models.of({}), costs, cube, options);
}

TimeProofOptions proof_options(std::uint32_t below_us, double time_limit, int threads,
                               const CancelFlag* cancel) {
    return {below_us, time_limit, threads, cancel};
}

std::optional<std::vector<int>> solution_of(const TimeProof& report) {
    if (!report.solution) return std::nullopt;
    return std::vector<int>(report.solution->begin(), report.solution->end());
}

void bind_proof(nb::module_& module) {
    nb::class_<TimeProofOptions>(module, "TimeProofOptions", "Limits of a proof.")
        .def(nb::new_(&proof_options), nb::arg("below_us"), nb::arg("time_limit"),
             nb::arg("threads"), nb::arg("cancel").none());
    nb::class_<TimeProof>(module, "TimeProof", "The solution found, and whether it is proven.")
        .def_prop_ro("solution", &solution_of, "Numbers of solver.cost's composites, or None.")
        .def_ro("proven", &TimeProof::proven, "True if none is faster, or as fast as requested.")
        .def_ro("nodes", &TimeProof::nodes, "Positions expanded.");
}

void bind_values(nb::module_& module) {
    nb::class_<OptimalShape>(module, "OptimalShape", "How finely a table distinguishes positions.")
        .def(nb::new_([](int kinds, int far) { return OptimalShape{kinds, far}; }),
             nb::arg("kinds"), nb::arg("far"))
        .def_ro("kinds", &OptimalShape::kinds, "Orders of the middle edges: 1, 2, 6 or 24.");
    nb::class_<OptimalOptions>(module, "OptimalOptions", "Limits of an optimal search.")
        .def(nb::new_(&options), nb::arg("shortest"), nb::arg("longest"), nb::arg("time_limit"),
             nb::arg("threads"), nb::arg("cancel").none());
    nb::class_<OptimalReport>(module, "OptimalReport", "Result of an optimal search.")
        .def_ro("turns", &OptimalReport::turns, "Face turns 0..17, or None.")
        .def_ro("lower_bound", &OptimalReport::lower_bound, "No solution is shorter.")
        .def_ro("nodes", &OptimalReport::nodes, "Positions expanded.");
}

void bind_optimal(nb::module_& module) {
    bind_values(module);
    bind_proof(module);
    module.def("optimal_size", &OptimalTable::size, nb::arg("shape"), "Bytes of a table.");
    module.def("make_optimal", &make, nb::arg("metric"), nb::arg("shape"), nb::arg("data"),
               nb::arg("threads"), nb::arg("progress"),
               "Fill a table; false when `progress` stopped it.");
    nb::class_<OptimalTable>(module, "OptimalTable", "Lower bounds of the optimal search.")
        .def(
            "__init__",
            [](OptimalTable* self, OptimalShape shape, const TableBytes& bytes) {
                new (self) OptimalTable(shape, span_of(bytes));
            },
            nb::arg("shape"), nb::arg("data"), nb::keep_alive<1, 3>())
        .def("solve", &solve, nb::arg("metric"), nb::arg("states"), nb::arg("options"),
             nb::arg("on_progress").none())
        .def("fastest", &fastest, nb::arg("states"), nb::arg("models"), nb::arg("costs"),
             nb::arg("options"), "The fastest solution on a robot; table and models of htm.")
        .def("bound", &bound, nb::arg("metric"), nb::arg("states"),
             "No solution is shorter than this.");
}

const Bindings registered("optimal", &bind_optimal);

}  // namespace
}  // namespace cubist
