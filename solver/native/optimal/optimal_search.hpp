// Korf's IDA* for the 3x3x3: finds a shortest solution and proves that none is shorter.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "cube/control.hpp"
#include "optimal/optimal_table.hpp"

namespace cubist {

struct OptimalOptions {
    int shortest;       // least length to search
    int longest;        // greatest length to search, from a known solution
    double time_limit;  // seconds of wall-clock time; 0 for no limit
    int threads;
    const CancelFlag* cancel = nullptr;
};

struct OptimalProgress {
    int depth;
    std::uint64_t nodes;  // total of all depths so far
    double seconds;
};

struct OptimalReport {
    std::optional<std::vector<int>> turns;  // face turns of a shortest solution
    int lower_bound = 0;                    // proven, with or without a solution
    std::uint64_t nodes = 0;
};

OptimalReport search_optimal(const OptimalTable& table, OptimalMetric metric, const CubieCube& cube,
                             const OptimalOptions& options,
                             const std::function<void(const OptimalProgress&)>& on_progress);

// Returns the heuristic's lower bound for a cube.
int optimal_bound(const OptimalTable& table, OptimalMetric metric, const CubieCube& cube);

}  // namespace cubist
