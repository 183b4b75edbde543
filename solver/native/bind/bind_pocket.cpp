// Python bindings of pocket.hpp, pocket_robot.hpp and pocket_steps.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bind/bindings.hpp"
#include "pocket/pocket.hpp"
#include "pocket/pocket_robot.hpp"
#include "pocket/pocket_steps.hpp"

namespace nb = nanobind;

namespace cubist {
namespace {

template <PocketResult (*Search)(PocketPosition, PocketMetric)>
PocketResult searched(const CornerStates& states, std::string_view metric) {
    const PocketPosition from = pocket_position(cube_of(states));
    const PocketMetric counted = pocket_metric(metric);
    nb::gil_scoped_release unlocked;
    return Search(from, counted);
}

std::vector<int> solve(const PocketTable& table, const CornerStates& states) {
    return table.solve(pocket_position(cube_of(states)));
}

int distance(const PocketTable& table, const CornerStates& states) {
    return table.distance(pocket_position(cube_of(states)));
}

void make_table(PocketTable* self, std::string_view metric, const Progress& progress) {
    const PocketMetric counted = pocket_metric(metric);
    nb::gil_scoped_release released;
    new (self) PocketTable(counted, unlocked(progress));
}

PocketCosts costs_of(const Microseconds& next, const Microseconds& final) {
    return {static_cast<int>(final.size()) / kPocketAxes, span_of(next), span_of(final)};
}

void make_robot(PocketRobot* self, const Microseconds& next, const Microseconds& final,
                std::size_t table_bytes, const Progress& progress) {
    const PocketCosts costs = costs_of(next, final);
    nb::gil_scoped_release released;
    new (self) PocketRobot(costs, table_bytes, unlocked(progress));
}

bool make_steps(const Microseconds& next, const Microseconds& final, WritableBytes data,
                int threads, const Progress& progress) {
    const PocketCosts costs = costs_of(next, final);
    const nb::gil_scoped_release released;
    return PocketSteps::generate(costs, span_of(data), threads, unlocked(progress));
}

void use_steps(PocketSteps* self, const Microseconds& next, const Microseconds& final,
               const TableBytes& data) {
    new (self) PocketSteps(costs_of(next, final), span_of(data));
}

FastestResult follow_steps(const PocketSteps& steps, const CornerStates& states,
                           const Microseconds& first) {
    return steps.solve(pocket_position(cube_of(states)), span_of(first));
}

std::optional<std::uint32_t> time_left(const PocketSteps& steps, const CornerStates& states,
                                       int axis, int state) {
    const std::uint32_t left = steps.left(pocket_position(cube_of(states)), axis, state);
    if (left == kNever) return std::nullopt;
    return left;
}

FastestResult solve_fastest(const PocketRobot& robot, const CornerStates& states,
                            const Microseconds& first, double time_limit,
                            const CancelFlag* cancel) {
    const PocketPosition from = pocket_position(cube_of(states));
    const auto begun = span_of(first);
    nb::gil_scoped_release unlocked;
    return robot.solve(from, begun, Deadline(time_limit, {cancel}));
}

void bind_robot(nb::module_& module) {
    nb::class_<FastestResult>(module, "FastestResult", "The fastest solution found for a robot.")
        .def_ro("turns", &FastestResult::turns, "U U2 U' R R2 R' F F2 F' as 0..8.")
        .def_prop_ro(
            "cost",
            [](const FastestResult& result) -> std::optional<std::uint32_t> {
                if (result.cost == kNever) return std::nullopt;
                return result.cost;
            },
            "Microseconds; None if no solution was found.")
        .def_ro("proven", &FastestResult::proven, "True if no solution is faster.")
        .def_ro("nodes", &FastestResult::nodes);
    nb::class_<PocketRobot>(module, "PocketRobot", "A mechanism that solves the 2x2x2 fastest.")
        .def("__init__", &make_robot, nb::arg("following"), nb::arg("final"),
             nb::arg("table_bytes"), nb::arg("progress"))
        .def("solve", &solve_fastest, nb::arg("states"), nb::arg("first"), nb::arg("time_limit"),
             nb::arg("cancel").none())
        .def_prop_ro("bytes", &PocketRobot::bytes)
        .def_prop_ro("radius", &PocketRobot::radius,
                     "Microseconds up to which times are known without search.");
}

void bind_steps(nb::module_& module) {
    module.def("pocket_steps_size", &PocketSteps::size, nb::arg("states"),
               "Bytes of the table for that many mechanism states; 0: too many.");
    module.def("make_pocket_steps", &make_steps, nb::arg("following"), nb::arg("final"),
               nb::arg("data"), nb::arg("threads"), nb::arg("progress"),
               "Fill a table of steps; false when `progress` stopped it.");
    nb::class_<PocketSteps>(module, "PocketSteps",
                            "The fastest next step from every 2x2x2 and mechanism state.")
        .def("__init__", &use_steps, nb::arg("following"), nb::arg("final"), nb::arg("data"),
             nb::keep_alive<1, 4>())
        .def("solve", &follow_steps, nb::arg("states"), nb::arg("first"))
        .def("left", &time_left, nb::arg("states"), nb::arg("axis"), nb::arg("state"),
             "Microseconds left after a turn of `axis` that ends in `state`; None: forever.")
        .def_prop_ro("bytes", &PocketSteps::bytes);
}

void bind_pocket(nb::module_& module) {
    nb::class_<PocketResult>(module, "PocketResult", "Result of a textbook search of the 2x2x2.")
        .def_ro("turns", &PocketResult::turns, "U U2 U' R R2 R' F F2 F' as 0..8.")
        .def_ro("nodes", &PocketResult::nodes, "Positions expanded.")
        .def_ro("bytes", &PocketResult::bytes, "Memory of tables, queue and marks.");
    module.def("pocket_bfs", &searched<pocket_bfs>, nb::arg("states"), nb::arg("metric"));
    module.def("pocket_bfs_pruned", &searched<pocket_bfs_pruned>, nb::arg("states"),
               nb::arg("metric"));
    module.def("pocket_ida_star", &searched<pocket_ida_star>, nb::arg("states"), nb::arg("metric"));
    nb::class_<PocketTable>(module, "PocketTable",
                            "Distances of all 3674160 positions of the 2x2x2 in htm or qtm.")
        .def("__init__", &make_table, nb::arg("metric"), nb::arg("progress"))
        .def("solve", &solve, nb::arg("states"), "A shortest sequence of turns 0..8.")
        .def("distance", &distance, nb::arg("states"))
        .def("counts", &PocketTable::counts, "Number of positions at each distance.")
        .def_prop_ro("bytes", &PocketTable::bytes);
    bind_robot(module);
    bind_steps(module);
}

const Bindings registered("pocket", &bind_pocket);

}  // namespace
}  // namespace cubist
