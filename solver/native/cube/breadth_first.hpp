// Fills tables breadth-first: distances from the nearest goal for all nodes of a graph.
//
// `fill_breadth_first` suits a table that one thread fills from a queue. `fill_by_level` suits a
// large one whose rows several threads share: it expands each row once per depth. Either way the
// entries depend only on the graph, so a table has the same bytes whichever way it was filled.
#pragma once

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cube/parallel.hpp"

namespace cubist {

// Not reached yet, or unreachable.
constexpr std::uint8_t kUnreachable = 0xFF;

// Fills `distances` from the nodes that already have 0; all others must be kUnreachable. Turn
// number `turn` < `turns` leads from `node` to `neighbour(node, turn)` and costs `cost(turn)`, 1 or
// 2. The turns must be closed under inverse, because distances lead to the goal. Calls
// `settled(count)` for every node with the number of nodes before it.
void fill_breadth_first(std::span<std::uint8_t> distances, std::size_t turns, const auto& neighbour,
                        const auto& cost, const auto& settled) {
    std::array<std::vector<std::uint32_t>, 3> waiting;  // by distance modulo 3
    for (std::uint32_t node = 0; node < distances.size(); ++node)
        if (distances[node] == 0) waiting[0].push_back(node);
    std::size_t count = 0;
    for (int depth = 0, idle = 0; idle < 2; ++depth) {
        const std::vector<std::uint32_t> level = std::exchange(waiting[depth % 3], {});
        idle = level.empty() ? idle + 1 : 0;
        for (const std::uint32_t node : level) {
            if (distances[node] != depth) continue;  // a cheaper path was found meanwhile
            settled(count++);
            for (std::size_t turn = 0; turn < turns; ++turn) {
                const auto next = static_cast<std::uint32_t>(neighbour(node, turn));
                const int farther = depth + cost(turn);
                if (distances[next] <= farther) continue;
                distances[next] = static_cast<std::uint8_t>(farther);
                waiting[farther % 3].push_back(next);
            }
        }
    }
}

// The same if every turn costs 1.
void fill_breadth_first(std::span<std::uint8_t> distances, std::size_t turns, const auto& neighbour,
                        const auto& settled) {
    fill_breadth_first(distances, turns, neighbour, [](std::size_t) { return 1; }, settled);
}
void fill_breadth_first(std::span<std::uint8_t> distances, std::size_t turns,
                        const auto& neighbour) {
    fill_breadth_first(distances, turns, neighbour, [](std::size_t) {});
}

// Returns the nodes below `size` that turns reach from `starts`, in the order of discovery.
std::vector<int> reached_from(std::vector<int> starts, std::size_t size, std::size_t turns,
                              const auto& neighbour) {
    std::vector<bool> is_known(size);
    for (const int node : starts) is_known[node] = true;
    std::vector<int> reached = std::move(starts);
    for (std::size_t next = 0; next < reached.size(); ++next)
        for (std::size_t turn = 0; turn < turns; ++turn) {
            const int node = neighbour(reached[next], turn);
            if (is_known[node]) continue;
            is_known[node] = true;
            reached.push_back(node);
        }
    return reached;
}

// The division of a table's rows among threads, and the end of the fill.
struct LevelOptions {
    int rows, block;  // a thread takes `block` rows at a time
    int threads;
    int deepest = INT_MAX;  // largest distance to search for
    int most_idle = 1;      // this many successive empty depths end the fill
};

// Calls `expand(row, depth, mode)` for every row at depths 0, 1 ...; it returns the number of
// entries it found. `mode(known, last)` chooses the mode before each depth from the number of
// entries found so far and at the last depth. Returns false if `progress(known)` returned false.
bool fill_by_level(const LevelOptions& options, std::size_t known, const auto& mode,
                   const auto& expand, const auto& progress) {
    std::size_t last = known;
    for (int depth = 0, idle = 0; depth < options.deepest && idle < options.most_idle; ++depth) {
        const auto chosen = mode(known, last);
        std::atomic<std::size_t> found{0};
        const auto work = [&](int first, int end) {
            std::size_t own = 0;
            for (int row = first; row < end; ++row) own += expand(row, depth, chosen);
            found += own;
        };
        const auto report = [&] { return progress(known + found); };
        if (!in_blocks(options.rows, options.block, options.threads, work, report)) return false;
        last = found;
        known += last;
        idle = last > 0 ? 0 : idle + 1;
    }
    return true;
}

// The same with a single mode: `expand(row, depth)`.
bool fill_by_level(const LevelOptions& options, const auto& expand, const auto& progress) {
    return fill_by_level(
        options, 0, [](std::size_t, std::size_t) { return 0; },
        [&](int row, int depth, int) { return expand(row, depth); }, progress);
}

}  // namespace cubist
