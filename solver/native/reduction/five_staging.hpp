// The first three phases of a 5x5x5; docs/reduction.md explains all five.
//
// 1. The centres of one axis go to R and L: any block turns.
// 2. Those of the other two axes separate, and the wings' parity becomes even: face turns, wide
//    half turns, and wide quarter turns of R and L only.
// 3. Wings go to half orbits that agree with the middles (NearEdges), and the centres at R and L
//    come into an order that half turns can finish: face turns, wide half turns.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cube/table_bytes.hpp"
#include "reduction/five_cube.hpp"

namespace cubist {

// Edges of a 5x5x5 that are nearly oriented: all positions up to seven turns away.
//
// The 24 wings are in two half orbits, low and high (see FiveCube). Each edge has a wing and a
// sticker of its middle that are called low. If all low wings are in low slots and all low stickers
// on low places, turns of U D F B and half turns of everything else keep them there. For an even
// number of edges, the low wing may be either of the two. With so many choices some position is
// near, so the table omits those farther away. Choosing the other wing of all edges changes
// nothing, so a position and its complement are one.

class NearEdges {
public:
    static constexpr int kDeepest = 7;
    static constexpr int kMiddles = 2048;  // sets of middles that show their other sticker (even)

    NearEdges(const FiveCube& cube, const FivePhase& phase);

    static std::size_t bytes();
    // Fills `table`, uint8[bytes()]. Returns false if `progress` stopped it.
    bool make(std::span<std::uint8_t> table, const Progress& progress) const;
    // The caller owns the table.
    void use(std::span<const std::uint8_t> table);

    // Returns the turns until the low wings (a mask of their slots) and the middles (bits of the
    // first eleven edges) are low; kDeepest + 1 for everything farther.
    int distance(Mask wings, int middles) const {
        choose_name(wings, middles);
        const int rank = rank_(wings >> 1);
        for (std::uint32_t at = starts_[rank]; at < starts_[rank + 1]; ++at)
            if ((entries_[at] & (kMiddles - 1)) == middles) return entries_[at] / kMiddles;
        return kDeepest + 1;
    }
    // Replaces a position by its complement if slot 0 has no low wing.
    static void choose_name(Mask& wings, int& middles) {
        if ((wings & 1) != 0) return;
        wings ^= (Mask{1} << kOrbit) - 1;
        middles ^= kMiddles - 1;
    }
    Mask wings_moved(Mask wings, int turn) const { return wing_moves_[turn](wings); }
    int middles_moved(int middles, int turn) const { return middle_moves_[turn][middles]; }

private:
    static constexpr int kRanks = 1'352'078;
    static constexpr int kStates = 5'448'194;

    void find_middle_moves(const FiveCube& cube, const FivePhase& phase);

    Mask low_;
    SubsetRank rank_{23, 11};  // of the slots but the first, which has a low wing
    std::vector<MaskMove> wing_moves_;
    std::vector<std::array<std::uint16_t, kMiddles>> middle_moves_;
    const std::uint32_t* starts_ = nullptr;   // by rank of the wings
    const std::uint16_t* entries_ = nullptr;  // middles, and the distance above them
};

class FiveStaging {
public:
    explicit FiveStaging(const FiveCube& cube);

    static std::size_t bytes();
    // Fills `table`, uint8[bytes()]. Returns false if `progress` stopped it.
    bool make(std::span<std::uint8_t> table, const Progress& progress);
    // The caller owns the table.
    void use(std::span<const std::uint8_t> table);

    // Centres of one axis as masks of their slots.
    struct State1 {
        Mask x, t;
    };
    const FivePhase& phase1() const { return phase1_; }
    // The colours that go to R and L.
    State1 state1(const FiveState& state) const;
    // Returns the bound of the state after a turn, or a lower one that is also more than `left`.
    int move(State1 at, int turn, int left, State1& next) const {
        next.t = t_moves1_[turn](at.t);  // first, as they are farther on average
        const int bound = distances1_[1][rank24_(next.t)];
        if (bound > left) return bound;
        next.x = x_moves1_[turn](at.x);
        return std::max<int>(bound, distances1_[0][rank24_(next.x)]);
    }
    int bound(State1 at) const {
        return std::max(distances1_[0][rank24_(at.x)], distances1_[1][rank24_(at.t)]);
    }

    // The colours of U and D among the other centres, and the parity of the wings.
    struct State2 {
        std::uint16_t x, t;
        std::uint8_t parity;
    };
    const FivePhase& phase2() const { return phase2_; }
    State2 state2(const FiveState& state) const;
    State2 moved(State2 at, int turn) const {
        return {x_moves2_[turn][at.x], t_moves2_[turn][at.t],
                static_cast<std::uint8_t>(at.parity ^ parities_[turn])};
    }
    int bound(State2 at) const {
        return std::max(distances2_[0][at.x * 2 + at.parity], distances2_[1][at.t * 2 + at.parity]);
    }

    // Low wings, middles that show their other sticker, and the centres at R and L.
    struct State3 {
        Mask wings;
        std::uint16_t middles, right;
    };
    const FivePhase& phase3() const { return phase3_; }
    // Calls `use` with every choice of low wings for which the edges and the centres at R and L are
    // at most `farthest` turns away.
    void each_state3(const FiveState& state, int farthest, const auto& use) const;
    State3 moved(State3 at, int turn) const {
        return {near_.wings_moved(at.wings, turn),
                static_cast<std::uint16_t>(near_.middles_moved(at.middles, turn)),
                right_moves3_[turn][at.right]};
    }
    int bound(State3 at) const {
        return std::max<int>(distances3_[at.right], near_.distance(at.wings, at.middles));
    }

private:
    static constexpr int kBand = 12'870;  // sets of eight of the 16 centres at U F D B
    static constexpr std::array<std::size_t, 5> kSizes{735'471, 735'471, kBand * 2, kBand * 2,
                                                       AxisCentres::kCount};

    void fill(std::span<std::uint8_t> bytes) const;
    void fill1(std::span<std::uint8_t> distances, const std::vector<MaskMove>& moves) const;
    void fill2(std::span<std::uint8_t> distances, const CentreMoves& moves) const;

    const FiveCube& cube_;
    FivePhase phase1_, phase2_, phase3_;
    SubsetRank rank24_{24, 8}, rank16_{16, 8};
    AxisCentres centres_;
    NearEdges near_;
    std::vector<MaskMove> x_moves1_, t_moves1_;
    CentreMoves x_moves2_, t_moves2_, right_moves3_;
    std::vector<std::uint8_t> parities_;
    std::array<const std::uint8_t*, 2> distances1_{}, distances2_{};
    const std::uint8_t* distances3_ = nullptr;
};

void FiveStaging::each_state3(const FiveState& state, int farthest, const auto& use) const {
    // By edge: the two slots of its wings, the place of its middle.
    std::array<Mask, kEdges> wings{};
    std::array<int, kEdges> places{};
    State3 at{0, 0, static_cast<std::uint16_t>(centres_.number_at(state, R))};
    for (int slot = 0; slot < kOrbit; ++slot) {
        wings[cube_.edge_of(state.wings[slot])] |= Mask{1} << slot;
        if (cube_.is_low(state.wings[slot])) at.wings |= Mask{1} << slot;
    }
    int middles = 0;
    for (int place = 0; place < kEdges; ++place) {
        const int sticker = state.middles[cube_.slots()[place][0]];
        places[cube_.edge_of(sticker)] = place;
        middles |= !cube_.is_low(sticker) << place;
    }
    const auto flip = [&](int edge) {
        at.wings ^= wings[edge];
        middles ^= 1 << places[edge];
    };
    // A Gray code of the sets of an even number of edges, without one of the edges because
    // complements are the same. Each step also flips the last edge.
    for (int count = 0; count < NearEdges::kMiddles / 2; ++count) {
        at.middles = static_cast<std::uint16_t>(middles % NearEdges::kMiddles);
        if (distances3_[at.right] <= farthest && near_.distance(at.wings, at.middles) <= farthest)
            use(at);
        flip(std::min(std::countr_one(static_cast<unsigned>(count)), kEdges - 2));
        flip(kEdges - 1);
    }
}

}  // namespace cubist
