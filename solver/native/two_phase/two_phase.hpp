// Kociemba's two-phase algorithm in any metric, from up to six sides at once.
//
// Phase 1 is a depth-first search with exact distances. Its length grows by one after the search
// has tried all directions (three axes, the cube and its inverse). At every end of phase 1, an IDA*
// probes phase 2 for a solution better than the best known. If the time is over without any
// solution, the search continues to the first one of any length, which takes a few milliseconds.
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
    // By generator of phase 1: the quarters that it turns each face by, four bits a face.
    std::array<std::uint32_t, kComposites> quarters{};
};

// The turns of the centres that a solution must make. `table` must outlive the search.
struct CentreGoal {
    const CentreTable* table = nullptr;        // if null, the centres do not matter
    std::array<std::uint8_t, kFaces> turns{};  // clockwise quarters by face, modulo 4
};

struct TwoPhaseOptions {
    int directions;
    double time_limit;
    int threads;
    std::vector<const CancelFlag*> cancels;
    CentreGoal centres = {};

    bool are_cancelled() const { return Deadline(Deadline::kForever, cancels).has_passed(); }
    // Returns the options of a search for a first solution if there was none in time. That takes a
    // few milliseconds. A robot that cannot turn enough faces has no solution, and if only the
    // centres are turned there may be none within the limits.
    TwoPhaseOptions for_stop_gap() const {
        return {directions, centres.table ? kCentresS : kStopGapS, 1, cancels, centres};
    }

    static constexpr double kStopGapS = 2.0, kCentresS = 0.008;
};

// kNo: the search may have missed better solutions. kUnderCutOffs: it checked everything but what
// its limits on phase 2 leave out. kProven: nothing better exists.
enum class Exhausted : std::uint8_t { kNo, kUnderCutOffs, kProven };

struct TwoPhaseReport {
    std::uint64_t nodes = 0, probes = 0;
    int lower_bound = 0;
    Exhausted exhausted = Exhausted::kNo;
    std::int64_t cpu_ns = 0;

    TwoPhaseReport& operator+=(const TwoPhaseReport& other);
};

// Limits of the search for a phase 2: how much longer than usual it may be, and how many times the
// usual nodes one end of phase 1 may cost. A search that has nothing left to do within its limits
// continues with wider ones.
struct Effort {
    static constexpr int kLonger = 4, kMoreNodes = 8;

    int longer = 0;
    std::uint64_t more_nodes = 1;

    Effort wider() const { return {longer + kLonger, more_nodes * kMoreNodes}; }
};

// Runs `work` on `threads` threads at once and adds up their reports.
TwoPhaseReport on_threads(int threads, const std::function<void(TwoPhaseReport&)>& work);

// Seconds that each thread has left.
double seconds_left(const TwoPhaseOptions& options, const TwoPhaseReport& so_far);

TwoPhaseReport search_two_phase(const TwoPhaseTables& tables, const CubieCube& cube,
                                const TwoPhaseOptions& options, SolutionSink& sink);

}  // namespace cubist
