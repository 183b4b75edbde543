// Python bindings of reduction/.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "bind/bindings.hpp"
#include "reduction/finish.hpp"
#include "reduction/reductions.hpp"

namespace nb = nanobind;

namespace cubist {
namespace {

// Face, first layer, last layer, clockwise quarters.
using PlainTurn = std::tuple<int, int, int, int>;
using PlainTurns = std::vector<PlainTurn>;

PlainTurns plain(const BlockTurns& turns) {
    PlainTurns result;
    for (const BlockTurn turn : turns)
        result.emplace_back(turn.face, turn.first, turn.last, turn.quarters);
    return result;
}

// Copies the stickers of a cube. Throws std::invalid_argument if their number is wrong or one is
// not a colour, because the searches index their tables with them.
Colours colours_of(const TableBytes& stickers, int size) {
    const auto shown = span_of(stickers);
    const auto is_colour = [](std::uint8_t colour) { return colour < kFaces; };
    if (std::ssize(shown) != kFaces * size * size || !std::ranges::all_of(shown, is_colour))
        throw std::invalid_argument("not the stickers of a cube of " + std::to_string(size) +
                                    " layers");
    return {shown.begin(), shown.end()};
}

std::optional<std::vector<PlainTurns>> finish(const Geometry& geometry, const TableBytes& stickers,
                                              const Progress& progress) {
    const Colours colours = colours_of(stickers, geometry.size());
    const nb::gil_scoped_release released;
    Finish found;
    if (!finish_reduction(geometry, colours, unlocked(progress), found)) return std::nullopt;
    return std::vector{plain(found.parity), plain(found.centres), plain(found.edges)};
}

std::optional<std::pair<std::vector<PlainTurns>, int>> plain_few_turns(const Geometry& geometry,
                                                                       const TableBytes& stickers,
                                                                       std::size_t most,
                                                                       int longer) {
    const Colours colours = colours_of(stickers, geometry.size());
    const nb::gil_scoped_release released;
    const auto found = few_turns(geometry, colours, most, longer);
    if (!found) return std::nullopt;
    std::vector<PlainTurns> ways;
    for (const BlockTurns& turns : found->ways) ways.push_back(plain(turns));
    return std::pair{ways, found->least};
}

BlockTurns block_turns(const PlainTurns& turns) {
    BlockTurns result;
    for (const auto& [face, first, last, quarters] : turns)
        result.push_back({static_cast<std::uint8_t>(face), static_cast<std::uint8_t>(first),
                          static_cast<std::uint8_t>(last), static_cast<std::uint8_t>(quarters)});
    return result;
}

// Turns the stickers in place. Throws std::invalid_argument if stickers or turns do not fit the
// size.
void turn(const Geometry& geometry, const WritableBytes& stickers, const PlainTurns& turns) {
    const auto fits = [size = geometry.size()](const PlainTurn& turn) {
        const auto& [face, first, last, quarters] = turn;
        return 0 <= face && face < kFaces && 1 <= first && first <= last && last <= size &&
               0 < quarters && quarters < 4;
    };
    if (std::cmp_not_equal(stickers.size(), geometry.stickers()) ||
        !std::ranges::all_of(turns, fits))
        throw std::invalid_argument("stickers or turns that do not fit this cube");
    Colours colours(stickers.data(), stickers.data() + stickers.size());
    geometry.turn(block_turns(turns), colours);
    std::copy(colours.begin(), colours.end(), stickers.data());
}

bool make_four(const WritableBytes& table, int threads, const Progress& progress) {
    const nb::gil_scoped_release released;
    return FourTables::make({table.data(), table.size()}, threads, unlocked(progress));
}

bool make_five(const WritableBytes& table, int threads, const Progress& progress) {
    const nb::gil_scoped_release released;
    FiveTables tables;
    return tables.make({table.data(), table.size()}, threads, unlocked(progress));
}

std::size_t five_size() { return FiveTables().bytes(); }

// The tables for the core and for the outside. The caller owns them.
struct SixTables {
    const FourTables& four;
    const FiveTables& five;
};
struct SevenTables {
    const FiveTables& five;
};

std::vector<Reduction> reduce(const FourTables& tables, const Colours& colours,
                              const ReductionOptions& options) {
    return reduce_four(tables, colours, options);
}
std::vector<Reduction> reduce(const FiveTables& tables, const Colours& colours,
                              const ReductionOptions& options) {
    const std::array<FiveStart, 1> start{{{colours, 0}}};
    return reduce_five(tables, start, options);
}
std::vector<Reduction> reduce(const SixTables& tables, const Colours& colours,
                              const ReductionOptions& options) {
    return reduce_six(tables.four, tables.five, colours, options);
}
std::vector<Reduction> reduce(const SevenTables& tables, const Colours& colours,
                              const ReductionOptions& options) {
    return reduce_seven(tables.five, colours, options);
}

// `times` is passed if the search minimises the robot's time.
template <class Tables, int size, class... Times>
std::vector<std::vector<PlainTurns>> reductions(const Tables& tables, const TableBytes& stickers,
                                                double time_limit, int threads,
                                                std::size_t candidates, std::size_t count,
                                                const CancelFlag* cancel, Times... times) {
    const Colours colours = colours_of(stickers, size);
    const nb::gil_scoped_release released;
    std::vector<std::vector<PlainTurns>> result;
    for (const Reduction& one :
         reduce(tables, colours, {candidates, count, time_limit, threads, cancel, times...})) {
        result.emplace_back();
        for (const BlockTurns& phase : one.phases) result.back().push_back(plain(phase));
    }
    return result;
}

template <class Tables, int size, class... Times>
auto bind_reductions(nb::module_& module, const char* name, const char* text, const auto&... more) {
    return nb::class_<Tables>(module, name, text)
        .def("reductions", &reductions<Tables, size, Times...>, nb::arg("stickers"), nb::kw_only(),
             nb::arg("time_limit"), nb::arg("threads"), nb::arg("candidates"), nb::arg("count"),
             nb::arg("cancel").none(), more...,
             "Turns by phase of up to `count` reductions, the shortest first; at least one unless "
             "cancelled. With `times`, the fastest on the robot come first.");
}

template <class Tables, int size>
void bind_reducer(nb::module_& module, const char* name, const char* text) {
    bind_reductions<Tables, size, const BlockTimes*>(module, name, text, nb::arg("times").none())
        .def(
            "__init__",
            [](Tables* self, const TableBytes& table) { new (self) Tables(span_of(table)); },
            nb::arg("table"), nb::keep_alive<1, 2>());
}

void bind_reduction(nb::module_& module) {
    module.attr("BLOCK_STATES") = BlockTimes::kMostStates;
    nb::class_<Geometry>(module, "LayeredGeometry", "Turns of a cube of 4 to 100 layers.")
        .def(nb::init<int>(), nb::arg("size"))
        .def("turn", &turn, nb::arg("stickers"), nb::arg("turns"),
             "Turn uint8[6 * size**2] in place.")
        .def("few_turns", &plain_few_turns, nb::arg("stickers"), nb::arg("most") = 1,
             nb::arg("longer") = 0,
             "Solutions of a cube a few turns from solved, and their minimum number of block "
             "turns; the first is a shortest one, `most` in all with up to `longer` turns more. "
             "None if it finds none.")
        .def("finish", &finish, nb::arg("stickers"), nb::arg("progress"),
             "Reduce a legal cube to a 3x3x3 by exchanges of three pieces: turns for parity, "
             "centres and edges; None when stopped.");
    nb::class_<BlockTimes>(module, "BlockTimes", "solver.cost.BlockTurnTimes for the kernel.")
        .def(
            "__init__",
            [](BlockTimes* self, int size, const Microseconds& next, const Microseconds& first) {
                new (self) BlockTimes(size, span_of(next), span_of(first));
            },
            nb::arg("size"), nb::arg("next"), nb::arg("first"))
        .def(
            "time_us",
            [](const BlockTimes& times, int up, int front, const PlainTurns& turns) {
                return times.least(BlockTimes::holding(up, front), block_turns(turns)) *
                       BlockTimes::kUnitUs;
            },
            nb::arg("up"), nb::arg("front"), nb::arg("turns"),
            "Approximate microseconds for turns of a cube with these faces as its U and F.");
    module.def("four_size", &FourTables::bytes, "Bytes of the table of a 4x4x4.");
    module.def("make_four", &make_four, nb::arg("data"), nb::arg("threads"), nb::arg("progress"),
               "Fill the table of a 4x4x4; false when stopped.");
    bind_reducer<FourTables, 4>(module, "FourReducer", "Reduces a 4x4x4 in three phases.");
    module.def("five_size", &five_size, "Bytes of the table of a 5x5x5.");
    module.def("make_five", &make_five, nb::arg("data"), nb::arg("threads"), nb::arg("progress"),
               "Fill the table of a 5x5x5; false when stopped.");
    bind_reducer<FiveTables, 5>(module, "FiveReducer", "Reduces a 5x5x5 in five phases.");
    bind_reductions<SixTables, 6>(module, "SixReducer", "Reduces a 6x6x6 by core and outside.")
        .def(
            "__init__",
            [](SixTables* self, const FourTables& four, const FiveTables& five) {
                new (self) SixTables{four, five};
            },
            nb::arg("four"), nb::arg("five"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>());
    bind_reductions<SevenTables, 7>(module, "SevenReducer", "Reduces a 7x7x7 by core and outside.")
        .def(
            "__init__",
            [](SevenTables* self, const FiveTables& five) { new (self) SevenTables{five}; },
            nb::arg("five"), nb::keep_alive<1, 2>());
}

const Bindings registered("reduction", &bind_reduction);

}  // namespace
}  // namespace cubist
