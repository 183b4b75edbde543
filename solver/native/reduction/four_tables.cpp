#include "reduction/four_tables.hpp"

#include <algorithm>

#include "cube/breadth_first.hpp"

namespace cubist {
namespace {

BlockTurn turn(int face, int layers, int quarters) {
    return {static_cast<std::uint8_t>(face), 1, static_cast<std::uint8_t>(layers),
            static_cast<std::uint8_t>(quarters)};
}

// All face turns, and block turns of two layers from U, R and F: those from the other side differ
// by a rotation of the cube.
BlockTurns block_turns(bool only_half_beside_right) {
    BlockTurns turns;
    for (int face = 0; face < kFaces; ++face)
        for (int quarters = 1; quarters < 4; ++quarters) turns.push_back(turn(face, 1, quarters));
    for (int face = 0; face < 3; ++face)
        for (int quarters = 1; quarters < 4; ++quarters)
            if (quarters == 2 || face == R || !only_half_beside_right)
                turns.push_back(turn(face, 2, quarters));
    return turns;
}

}  // namespace

PhaseTurns::PhaseTurns(const Geometry& geometry, BlockTurns all) : turns(std::move(all)) {
    const auto centre_slots = geometry.centre_slots(1, 1), wing_slots = geometry.wing_slots(1);
    for (const BlockTurn one : turns) {
        block.push_back(static_cast<std::uint8_t>(one.last == 2 ? 2 : one.face / 3));
        centres.push_back(orbit_move(geometry, one, centre_slots));
        wings.push_back(orbit_move(geometry, one, wing_slots));
        corner_parity.push_back(one.quarters % 2);
    }
}

std::size_t FourTables::bytes() { return kSizes[0] + kSizes[1] + kSizes[2] + PairingTable::kBytes; }

bool FourTables::make(std::span<std::uint8_t> table, int threads, const Progress& progress) {
    const FourTables empty(table);
    std::fill(table.begin(), table.end(), kUnreachable);
    empty.fill1(table.subspan(0, kSizes[0]));
    empty.fill2(table.subspan(kSizes[0], kSizes[1]));
    empty.fill3(table.subspan(kSizes[0] + kSizes[1], kSizes[2]));
    return empty.pairing_.make(table.subspan(table.size() - PairingTable::kBytes), threads,
                               progress);
}

FourTables::FourTables(std::span<const std::uint8_t> table)
    : geometry_(4),
      frame_(geometry_),
      phases_{PhaseTurns(geometry_, block_turns(false)), PhaseTurns(geometry_, block_turns(true)),
              PhaseTurns(geometry_, frame_.turns())},
      rank24_(24, 8),
      rank16_(16, 8),
      rank8_(8, 4),
      distances1_(table.subspan(0, kSizes[0])),
      distances2_(table.subspan(kSizes[0], kSizes[1])),
      distances3_(table.subspan(kSizes[0] + kSizes[1], kSizes[2])),
      pairing_(frame_) {
    pairing_.use(table.subspan(table.size() - PairingTable::kBytes));
    make_moves();
}

void FourTables::fill1(Distances distances) const {
    std::vector<MaskMove> moves;
    for (const OrbitMove& move : phases_[0].centres) moves.emplace_back(move);
    const std::vector<Mask> masks = rank24_.all();
    distances[rank24_(kRightLeft)] = 0;
    fill_breadth_first(distances, moves.size(), [&](std::uint32_t at, std::size_t t) {
        return static_cast<std::uint32_t>(rank24_(moves[t](masks[at])));
    });
}

// The arrangements of R and L that phase 3 can finish.
std::vector<bool> FourTables::pairs_in_reach() const {
    const auto found =
        reached_from({rank8_(0xF), rank8_(0xF0)}, kPair, moves3_[R].size(),
                     [this](int at, std::size_t turn) { return moves3_[R][turn][at]; });
    std::vector<bool> reached(kPair);
    for (const int at : found) reached[at] = true;
    return reached;
}

void FourTables::make_moves() {
    const std::vector<Mask> bands = rank16_.all(), pairs = rank8_.all();
    const auto number_of_pair = [&](const MaskMove& move, int at, int axis) {
        return rank8_(pair_of(move(from_pair(pairs[at], axis)), axis));
    };
    for (const OrbitMove& from : phases_[1].centres) {
        const MaskMove move(from);
        auto& band_goes_to = band_moves_.emplace_back();
        for (const Mask band : bands)
            band_goes_to.push_back(
                static_cast<std::uint16_t>(rank16_(band_of(move(from_band(band))))));
        auto& pair_goes_to = pair_moves_.emplace_back();
        for (int at = 0; at < kPair; ++at)
            pair_goes_to.push_back(static_cast<std::uint16_t>(number_of_pair(move, at, R)));
    }
    for (const OrbitMove& from : phases_[1].wings) wing_parity_.push_back(is_odd(from));
    for (int axis = 0; axis < 3; ++axis)
        for (const OrbitMove& from : phases_[2].centres) {
            const MaskMove move(from);
            auto& goes_to = moves3_[axis].emplace_back();
            for (int at = 0; at < kPair; ++at)
                goes_to[at] = static_cast<std::uint8_t>(number_of_pair(move, at, axis));
        }
    for (std::size_t t = 0; t < phases_[2].size(); ++t)
        parity3_.push_back(static_cast<std::uint8_t>(is_odd(frame_.low_move(static_cast<int>(t))) ^
                                                     phases_[2].corner_parity[t]));
}

void FourTables::fill2(Distances distances) const {
    const auto in_reach = pairs_in_reach();
    for (const Mask band : {Mask{0x0F0F}, Mask{0xF0F0}})
        for (int pair = 0; pair < kPair; ++pair)
            if (in_reach[pair]) distances[(rank16_(band) * kPair + pair) * 2] = 0;
    fill_breadth_first(distances, phases_[1].size(), [&](std::uint32_t at, std::size_t t) {
        const auto [band, pair, parity] =
            moved2({static_cast<std::uint16_t>(at / 2 / kPair),
                    static_cast<std::uint16_t>(at / 2 % kPair), static_cast<std::uint8_t>(at % 2)},
                   static_cast<int>(t));
        return static_cast<std::uint32_t>((band * kPair + pair) * 2 + parity);
    });
}

void FourTables::fill3(Distances distances) const {
    // Two axes turned round are the cube held otherwise; one or three would be its mirror image.
    for (int flipped = 0; flipped < 4; ++flipped) {
        const auto side = [&](bool is_flipped) {
            return static_cast<std::uint8_t>(rank8_(is_flipped ? 0xF0 : 0xF));
        };
        const bool first = flipped % 2 == 1, second = flipped / 2 == 1;
        distances[number3({{side(first), side(second), side(first != second)}, 0})] = 0;
    }
    fill_breadth_first(distances, phases_[2].size(), [&](std::uint32_t at, std::size_t t) {
        const State3 state{{static_cast<std::uint8_t>(at / 2 / kPair / kPair),
                            static_cast<std::uint8_t>(at / 2 / kPair % kPair),
                            static_cast<std::uint8_t>(at / 2 % kPair)},
                           static_cast<std::uint8_t>(at % 2)};
        return static_cast<std::uint32_t>(number3(moved3(state, static_cast<int>(t))));
    });
}

FourTables::State2 FourTables::state2(Mask band, Mask right, int parity) const {
    return {static_cast<std::uint16_t>(rank16_(band_of(band))),
            static_cast<std::uint16_t>(rank8_(pair_of(right, R))),
            static_cast<std::uint8_t>(parity)};
}

FourTables::State3 FourTables::state3(const std::array<Mask, 3>& masks, int parity) const {
    State3 state{{}, static_cast<std::uint8_t>(parity)};
    for (int axis = 0; axis < 3; ++axis)
        state.pairs[axis] = static_cast<std::uint8_t>(rank8_(pair_of(masks[axis], axis)));
    return state;
}

}  // namespace cubist
