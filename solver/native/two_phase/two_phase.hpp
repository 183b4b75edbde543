// Kociemba's two-phase algorithm in any metric, from up to six sides at once.
//
// Phase 1 is depth-first with exact distances, its length growing by one after all directions
// (three axes, the cube and its inverse) had their turn. Every end of phase 1 is probed by an IDA*
// in phase 2 that may only find what improves on the best known.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "cube/collector.hpp"
#include "cube/control.hpp"
#include "cube/cubie.hpp"
#include "two_phase/phase1_tables.hpp"
#include "two_phase/phase2_tables.hpp"

namespace cubist {

struct TwoPhaseTables {
    TwoPhaseTables(const Metric& metric, Phase1Tables phase1, Phase2Tables phase2);

    const Metric& metric;
    Phase1Tables phase1;
    Phase2Tables phase2;
    // Bits of the generators that may follow a state, in the numbers of each symmetry's frame.
    std::array<std::array<std::uint64_t, kSymmetries>, kStates> allowed{};
    // Those of them that may end phase 1: they are no turns of phase 2.
    std::array<std::array<std::uint64_t, kSymmetries>, kStates> leaving{};
};

struct TwoPhaseOptions {
    int directions;
    double time_limit;
    int threads;
    std::vector<const CancelFlag*> cancels;
};

struct TwoPhaseReport {
    std::uint64_t nodes = 0, probes = 0;
    int lower_bound = 0;
    // Everything up to the last max_length was searched: nothing shorter exists.
    bool exhausted = false;
    std::int64_t cpu_ns = 0;
};

// Runs `work` on so many threads at once and adds up what they report.
TwoPhaseReport on_threads(int threads, const std::function<void(TwoPhaseReport&)>& work);

TwoPhaseReport search_two_phase(const TwoPhaseTables& tables, const CubieCube& cube,
                                const TwoPhaseOptions& options, SolutionSink& sink);

}  // namespace cubist
