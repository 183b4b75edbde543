#include "thistlethwaite/thistlethwaite.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "cube/breadth_first.hpp"
#include "cube/coordinates.hpp"

namespace cubist {

struct ThistlethwaitePhase::Search {
    std::size_t limit;
    std::vector<Turns>& found;
    Turns path;
};

ThistlethwaitePhase::ThistlethwaitePhase(std::vector<int> turns, Coordinate first,
                                         Coordinate second, const Progress& progress)
    : turns_(std::move(turns)),
      first_(std::move(first)),
      second_(std::move(second)),
      first_after_(transitions(first_)),
      second_after_(transitions(second_)) {
    measure(progress);
}

std::vector<std::uint16_t> ThistlethwaitePhase::transitions(const Coordinate& coordinate) const {
    std::vector<std::uint16_t> after;
    after.reserve(coordinate.values * turns_.size());
    for (int value = 0; value < coordinate.values; ++value) {
        CubieCube cube;
        coordinate.set(cube, value);
        for (int turn : turns_)
            after.push_back(static_cast<std::uint16_t>(coordinate.of(cube * face_turn_cube(turn))));
    }
    return after;
}

// Searches breadth-first from the goal. The turns of every phase are closed under inverse.
void ThistlethwaitePhase::measure(const Progress& progress) {
    constexpr std::size_t kReportEvery = 1 << 15;
    distance_.assign(static_cast<std::size_t>(first_.values) * second_.values, kUnreachable);
    distance_[0] = 0;
    const auto neighbour = [this](std::uint32_t number, std::size_t turn) {
        const auto seconds = static_cast<std::uint32_t>(second_.values);
        return index(
            after({static_cast<int>(number / seconds), static_cast<int>(number % seconds)}, turn));
    };
    fill_breadth_first(distance_, turns_.size(), neighbour, [&](std::size_t done) {
        if (done % kReportEvery == 0)
            report(progress, static_cast<double>(done) / static_cast<double>(distance_.size()));
    });
}

void ThistlethwaitePhase::solutions(const CubieCube& cube, int length, int last_face,
                                    std::size_t limit, std::vector<Turns>& found) const {
    Search search{limit, found, {}};
    descend(node_of(cube), length, last_face, search);
}

void ThistlethwaitePhase::descend(Node node, int left, int last_face, Search& search) const {
    if (left == 0) {
        search.found.push_back(search.path);
        return;
    }
    for (std::size_t turn = 0; turn < turns_.size() && search.found.size() < search.limit; ++turn) {
        if (!may_follow(last_face, face_of(turns_[turn]))) continue;
        const Node next = after(node, turn);
        if (distance_[index(next)] > left - 1) continue;
        search.path.push_back(static_cast<std::uint8_t>(turns_[turn]));
        descend(next, left - 1, face_of(turns_[turn]), search);
        search.path.pop_back();
    }
}

namespace {

constexpr int kOrbits = 420;
constexpr int kHalfTurnCorners = 96;
constexpr int kOrbitSets = 70;
constexpr int kSliceEdges = 4;
constexpr int kNone = -1;

// Slots, and cubies, of the slices: between L and R, between F and B, between U and D.
constexpr std::array<std::array<std::uint8_t, kSliceEdges>, 3> kSliceSlots{
    {{0, 2, 8, 10}, {1, 3, 9, 11}, {4, 5, 6, 7}}};
constexpr std::array<std::uint8_t, 8> kOuterSlots{0, 1, 2, 3, 8, 9, 10, 11};

constexpr std::array<int, kFaces> kHalfTurns{1, 4, 7, 10, 13, 16};

// All corner permutations reached from `start` by half turns made before or after it.
template <class Combine>
std::vector<int> closure(int start, const Combine& combine) {
    return reached_from({start}, kCornerPerms, kHalfTurns.size(), [&](int perm, std::size_t turn) {
        CubieCube cube;
        set_corner_perm(cube, perm);
        return corner_perm_of(combine(cube, face_turn_cube(kHalfTurns[turn])));
    });
}

// Values of a coordinate by permutation, and one permutation of each value.
struct PermClasses {
    std::vector<int> value = std::vector<int>(kCornerPerms, kNone);
    std::vector<int> example;
};

Coordinate of_classes(const std::shared_ptr<const PermClasses>& classes, int values) {
    return {
        values, [classes](const CubieCube& cube) { return classes->value[corner_perm_of(cube)]; },
        [classes](CubieCube& cube, int value) { set_corner_perm(cube, classes->example[value]); }};
}

int slice_of_edge(std::uint8_t edge) {
    const auto holds = [edge](const auto& slice) {
        return std::find(slice.begin(), slice.end(), edge) != slice.end();
    };
    return static_cast<int>(std::find_if(kSliceSlots.begin(), kSliceSlots.end(), holds) -
                            kSliceSlots.begin());
}

// The sets of four of the eight outer slots, the solved one first.
std::vector<unsigned> outer_sets() {
    CubieCube solved;
    unsigned home = 0;
    for (std::size_t k = 0; k < kOuterSlots.size(); ++k)
        home |= (slice_of_edge(kOuterSlots[k]) == 0 ? 1U : 0U) << k;
    std::vector<unsigned> sets{home};
    for (unsigned set = 0; set < 1U << kOuterSlots.size(); ++set)
        if (std::popcount(set) == kSliceEdges && set != home) sets.push_back(set);
    return sets;
}

void place_outer_edges(CubieCube& cube, unsigned set) {
    std::array<int, 2> used{};
    for (std::size_t k = 0; k < kOuterSlots.size(); ++k) {
        const int slice = set >> k & 1U ? 0 : 1;
        cube.ep[kOuterSlots[k]] = kSliceSlots[slice][used[slice]++];
    }
}

int order_of(const CubieCube& cube, int slice) {
    int rank = 0;
    const auto& slots = kSliceSlots[slice];
    for (int i = 0; i < kSliceEdges; ++i) {
        int smaller = 0;
        for (int j = i + 1; j < kSliceEdges; ++j) smaller += cube.ep[slots[j]] < cube.ep[slots[i]];
        rank = rank * (kSliceEdges - i) + smaller;
    }
    return rank;
}

void set_order(CubieCube& cube, int slice, int rank) {
    auto order = kSliceSlots[slice];
    for (int step = 0; step < rank; ++step) std::next_permutation(order.begin(), order.end());
    for (int i = 0; i < kSliceEdges; ++i) cube.ep[kSliceSlots[slice][i]] = order[i];
}

}  // namespace

Coordinate corner_orbits() {
    auto classes = std::make_shared<PermClasses>();
    const auto renamed = [](const CubieCube& cube, const CubieCube& turn) { return turn * cube; };
    for (int perm = 0; perm < kCornerPerms; ++perm) {
        if (classes->value[perm] != kNone) continue;
        const int number = static_cast<int>(classes->example.size());
        for (int member : closure(perm, renamed)) classes->value[member] = number;
        classes->example.push_back(perm);
    }
    return of_classes(classes, kOrbits);
}

Coordinate edge_slices() {
    const auto sets = std::make_shared<const std::vector<unsigned>>(outer_sets());
    const auto of = [sets](const CubieCube& cube) {
        unsigned set = 0;
        for (std::size_t k = 0; k < kOuterSlots.size(); ++k)
            set |= (slice_of_edge(cube.ep[kOuterSlots[k]]) == 0 ? 1U : 0U) << k;
        return static_cast<int>(std::find(sets->begin(), sets->end(), set) - sets->begin());
    };
    const auto set = [sets](CubieCube& cube, int value) {
        place_outer_edges(cube, (*sets)[value]);
    };
    return {kOrbitSets, of, set};
}

Coordinate half_turn_corners() {
    auto classes = std::make_shared<PermClasses>();
    const auto turned = [](const CubieCube& cube, const CubieCube& turn) { return cube * turn; };
    classes->example = closure(0, turned);
    for (std::size_t number = 0; number < classes->example.size(); ++number)
        classes->value[classes->example[number]] = static_cast<int>(number);
    return of_classes(classes, kHalfTurnCorners);
}

Coordinate half_turn_edges() {
    const auto of = [](const CubieCube& cube) {
        return (order_of(cube, 0) * kOrders + order_of(cube, 1)) * kOrders + order_of(cube, 2);
    };
    const auto set = [](CubieCube& cube, int value) {
        set_order(cube, 0, value / (kOrders * kOrders));
        set_order(cube, 1, value / kOrders % kOrders);
        set_order(cube, 2, value % kOrders);
    };
    return {kOrders * kOrders * kOrders, of, set};
}

namespace {

// Returns the turns of a phase: all but the quarter turns of these faces.
std::vector<int> turns_without_quarters_of(std::initializer_list<Face> faces) {
    std::vector<int> turns;
    for (int turn = 0; turn < kFaceTurns; ++turn) {
        const bool excluded = std::find(faces.begin(), faces.end(), face_of(turn)) != faces.end();
        if (is_half(turn) || !excluded) turns.push_back(turn);
    }
    return turns;
}

// A part of the whole progress, from one share to another.
Progress part_of(const Progress& progress, double from, double to) {
    return [=, &progress](double done) { return progress(from + (to - from) * done); };
}

Coordinate nothing() {
    return {1, [](const CubieCube&) { return 0; }, [](CubieCube&, int) {}};
}

ThistlethwaitePhase orient_edges(const Progress& progress) {
    return {turns_without_quarters_of({}), {kFlips, flip_of, set_flip}, nothing(), progress};
}

ThistlethwaitePhase orient_corners(const Progress& progress) {
    const auto set_slice = [](CubieCube& cube, int slice) {
        set_placement(cube, Layer::kMiddle, (kSlices - 1 - slice) * kOrders);
    };
    return {turns_without_quarters_of({F, B}),
            {kTwists, twist_of, set_twist},
            {kSlices, slice_of, set_slice},
            progress};
}

ThistlethwaitePhase sort_orbits(const Progress& progress) {
    return {turns_without_quarters_of({F, B, L, R}), corner_orbits(), edge_slices(), progress};
}

ThistlethwaitePhase finish(const Progress& progress) {
    return {turns_without_quarters_of({F, B, L, R, U, D}), half_turn_corners(), half_turn_edges(),
            progress};
}

// A path through some phases, and the resulting position.
struct Partial {
    CubieCube cube;
    ThistlethwaiteSolution solution;
    int last_face = kNoFace;
    std::size_t length = 0;
    std::size_t expected = 0;  // length including the next phase's shortest path

    Partial through(int phase, const Turns& turns) const {
        Partial next = *this;
        for (int turn : turns) next.cube = next.cube * face_turn_cube(turn);
        next.solution.phases[phase] = turns;
        next.length += turns.size();
        if (!turns.empty()) next.last_face = face_of(turns.back());
        return next;
    }
};

// The number of paths through a phase to try from one partial solution, and the turns by which they
// may exceed the shortest.
constexpr std::size_t kWays = 48;
constexpr int kSlack = 1;

std::vector<Turns> ways_through(const ThistlethwaitePhase& phase, const Partial& from) {
    std::vector<Turns> ways;
    const int shortest = phase.distance(from.cube);
    for (int length = shortest; length <= shortest + kSlack; ++length)
        phase.solutions(from.cube, length, from.last_face, kWays, ways);
    for (int length = shortest + kSlack + 1; ways.empty(); ++length)
        phase.solutions(from.cube, length, from.last_face, kWays, ways);
    return ways;
}

bool shorter(const Partial& a, const Partial& b) { return a.expected < b.expected; }

void keep_shortest(std::vector<Partial>& partials, std::size_t width) {
    if (partials.size() <= width) return;
    std::nth_element(partials.begin(), partials.begin() + static_cast<std::ptrdiff_t>(width) - 1,
                     partials.end(), shorter);
    partials.resize(width);
}

}  // namespace

std::size_t ThistlethwaiteSolution::length() const {
    std::size_t sum = 0;
    for (const Turns& turns : phases) sum += turns.size();
    return sum;
}

Thistlethwaite::Thistlethwaite(const Progress& progress)
    : phases_{orient_edges(part_of(progress, 0.0, 0.02)),
              orient_corners(part_of(progress, 0.02, 0.5)),
              sort_orbits(part_of(progress, 0.5, 0.55)), finish(part_of(progress, 0.55, 1.0))} {
    report(progress, 1.0);
}

std::size_t Thistlethwaite::bytes() const {
    std::size_t sum = 0;
    for (const ThistlethwaitePhase& phase : phases_) sum += phase.bytes();
    return sum;
}

ThistlethwaiteSolution Thistlethwaite::solve(const CubieCube& cube, std::size_t width) const {
    std::vector<Partial> beam{Partial{.cube = cube, .solution = {}}};
    for (int phase = 0; phase < kPhases; ++phase) {
        std::vector<Partial> next;
        for (const Partial& partial : beam)
            for (const Turns& turns : ways_through(phases_[phase], partial)) {
                next.push_back(partial.through(phase, turns));
                Partial& made = next.back();
                made.expected = made.length;
                if (phase + 1 < kPhases) made.expected += phases_[phase + 1].distance(made.cube);
            }
        keep_shortest(next, width);
        beam = std::move(next);
    }
    return std::min_element(beam.begin(), beam.end(), shorter)->solution;
}

}  // namespace cubist
