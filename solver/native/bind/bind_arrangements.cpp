// Python names of arrangements.hpp.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>

#include "decode/arrangements.hpp"
#include "cube/arrays.hpp"
#include "bind/bindings.hpp"

namespace nb = nanobind;

namespace cubist {
namespace {

using Costs = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

RankedArrangements make(const Costs& costs, int ranks) {
    const int pieces = int(costs.shape(1)), turns = int(costs.shape(2));
    if (costs.shape(0) != costs.shape(1) || pieces < 1 || pieces > RankedArrangements::kMostPieces)
        throw nb::value_error("costs are needed for 1 to 12 slots and as many pieces");
    if (turns < 1 || turns > RankedArrangements::kMostTurns)
        throw nb::value_error("pieces turn 1 to 3 ways");
    if (ranks < 1 || ranks > RankedArrangements::kMostRanks)
        throw nb::value_error("1 to 4 arrangements can be ranked");
    const nb::gil_scoped_release released;
    return RankedArrangements(span_of(costs), pieces, turns, ranks);
}

void check(const RankedArrangements& ranked, int turn_sum, int parity, int rank) {
    if (turn_sum < 0 || turn_sum >= ranked.turns() || parity < 0 || parity > 1 || rank < 0 ||
        rank >= ranked.ranks())
        throw nb::index_error("no such sum of turns, parity or rank");
}

double cost(const RankedArrangements& ranked, int turn_sum, int parity, int rank) {
    check(ranked, turn_sum, parity, rank);
    return ranked.cost(turn_sum, parity, rank);
}

void arrangement(const RankedArrangements& ranked, int turn_sum, int parity, int rank,
                 const Numbers& pieces, const Numbers& turns) {
    check(ranked, turn_sum, parity, rank);
    const std::size_t count = std::size_t(ranked.pieces());
    if (pieces.size() != count || turns.size() != count)
        throw nb::value_error("one place for each slot is needed");
    if (!std::isfinite(ranked.cost(turn_sum, parity, rank)))
        throw nb::value_error("there is no such arrangement");
    ranked.arrangement(turn_sum, parity, rank, span_of(pieces), span_of(turns));
}

}  // namespace

void bind_arrangements(nb::module_& module) {
    nb::class_<RankedArrangements>(module, "RankedArrangements",
                                   "The cheapest arrangements of pieces under turns and parity.")
        .def(nb::new_(&make), nb::arg("costs"), nb::arg("ranks"))
        .def("cost", &cost, nb::arg("turn_sum"), nb::arg("parity"), nb::arg("rank"),
             "Cost of the rank-th cheapest; infinite where there is none.")
        .def("arrangement", &arrangement, nb::arg("turn_sum"), nb::arg("parity"), nb::arg("rank"),
             nb::arg("pieces").noconvert(), nb::arg("turns").noconvert(),
             "Its piece and turn in every slot, into int64[slots] each.");
}

}  // namespace cubist
