// Python bindings of decode/: ranked arrangements, the cheapest assignment, the pieces of a cube,
// the colour model.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/bindings.hpp"
#include "decode/assignments.hpp"
#include "decode/colour_model.hpp"
#include "decode/cube_pieces.hpp"

namespace nb = nanobind;

namespace cubist {
namespace {

using Costs = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

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
                 const Indices& pieces, const Indices& turns) {
    check(ranked, turn_sum, parity, rank);
    const std::size_t count = std::size_t(ranked.pieces());
    if (pieces.size() != count || turns.size() != count)
        throw nb::value_error("one place for each slot is needed");
    if (!std::isfinite(ranked.cost(turn_sum, parity, rank)))
        throw nb::value_error("there is no such arrangement");
    ranked.arrangement(turn_sum, parity, rank, span_of(pieces), span_of(turns));
}

void bind_arrangements(nb::module_& module) {
    nb::class_<RankedArrangements>(module, "RankedArrangements",
                                   "The cheapest arrangements of pieces under turns and parity.")
        .def(nb::new_(&make), nb::arg("costs"), nb::arg("ranks"))
        .def("cost", &cost, nb::arg("turn_sum"), nb::arg("parity"), nb::arg("rank"),
             "Cost of the rank-th cheapest; infinite if there is none.")
        .def("arrangement", &arrangement, nb::arg("turn_sum"), nb::arg("parity"), nb::arg("rank"),
             nb::arg("pieces").noconvert(), nb::arg("turns").noconvert(),
             "Its piece and turn in every slot, into int64[slots] each.");
}

void bind_assignment(nb::module_& module) {
    using Costs = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    module.def(
        "cheapest_assignment",
        [](const Costs& costs) {
            return cheapest_assignment(span_of(costs), static_cast<int>(costs.shape(0)),
                                       static_cast<int>(costs.shape(1)));
        },
        nb::arg("costs"), "The column of each row of float64[rows, columns], rows <= columns.");
    module.def(
        "ranked_assignments",
        [](const Costs& costs, int copies, int k) {
            if (copies < 1 || k < 1) throw nb::value_error("pieces and ways are counted from 1");
            if (costs.shape(0) != costs.shape(1) * std::size_t(copies))
                throw nb::value_error("as many pieces as slots are needed");
            std::vector<std::pair<double, std::vector<int>>> ways;
            for (RankedAssignment& one :
                 ranked_assignments(span_of(costs), int(costs.shape(1)), copies, k))
                ways.emplace_back(one.cost, std::move(one.pieces));
            return ways;
        },
        nb::arg("costs"), nb::arg("copies"), nb::arg("k"),
        "The k cheapest ways to fill the slots of float64[slots, pieces]: cost and pieces of "
        "each.");
}

using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Writable = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const std::uint8_t, nb::c_contig, nb::device::cpu>;

template <class Array>
auto checked(const Array& array, std::size_t count) {
    if (array.size() != count) throw nb::value_error("the array has the wrong size");
    return span_of(array);
}

using Letters = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using OrbitTables = std::tuple<std::string, Table, Table, int, int>;

PieceOrbit orbit_of(const OrbitTables& tables) {
    const auto& [kind, facelets, patterns, turns, copies] = tables;
    using Rule = PieceOrbit::Rule;
    const bool turning = kind == "corner" || kind == "edge";
    const Rule rule = kind == "fixed" ? Rule::fixed : turning ? Rule::turning : Rule::free;
    if (patterns.shape(1) != facelets.shape(1))
        throw nb::value_error("patterns need a letter for each sticker of a slot");
    const auto places = span_of(facelets), letters = span_of(patterns);
    return {rule,   int(facelets.shape(0)),         int(facelets.shape(1)),          turns,
            copies, {places.begin(), places.end()}, {letters.begin(), letters.end()}};
}

CubePieces make_pieces(const std::vector<OrbitTables>& tables) {
    std::vector<PieceOrbit> found;
    for (const OrbitTables& one : tables) found.push_back(orbit_of(one));
    return CubePieces(std::move(found));
}

std::span<const double> costs_for(const CubePieces& pieces, const Numbers& costs) {
    if (costs.size() < pieces.stickers() * kColours)
        throw nb::value_error("six costs for each sticker are needed");
    return span_of(costs);
}

std::vector<Naming> namings_of(const Table& rows) {
    if (rows.shape(1) != kColours) throw nb::value_error("a naming has six colours");
    std::vector<Naming> namings(rows.shape(0));
    for (std::size_t i = 0; i < namings.size(); ++i)
        for (int letter = 0; letter < kColours; ++letter) {
            const std::int64_t colour = rows(i, std::size_t(letter));
            if (colour < 0 || colour >= kColours)
                throw nb::value_error("colours are numbers from 0 to 5");
            namings[i][std::size_t(letter)] = int(colour);
        }
    return namings;
}

// A scan with its estimator. It keeps Python's arrays alive.
class ScanEstimator {
public:
    ScanEstimator(const Numbers& priors, const Numbers& light_precision, const Numbers& values,
                  const Numbers& sensitivity, const Numbers& fading, const Flags& clipped,
                  const Numbers& weight, const Numbers& places, double floor)
        : kept_{values, sensitivity, fading, weight, places},
          clipped_(clipped),
          estimator_(priors_of(priors), precision_of(light_precision)) {
        const std::size_t n = weight.size();
        if (n == 0 || n % 6) throw nb::value_error("six faces are needed");
        scan_ = {n,
                 checked(values, 3 * n),
                 checked(sensitivity, 3 * n),
                 checked(fading, 3 * n),
                 checked(clipped, 3 * n),
                 span_of(weight),
                 checked(places, 2 * n),
                 floor};
    }

    void evidence(const Numbers& mean, const Numbers& covariance, const Numbers& faces,
                  double falloff, bool strict, const Writable& cost, const Writable& inlier) const {
        const std::size_t n = scan_.stickers * kColours;
        estimator_.evidence(scan_, model_of(mean, covariance, faces, falloff), strict,
                            checked(cost, n), checked(inlier, n));
    }

    // Writes mean, covariance and faces. Returns the falloff.
    double estimate(const Numbers& mean, const Numbers& covariance, const Numbers& faces,
                    double falloff, const CubePieces& pieces, const Numbers& temperatures,
                    int least, double still, int patience, const Writable& new_mean,
                    const Writable& new_covariance, const Writable& new_faces) const {
        if (pieces.stickers() > scan_.stickers)
            throw nb::value_error("pieces of a cube of the scan's size are needed");
        const ColourModel start = model_of(mean, covariance, faces, falloff);
        const Schedule schedule{span_of(temperatures), least, still, patience};
        return copied(estimator_.estimate(scan_, start, pieces, schedule), new_mean, new_covariance,
                      new_faces);
    }

    double fit(const Numbers& mean, const Numbers& covariance, const Numbers& faces, double falloff,
               const Letters& letters, int rounds, const Writable& new_mean,
               const Writable& new_covariance, const Writable& new_faces) const {
        const ColourModel start = model_of(mean, covariance, faces, falloff);
        return copied(estimator_.fit(scan_, start, known(letters), rounds), new_mean,
                      new_covariance, new_faces);
    }

    double total_cost(const Numbers& mean, const Numbers& covariance, const Numbers& faces,
                      double falloff, const Letters& letters) const {
        return estimator_.total_cost(scan_, model_of(mean, covariance, faces, falloff),
                                     known(letters));
    }

    void expected(const Numbers& mean, const Writable& covariance) const {
        const auto means = checked(mean, 18);
        const auto out = checked(covariance, 54);
        for (int c = 0; c < kColours; ++c)
            copy(estimator_.expected({means[3 * c], means[3 * c + 1], means[3 * c + 2]},
                                     scan_.floor),
                 out.subspan(9 * c, 9));
    }

    void shift(const Numbers& faces, double falloff, const Writable& out) const {
        FaceLight light{{}, falloff};
        fill(light.faces, checked(faces, 30));
        const auto target = checked(out, 3 * scan_.stickers);
        for (std::size_t i = 0; i < scan_.stickers; ++i) {
            const Channels one = ColourEstimator::shift(scan_, light, i);
            std::copy(one.begin(), one.end(), target.begin() + 3 * i);
        }
    }

private:
    std::span<const std::int64_t> known(const Letters& letters) const {
        const auto numbers = checked(letters, scan_.stickers);
        for (const std::int64_t letter : numbers)
            if (letter < 0 || letter >= kColours)
                throw nb::value_error("letters are numbers from 0 to 5");
        return numbers;
    }

    static double copied(const ColourModel& model, const Writable& mean, const Writable& covariance,
                         const Writable& faces) {
        copy(model.mean, checked(mean, 18));
        copy(model.covariance, checked(covariance, 54));
        copy(model.light.faces, checked(faces, 30));
        return model.light.falloff;
    }

    template <class Nested>
    static void copy(const Nested& from, std::span<double> to) {
        const double* const start = reinterpret_cast<const double*>(&from);
        std::copy(start, start + to.size(), to.begin());
    }

    template <class Nested>
    static void fill(Nested& to, std::span<const double> from) {
        std::copy(from.begin(), from.end(), reinterpret_cast<double*>(&to));
    }

    static ColourPriors priors_of(const Numbers& numbers) {
        ColourPriors priors;
        fill(priors, checked(numbers, sizeof(ColourPriors) / sizeof(double)));
        return priors;
    }

    static ColourEstimator::LightPrecision precision_of(const Numbers& numbers) {
        ColourEstimator::LightPrecision precision;
        fill(precision, checked(numbers, kLightTerms * kLightTerms));
        return precision;
    }

    static ColourModel model_of(const Numbers& mean, const Numbers& covariance,
                                const Numbers& faces, double falloff) {
        ColourModel model;
        fill(model.mean, checked(mean, 18));
        fill(model.covariance, checked(covariance, 54));
        fill(model.light.faces, checked(faces, 30));
        model.light.falloff = falloff;
        return model;
    }

    std::array<Numbers, 5> kept_;
    Flags clipped_;
    ColourEstimator estimator_;
    ColourScan scan_;
};

void bind_cube_pieces(nb::module_& module) {
    nb::class_<CubePieces>(module, "CubePieces", "The pieces of a cube and their costs.")
        .def(nb::new_(&make_pieces), nb::arg("orbits"))
        .def(
            "shares",
            [](const CubePieces& pieces, const Numbers& costs, double temperature,
               const Writable& share) {
                pieces.shares(costs_for(pieces, costs), temperature, checked(share, costs.size()));
            },
            nb::arg("costs"), nb::arg("temperature"), nb::arg("share").noconvert(),
            "The probability of each letter on each sticker, into float64[stickers, 6].")
        .def(
            "relaxed_costs",
            [](const CubePieces& pieces, const Numbers& costs, const Table& namings) {
                return pieces.relaxed_costs(costs_for(pieces, costs), namings_of(namings));
            },
            nb::arg("costs"), nb::arg("namings"),
            "A lower bound of the cheapest cube for every naming int64[n, 6].")
        .def(
            "cheapest_naming",
            [](const CubePieces& pieces, const Numbers& costs, const Table& namings, double limit) {
                const auto found =
                    pieces.cheapest_naming(costs_for(pieces, costs), namings_of(namings), limit);
                return std::tuple(found.naming, found.cost, found.solved);
            },
            nb::arg("costs"), nb::arg("namings"), nb::arg("limit"),
            "The naming (-1: none) whose cheapest cube costs least, its cost if that is below the\n"
            "limit, and for how many namings the cheapest cube had to be found.")
        .def(
            "turned_bounds",
            [](const CubePieces& pieces, const Numbers& costs, const Table& sources,
               const Table& colours, const Table& shown, const Writable& bounds) {
                const auto letters = namings_of(colours), pictures = namings_of(sources);
                if (letters.size() != pictures.size() || shown.shape(0) != 4 ||
                    6 * shown.shape(1) * kColours != costs.size())
                    throw nb::value_error("orders of the pictures and cells of a face are needed");
                for (const std::int64_t cell : span_of(shown))
                    if (cell < 0 || std::size_t(cell) >= shown.shape(1))
                        throw nb::value_error("a picture has no such cell");
                std::vector<CubePieces::Order> orders;
                for (std::size_t i = 0; i < letters.size(); ++i)
                    orders.push_back({pictures[i], letters[i]});
                pieces.turned_bounds(costs_for(pieces, costs), orders, span_of(shown),
                                     checked(bounds, orders.size() * CubePieces::kWays));
            },
            nb::arg("costs"), nb::arg("sources"), nb::arg("colours"), nb::arg("shown"),
            nb::arg("bounds").noconvert(),
            "Lower bounds for pictures in orders int64[n, 6] and turned, into float64[n, 4096].");
}

void bind_colour_model(nb::module_& module) {
    nb::class_<ScanEstimator>(module, "ScanEstimator", "Estimates the colours of one scan.")
        .def(nb::init<const Numbers&, const Numbers&, const Numbers&, const Numbers&,
                      const Numbers&, const Flags&, const Numbers&, const Numbers&, double>(),
             nb::arg("priors"), nb::arg("light_precision"), nb::arg("values"),
             nb::arg("sensitivity"), nb::arg("fading"), nb::arg("clipped"), nb::arg("weight"),
             nb::arg("places"), nb::arg("floor"))
        .def("evidence", &ScanEstimator::evidence, nb::arg("mean"), nb::arg("covariance"),
             nb::arg("faces"), nb::arg("falloff"), nb::arg("strict"), nb::arg("cost").noconvert(),
             nb::arg("inlier").noconvert())
        .def("estimate", &ScanEstimator::estimate, nb::arg("mean"), nb::arg("covariance"),
             nb::arg("faces"), nb::arg("falloff"), nb::arg("pieces"), nb::arg("temperatures"),
             nb::arg("least"), nb::arg("still"), nb::arg("patience"),
             nb::arg("new_mean").noconvert(), nb::arg("new_covariance").noconvert(),
             nb::arg("new_faces").noconvert())
        .def("fit", &ScanEstimator::fit, nb::arg("mean"), nb::arg("covariance"), nb::arg("faces"),
             nb::arg("falloff"), nb::arg("letters"), nb::arg("rounds"),
             nb::arg("new_mean").noconvert(), nb::arg("new_covariance").noconvert(),
             nb::arg("new_faces").noconvert())
        .def("total_cost", &ScanEstimator::total_cost, nb::arg("mean"), nb::arg("covariance"),
             nb::arg("faces"), nb::arg("falloff"), nb::arg("letters"))
        .def("expected", &ScanEstimator::expected, nb::arg("mean"),
             nb::arg("covariance").noconvert())
        .def("shift", &ScanEstimator::shift, nb::arg("faces"), nb::arg("falloff"),
             nb::arg("out").noconvert());
}

const Bindings registered("decode", [](nb::module_& module) {
    bind_arrangements(module);
    bind_assignment(module);
    bind_cube_pieces(module);
    bind_colour_model(module);
});

}  // namespace
}  // namespace cubist
