// Metrics: what composites cost, and each composite as one canonical sequence of generators.
//
// A search applies generators, turns that the metric does not split any further. Whatever is turned
// on one axis in a row is remembered as a composite, and a generator is allowed only where it
// continues the one canonical sequence of the composite it makes, so that every sequence of
// composites is visited once.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "cube/cubie.hpp"

namespace cubist {

enum class MetricKind { kHalfTurn, kQuarterTurn, kAxial, kAxialQuarter };

// What was turned last: a composite, or nothing yet.
constexpr int kStart = kComposites;
constexpr int kStates = kComposites + 1;

struct Step {
    std::uint8_t generator;  // its number among the phase's generators
    std::uint8_t state;      // the composite made of all turns on this axis in a row
};

// The generators of one phase and what may follow what.
struct TurnSet {
    std::vector<std::uint8_t> generators;  // as composites
    std::vector<std::uint8_t> costs;       // of the generators
    std::array<std::vector<Step>, kStates> next;
    // By state and generator: the state after, where the generator may follow.
    std::array<std::array<std::uint8_t, kComposites>, kStates> state_after{};
};

struct Metric {
    MetricKind kind;
    std::array<std::uint8_t, kComposites> cost;
    TurnSet phase1, phase2;
    // What may open phase 2 after the last composite of phase 1.
    std::array<std::vector<Step>, kStates> junction;
    // Bits of the generators of phase 1 that end as another one does but for a turn of phase 2 that
    // costs no more than `kin_cost`: their ends are about as far from solved.
    std::array<std::uint64_t, kComposites> kin{};
    int kin_cost = 0;

    int length(const Composites& composites) const;
};

// Leaves the group of phase 2?
constexpr bool leaves_phase2(Composite c) {
    return c.axis != 0 && (c.first % 2 == 1 || c.second % 2 == 1);
}

const Metric& metric(MetricKind kind);
// Throws std::invalid_argument for a name other than htm, qtm, axial, axial-qtm.
MetricKind metric_kind(std::string_view name);

// Neighbours on one axis joined; what cancels is dropped.
Composites joined(const Composites& composites);

}  // namespace cubist
