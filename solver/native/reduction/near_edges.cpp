#include "reduction/near_edges.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace cubist {
namespace {

using Keys = std::vector<std::uint64_t>;  // mask of wings above the middles

constexpr int kMiddleBits = 11;

// Both names of the low wings have the same key.
std::uint64_t key_of(Mask wings, int middles) {
    NearEdges::choose_name(wings, middles);
    return std::uint64_t{wings} << kMiddleBits | static_cast<std::uint64_t>(middles);
}

// The first keys without the others; all are sorted.
Keys without(const Keys& keys, const Keys& others) {
    Keys rest;
    std::set_difference(keys.begin(), keys.end(), others.begin(), others.end(),
                        std::back_inserter(rest));
    return rest;
}

}  // namespace

NearEdges::NearEdges(const FiveCube& cube, const FivePhase& phase) : low_(cube.low()) {
    for (const int turn : phase.turns) wing_moves_.emplace_back(cube.wing_move(turn));
    find_middle_moves(cube, phase);
}

void NearEdges::find_middle_moves(const FiveCube& cube, const FivePhase& phase) {
    for (const int turn : phase.turns) {
        const OrbitMove& from = cube.middle_move(turn);
        auto& goes_to = middle_moves_.emplace_back();
        for (int middles = 0; middles < kMiddles; ++middles) {
            const int all = middles | (std::popcount(static_cast<unsigned>(middles)) & 1)
                                          << kMiddleBits;
            int after = 0;
            for (int edge = 0; edge < kMiddleBits; ++edge) {
                const int slot = from[cube.slots()[edge][0]];
                const int shows_other = (all >> cube.edge_of(slot) & 1) ^ !cube.is_low(slot);
                after |= shows_other << edge;
            }
            goes_to[middles] = static_cast<std::uint16_t>(after);
        }
    }
}

std::size_t NearEdges::bytes() {
    return aligned((kRanks + 1) * sizeof(std::uint32_t)) + aligned(kStates * sizeof(std::uint16_t));
}

void NearEdges::use(std::span<const std::uint8_t> table) {
    starts_ = part<std::uint32_t>(table, 0);
    entries_ = part<std::uint16_t>(table, aligned((kRanks + 1) * sizeof(std::uint32_t)));
}

bool NearEdges::make(std::span<std::uint8_t> table, const Progress& progress) const {
    constexpr std::array<double, kDeepest> kDone{0, 0, 0, 0, .01, .1, .7};
    std::vector<Keys> levels{{key_of(low_, 0)}};
    for (int depth = 0; depth < kDeepest; ++depth) {
        Keys next;
        next.reserve(levels.back().size() * wing_moves_.size());
        for (const std::uint64_t key : levels.back())
            for (std::size_t t = 0; t < wing_moves_.size(); ++t)
                next.push_back(key_of(wing_moves_[t](static_cast<Mask>(key >> kMiddleBits)),
                                      middle_moves_[t][key % kMiddles]));
        std::sort(next.begin(), next.end());
        next.erase(std::unique(next.begin(), next.end()), next.end());
        if (depth > 0) next = without(next, levels[depth - 1]);
        levels.push_back(without(next, levels[depth]));
        if (!progress(kDone[depth])) return false;
    }
    auto* const starts = part<std::uint32_t>(table, 0);
    auto* const entries = part<std::uint16_t>(table, aligned((kRanks + 1) * sizeof(std::uint32_t)));
    std::fill(starts, starts + kRanks + 1, 0);
    for (const Keys& level : levels)
        for (const std::uint64_t key : level)
            ++starts[rank_(static_cast<Mask>(key >> kMiddleBits) >> 1) + 1];
    for (int rank = 0; rank < kRanks; ++rank) starts[rank + 1] += starts[rank];
    if (starts[kRanks] != kStates) throw std::logic_error("a wrong number of near edges");
    // While they are filled in, the starts are those of the next one.
    for (std::size_t depth = 0; depth < levels.size(); ++depth)
        for (const std::uint64_t key : levels[depth])
            entries[starts[rank_(static_cast<Mask>(key >> kMiddleBits) >> 1)]++] =
                static_cast<std::uint16_t>(key % kMiddles | depth << kMiddleBits);
    std::copy_backward(starts, starts + kRanks, starts + kRanks + 1);
    starts[0] = 0;
    return progress(1.0);
}

}  // namespace cubist
