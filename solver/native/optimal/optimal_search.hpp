// Korf's IDA* for the 3x3x3: a shortest solution, and the proof that there is none shorter.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cube/control.hpp"
#include "optimal/optimal_table.hpp"

namespace cubist {

struct OptimalOptions {
    int shortest;       // no shorter solution is looked for
    int longest;        // nor a longer one: what is known to exist ends the search
    double time_limit;  // seconds on the wall clock; 0 for none
    int threads;
    const CancelFlag* cancel = nullptr;
};

struct OptimalProgress {
    int depth;
    std::uint64_t nodes;  // in all depths so far
    double seconds;
};

struct OptimalReport {
    std::optional<std::vector<int>> turns;  // face turns, as short as can be
    int lower_bound = 0;                    // proven, with or without solution
    std::uint64_t nodes = 0;
};

OptimalReport search_optimal(const OptimalTable& table, OptimalMetric metric, const CubieCube& cube,
                             const OptimalOptions& options,
                             const std::function<void(const OptimalProgress&)>& on_progress);

// The heuristic alone.
int optimal_bound(const OptimalTable& table, OptimalMetric metric, const CubieCube& cube);

}  // namespace cubist
