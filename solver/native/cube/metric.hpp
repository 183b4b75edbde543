// Metrics: the cost of composites, and the one canonical sequence of generators that makes each
// composite.
//
// A search applies generators, turns that the metric does not split further. It remembers all
// successive turns on one axis as a composite and allows a generator only if it continues the
// canonical sequence of the resulting composite. So it visits every sequence of composites exactly
// once.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "cube/cubie.hpp"

namespace cubist {

enum class MetricKind { kHalfTurn, kQuarterTurn, kAxial, kAxialQuarter };

// A search's state: the composite turned last, or kStart before the first.
constexpr int kStart = kComposites;
constexpr int kStates = kComposites + 1;

struct Step {
    std::uint8_t generator;  // its number among the phase's generators
    std::uint8_t state;      // composite of all successive turns on this axis
};

// The generators of one phase and their allowed successors.
struct TurnSet {
    std::vector<std::uint8_t> generators;  // as composites
    std::vector<std::uint8_t> costs;       // of the generators
    std::array<std::vector<Step>, kStates> next;
    // By state and generator: the state after the generator, if it may follow.
    std::array<std::array<std::uint8_t, kComposites>, kStates> state_after{};
};

struct Metric {
    MetricKind kind;
    std::array<std::uint8_t, kComposites> cost;
    // Lengths of solutions of a cube differ by multiples of this: a quarter turn is an odd
    // permutation of the corners.
    int step = 1;
    TurnSet phase1, phase2;
    // The generators that may begin phase 2 after the last composite of phase 1.
    std::array<std::vector<Step>, kStates> junction;
    // By generator of phase 1: bits of those that differ from it only by a turn of phase 2 that
    // costs no more than `kin_cost`. The positions they lead to are about equally far from solved.
    std::array<std::uint64_t, kComposites> kin{};
    int kin_cost = 0;

    int length(const Composites& composites) const;
};

// Returns true if the generator leaves the group of phase 2.
constexpr bool leaves_phase2(Composite c) {
    return c.axis != 0 && (c.first % 2 == 1 || c.second % 2 == 1);
}

const Metric& metric(MetricKind kind);
// Throws std::invalid_argument for a name other than htm, qtm, axial, axial-qtm.
MetricKind metric_kind(std::string_view name);

// Merges neighbours on one axis and drops those that cancel.
Composites joined(const Composites& composites);

}  // namespace cubist
