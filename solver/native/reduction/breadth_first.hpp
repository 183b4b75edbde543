// Distances of all positions of a coordinate, one byte each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cubist {

constexpr std::uint8_t kUnreachable = 0xFF;

// Breadth-first from the positions at distance 0; the others are kUnreachable before.
void spread(std::span<std::uint8_t> distances, std::size_t turns, const auto& neighbour) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t at = 0; at < distances.size(); ++at)
        if (distances[at] == 0) found.push_back(at);
    for (std::size_t next = 0; next < found.size(); ++next)
        for (std::size_t turn = 0; turn < turns; ++turn) {
            const std::uint32_t at = neighbour(found[next], turn);
            if (distances[at] != kUnreachable) continue;
            distances[at] = static_cast<std::uint8_t>(distances[found[next]] + 1);
            found.push_back(at);
        }
}

}  // namespace cubist
