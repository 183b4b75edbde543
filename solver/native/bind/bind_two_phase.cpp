// Python bindings of two_phase.hpp, cost_model.hpp and partial_search.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind/bindings.hpp"
#include "cube/collector.hpp"
#include "partial/partial_search.hpp"
#include "robot/time_search.hpp"
#include "two_phase/two_phase.hpp"

namespace nb = nanobind;

namespace cubist {
namespace {

using OnBetter = std::function<void(const Found&)>;

struct Result {
    std::vector<Found> solutions;
    TwoPhaseReport report;
};

TwoPhaseTables make_tables(std::string_view name, const TableBytes& phase1,
                           const TableBytes& phase2) {
    const Metric& chosen = metric(metric_kind(name));
    return {chosen, Phase1Tables(chosen, span_of(phase1)), Phase2Tables(chosen, span_of(phase2))};
}

// Returns the exact distance to the group of phase 2, in the metric.
int phase1_distance(const TwoPhaseTables& tables, const CubeStates& states) {
    return tables.phase1.distance(tables.phase1.node_of(cube_of(states)));
}

// Returns a lower bound on the remaining moves of a cube in the group of phase 2.
int phase2_bound(const TwoPhaseTables& tables, const CubeStates& states) {
    return tables.phase2.bound(phase2_node_of(cube_of(states)));
}

OnBetter with_interpreter(const std::optional<OnBetter>& on_better) {
    if (!on_better) return {};
    return [&on_better](const Found& found) {
        const nb::gil_scoped_acquire locked;
        (*on_better)(found);
    };
}

Result solve(const TwoPhaseTables& tables, const CubeStates& states, double time_limit, int threads,
             int directions, int solutions, int target, const CostModel* model,
             const TimeModels* models, const CancelFlag* cancel,
             const std::optional<OnBetter>& on_better, std::uint32_t below,
             const CentreTable* centre_table,
             const std::optional<std::array<std::uint8_t, kFaces>>& centres) {
    const CubieCube cube = cube_of(states);
    const nb::gil_scoped_release released;
    Collector collector({.solutions = solutions,
                         .target = target,
                         .model = model,
                         .on_better = with_interpreter(on_better)});
    const TwoPhaseOptions options{
        .directions = directions,
        .time_limit = time_limit,
        .threads = threads,
        .cancels = {cancel},
        .centres = {.table = centres ? centre_table : nullptr,
                    .turns = centres.value_or(std::array<std::uint8_t, kFaces>{})}};
    const TwoPhaseReport report =
        models ? search_time(tables, *models, cube, options, collector, below)
               : search_two_phase(tables, cube, options, collector);
    collector.rethrow();
    return {collector.found(), report};
}

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

void bind_tables(nb::module_& module) {
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

std::string_view words_of(Exhausted exhausted) {
    switch (exhausted) {
        case Exhausted::kProven: return "proven";
        case Exhausted::kUnderCutOffs: return "under cut-offs";
        default: return "";
    }
}

void bind_results(nb::module_& module) {
    nb::class_<Found>(module, "Found", "A solution and its cost.")
        .def_prop_ro(
            "composites",
            [](const Found& f) {
                return std::vector<int>(f.composites.begin(), f.composites.end());
            },
            "Numbers of solver.cost's axis composites.")
        .def_ro("length", &Found::length, "In the search's metric.")
        .def_ro("cost", &Found::cost, "Microseconds, or the length without a cost model.");
    nb::class_<Result>(module, "TwoPhaseResult", "The solutions a search found, best first.")
        .def_ro("solutions", &Result::solutions)
        .def_prop_ro(
            "nodes", [](const Result& r) { return r.report.nodes; }, "Nodes examined.")
        .def_prop_ro(
            "probes", [](const Result& r) { return r.report.probes; }, "Ends of phase 1.")
        .def_prop_ro("lower_bound", [](const Result& r) { return r.report.lower_bound; })
        .def_prop_ro(
            "exhausted", [](const Result& r) { return words_of(r.report.exhausted); },
            "`proven`: nothing better exists; `under cut-offs`: everything was examined "
            "except what the limits on phase 2 leave out; otherwise empty.")
        .def_prop_ro("cpu_s",
                     [](const Result& r) { return static_cast<double>(r.report.cpu_ns) * 1e-9; });
}

void bind_costs(nb::module_& module) {
    nb::class_<TurnCosts>(module, "TurnCosts", "solver.cost.TurnCosts for the kernel.")
        .def(
            "__init__",
            [](TurnCosts* self, const Microseconds& next, const Microseconds& final) {
                new (self) TurnCosts(span_of(next), span_of(final));
            },
            nb::arg("following"), nb::arg("final"));
    nb::class_<CostModel>(module, "CostModel", "solver.cost.CostModel for the kernel.")
        .def(
            "__init__",
            [](CostModel* self, const TurnCosts& turns, const Microseconds& first) {
                new (self) CostModel(turns, span_of(first));
            },
            nb::arg("turns"), nb::arg("first"), nb::keep_alive<1, 2>())
        .def(
            "cost",
            [](const CostModel& model, const std::vector<int>& composites) {
                return model.cost(Composites(composites.begin(), composites.end()));
            },
            nb::arg("composites"), "Microseconds of the cheapest way to perform the composites.");
    nb::class_<RobotTimes>(module, "RobotTimes",
                           "Costs of turns, prepared for searches that minimize time.")
        .def(
            "__init__",
            [](RobotTimes* self, const TurnCosts& costs, std::string_view name) {
                new (self) RobotTimes(costs, metric(metric_kind(name)));
            },
            nb::arg("costs"), nb::arg("metric"), nb::keep_alive<1, 2>())
        .def("least_us", &RobotTimes::least_us, nb::arg("length"),
             "Lower bound (us) for turns of that length in the metric.");
    nb::class_<TimeModels>(module, "TimeModels", "The same from one start.")
        .def(nb::init<const RobotTimes&, const CostModel&>(), nb::arg("robot"), nb::arg("model"),
             nb::keep_alive<1, 2>())
        .def("least_us", &TimeModels::least_us, nb::arg("length"),
             "Lower bound (us) for solutions of that length in the metric.");
}

void bind_two_phase(nb::module_& module) {
    bind_tables(module);
    bind_costs(module);
    bind_results(module);
    nb::class_<TwoPhaseTables>(module, "TwoPhase", "The two-phase search in one metric.")
        .def(
            "__init__",
            [](TwoPhaseTables* self, std::string_view name, const TableBytes& phase1,
               const TableBytes& phase2) {
                new (self) TwoPhaseTables(make_tables(name, phase1, phase2));
            },
            nb::arg("metric"), nb::arg("phase1"), nb::arg("phase2"), nb::keep_alive<1, 3>(),
            nb::keep_alive<1, 4>())
        .def("phase1_distance", &phase1_distance, nb::arg("states"))
        .def("phase2_bound", &phase2_bound, nb::arg("states"))
        .def("solve", &solve, nb::arg("states"), nb::kw_only(), nb::arg("time_limit"),
             nb::arg("threads"), nb::arg("directions"), nb::arg("solutions"), nb::arg("target"),
             nb::arg("model").none(), nb::arg("models").none(), nb::arg("cancel").none(),
             nb::arg("on_better").none(), nb::arg("below") = UINT32_MAX,
             nb::arg("centre_table").none() = nb::none(), nb::arg("centres").none() = nb::none());
    module.attr("CENTRE_TABLE_BYTES") = CentreTable::kBytes;
    nb::class_<CentreTable>(module, "CentreTable",
                            "Distances of corners and centres in phase 2 in one metric.")
        .def(
            "__init__",
            [](CentreTable* self, std::string_view name, const TableBytes& bytes) {
                new (self) CentreTable(metric(metric_kind(name)), span_of(bytes));
            },
            nb::arg("metric"), nb::arg("bytes"), nb::keep_alive<1, 3>())
        .def_static(
            "make",
            [](const TwoPhaseTables& tables, WritableBytes bytes, const Progress& progress) {
                const nb::gil_scoped_release released;
                return CentreTable::generate(tables.metric, tables.phase2, span_of(bytes),
                                             unlocked(progress));
            },
            nb::arg("two_phase"), nb::arg("bytes"), nb::arg("progress"),
            "Fill a table; false when `progress` stopped it.");
}

struct PartialResult {
    std::vector<Found> solutions;
    PartialReport report;
};

PartialResult search_partial(const PartialGoal& goal, const CubeStates& states, int length,
                             double time_limit, int solutions, const CostModel* model,
                             const CancelFlag* cancel) {
    const CubieCube cube = cube_of(states);
    const nb::gil_scoped_release released;
    Collector collector({.solutions = solutions, .target = -1, .model = model, .on_better = {}});
    const PartialReport report =
        goal.search(cube, length, Deadline(time_limit, {cancel}), collector);
    return {collector.found(), report};
}

void bind_partial(nb::module_& module) {
    nb::class_<PartialResult>(module, "PartialResult", "Solutions of one length, best first.")
        .def_ro("solutions", &PartialResult::solutions)
        .def_prop_ro("nodes", [](const PartialResult& r) { return r.report.nodes; })
        .def_prop_ro(
            "is_complete", [](const PartialResult& r) { return r.report.is_complete; },
            "False if the search was stopped.");
    nb::class_<PartialGoal>(module, "PartialGoal",
                            "A goal that leaves pieces free, prepared for one metric.")
        .def(
            "__init__",
            [](PartialGoal* self, std::string_view name, const AllowedLocations& allowed) {
                const nb::gil_scoped_release released;
                new (self) PartialGoal(metric(metric_kind(name)), allowed);
            },
            nb::arg("metric"), nb::arg("allowed"))
        .def("with_joint", &PartialGoal::with_joint, nb::call_guard<nb::gil_scoped_release>(),
             "The same goal with one more table; None if more would not help.")
        .def(
            "bound",
            [](const PartialGoal& goal, const CubeStates& states) {
                return goal.bound(cube_of(states));
            },
            nb::arg("states"), "No solution is shorter.")
        .def("search", &search_partial, nb::arg("states"), nb::kw_only(), nb::arg("length"),
             nb::arg("time_limit"), nb::arg("solutions"), nb::arg("model").none(),
             nb::arg("cancel").none());
}

const Bindings registered_partial("partial", &bind_partial);
const Bindings registered("two_phase", &bind_two_phase);

}  // namespace
}  // namespace cubist
