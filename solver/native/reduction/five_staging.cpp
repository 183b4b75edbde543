#include "reduction/five_staging.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "cube/breadth_first.hpp"

namespace cubist {

namespace {

using Keys = std::vector<std::uint64_t>;  // mask of wings above the middles

constexpr int kMiddleBits = 11;

// Both choices of the low wings have the same key.
std::uint64_t key_of(Mask wings, int middles) {
    NearEdges::choose_name(wings, middles);
    return std::uint64_t{wings} << kMiddleBits | static_cast<std::uint64_t>(middles);
}

// Removes the other keys from the first ones; all are sorted.
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
    // Filling in the entries moves each start to that of the next row.
    for (std::size_t depth = 0; depth < levels.size(); ++depth)
        for (const std::uint64_t key : levels[depth])
            entries[starts[rank_(static_cast<Mask>(key >> kMiddleBits) >> 1)]++] =
                static_cast<std::uint16_t>(key % kMiddles | depth << kMiddleBits);
    std::copy_backward(starts, starts + kRanks, starts + kRanks + 1);
    starts[0] = 0;
    return progress(1.0);
}

namespace {

FivePhase any_turns() {
    return FivePhase::of([](BlockTurn) { return true; });
}

// Face turns of R and L change nothing here.
FivePhase turns_of_bands() {
    return FivePhase::of([](BlockTurn turn) {
        if (turn.axis() == R) return turn.last == 2;
        return turn.last == 1 || turn.quarters == 2;
    });
}

FivePhase face_turns_and_halves() {
    return FivePhase::of([](BlockTurn turn) { return turn.last == 1 || turn.quarters == 2; });
}

constexpr Mask kUpDown = 0x0F0F;  // in a band

}  // namespace

FiveStaging::FiveStaging(const FiveCube& cube)
    : cube_(cube),
      phase1_(any_turns()),
      phase2_(turns_of_bands()),
      phase3_(face_turns_and_halves()),
      near_(cube, phase3_) {
    for (const int turn : phase1_.turns) {
        x_moves1_.emplace_back(cube.x_move(turn));
        t_moves1_.emplace_back(cube.t_move(turn));
    }
    const std::vector<Mask> bands = rank16_.all();
    const auto band_moves = [&](const OrbitMove& from) {
        const MaskMove move(from);
        std::vector<std::uint16_t> goes_to;
        goes_to.reserve(bands.size());
        for (const Mask band : bands)
            goes_to.push_back(static_cast<std::uint16_t>(rank16_(band_of(move(from_band(band))))));
        return goes_to;
    };
    for (const int turn : phase2_.turns) {
        x_moves2_.push_back(band_moves(cube.x_move(turn)));
        t_moves2_.push_back(band_moves(cube.t_move(turn)));
        parities_.push_back(is_odd(cube.wing_move(turn)));
    }
    for (const int turn : phase3_.turns)
        right_moves3_.push_back(centres_.moves(R, cube.x_move(turn), cube.t_move(turn)));
}

std::size_t FiveStaging::bytes() {
    std::size_t bytes = NearEdges::bytes();
    for (const std::size_t size : kSizes) bytes += size;
    return aligned(bytes);
}

void FiveStaging::use(std::span<const std::uint8_t> table) {
    near_.use(table);
    std::size_t offset = NearEdges::bytes();
    const std::array<const std::uint8_t**, 5> parts{&distances1_[0], &distances1_[1],
                                                    &distances2_[0], &distances2_[1], &distances3_};
    for (std::size_t k = 0; k < parts.size(); ++k) {
        *parts[k] = table.data() + offset;
        offset += kSizes[k];
    }
}

bool FiveStaging::make(std::span<std::uint8_t> table, const Progress& progress) {
    fill(table.subspan(NearEdges::bytes()));
    return near_.make(table, progress);
}

void FiveStaging::fill(std::span<std::uint8_t> bytes) const {
    std::fill(bytes.begin(), bytes.end(), kUnreachable);
    std::array<std::span<std::uint8_t>, 5> parts;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        parts[k] = bytes.first(kSizes[k]);
        bytes = bytes.subspan(kSizes[k]);
    }
    fill1(parts[0], x_moves1_);
    fill1(parts[1], t_moves1_);
    fill2(parts[2], x_moves2_);
    fill2(parts[3], t_moves2_);
    // A position that half turns can finish counts as the end.
    for (const int at :
         reached_from({centres_.solved()}, AxisCentres::kCount, phase3_.turns.size(),
                      [&](int from, std::size_t turn) -> int {
                          const BlockTurn block = FiveCube::turn(phase3_.turns[turn]);
                          const bool keeps = block.axis() != R || block.quarters == 2;
                          return keeps ? right_moves3_[turn][from] : from;
                      }))
        parts[4][at] = 0;
    fill_breadth_first(parts[4], right_moves3_.size(),
                       [&](std::uint32_t at, std::size_t turn) { return right_moves3_[turn][at]; });
}

void FiveStaging::fill1(std::span<std::uint8_t> distances,
                        const std::vector<MaskMove>& moves) const {
    const std::vector<Mask> masks = rank24_.all();
    distances[rank24_(kRightLeft)] = 0;
    fill_breadth_first(distances, moves.size(), [&](std::uint32_t at, std::size_t turn) {
        return static_cast<std::uint32_t>(rank24_(moves[turn](masks[at])));
    });
}

void FiveStaging::fill2(std::span<std::uint8_t> distances, const CentreMoves& moves) const {
    distances[2 * rank16_(kUpDown)] = 0;
    fill_breadth_first(distances, moves.size(), [&](std::uint32_t at, std::size_t turn) {
        return 2 * moves[turn][at / 2] + (at % 2 ^ parities_[turn]);
    });
}

FiveStaging::State1 FiveStaging::state1(const FiveState& state) const {
    const auto is_right = [](int colour) { return colour % 3 == R; };
    return {mask_of(state.x, is_right), mask_of(state.t, is_right)};
}

FiveStaging::State2 FiveStaging::state2(const FiveState& state) const {
    const auto is_up = [](int colour) { return colour % 3 == U; };
    return {static_cast<std::uint16_t>(rank16_(band_of(mask_of(state.x, is_up)))),
            static_cast<std::uint16_t>(rank16_(band_of(mask_of(state.t, is_up)))),
            static_cast<std::uint8_t>(is_odd(state.wings))};
}

}  // namespace cubist
