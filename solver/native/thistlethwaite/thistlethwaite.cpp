#include "thistlethwaite/thistlethwaite.hpp"

#include <algorithm>

#include "cube/coordinates.hpp"
#include "thistlethwaite/thistlethwaite_groups.hpp"

namespace cubist {
namespace {

// Turns that leave a phase's group, as faces whose quarter turns do.
std::vector<int> turns_without_quarters_of(std::initializer_list<Face> faces) {
    std::vector<int> turns;
    for (int turn = 0; turn < kFaceTurns; ++turn) {
        const bool excluded = std::find(faces.begin(), faces.end(), face_of(turn)) != faces.end();
        if (is_half(turn) || !excluded) turns.push_back(turn);
    }
    return turns;
}

// A part of the whole, from one share to another.
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
    return {turns_without_quarters_of({F, B}), {kTwists, twist_of, set_twist},
            {kSlices, slice_of, set_slice}, progress};
}

ThistlethwaitePhase sort_orbits(const Progress& progress) {
    return {turns_without_quarters_of({F, B, L, R}), corner_orbits(), edge_slices(), progress};
}

ThistlethwaitePhase finish(const Progress& progress) {
    return {turns_without_quarters_of({F, B, L, R, U, D}), half_turn_corners(), half_turn_edges(),
            progress};
}

// A way through some phases, and the position it leads to.
struct Partial {
    CubieCube cube;
    ThistlethwaiteSolution solution;
    int last_face = kNoFace;
    std::size_t length = 0;
    std::size_t expected = 0;  // length with the next phase's shortest way

    Partial through(int phase, const Turns& turns) const {
        Partial next = *this;
        for (int turn : turns) next.cube = next.cube * face_turn_cube(turn);
        next.solution.phases[phase] = turns;
        next.length += turns.size();
        if (!turns.empty()) next.last_face = face_of(turns.back());
        return next;
    }
};

// How many ways through a phase are looked at from one partial solution, and how much longer than
// the shortest they may be.
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
    : phases_{orient_edges(part_of(progress, 0.0, 0.02)), orient_corners(part_of(progress, 0.02, 0.5)),
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
