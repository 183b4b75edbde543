// Kociemba's two-phase algorithm in any metric, from up to six sides at once.
//
// Phase 1 is a depth-first search with exact distances. Its length grows by one after the search
// has tried all directions (three axes, the cube and its inverse). At every end of phase 1, an IDA*
// probes phase 2 for a solution better than the best known.
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
    // Bit masks of the generators that may follow a state, numbered in each symmetry's frame.
    std::array<std::array<std::uint64_t, kSymmetries>, kStates> allowed{};
    // The subset that may end phase 1, which excludes turns of phase 2.
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
    // The search covered every length up to the last max_length, so no shorter solution exists.
    bool exhausted = false;
    std::int64_t cpu_ns = 0;
};

// Runs `work` on `threads` threads at once and adds up their reports.
TwoPhaseReport on_threads(int threads, const std::function<void(TwoPhaseReport&)>& work);

TwoPhaseReport search_two_phase(const TwoPhaseTables& tables, const CubieCube& cube,
                                const TwoPhaseOptions& options, SolutionSink& sink);

}  // namespace cubist
