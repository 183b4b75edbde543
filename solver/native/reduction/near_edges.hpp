// Edges of a 5x5x5 that are nearly oriented: all positions up to seven turns away.
//
// The 24 wings are in two half orbits, see FiveCube::low. Each edge has a wing and a sticker of its
// middle that are called low. Where all low wings stand in low slots and all low stickers on low
// places, turns of U D F B and half turns of everything else keep them there. Which of its two
// wings is an edge's low one may be chosen, for an even number of edges: with so many ways to
// choose, some position is near, and those farther away need not be known. Choosing the other wing
// of all edges changes nothing, so that a position and its complement are one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cube/table_bytes.hpp"
#include "reduction/five_cube.hpp"

namespace cubist {

class NearEdges {
public:
    static constexpr int kDeepest = 7;
    static constexpr int kMiddles = 2048;  // which middles show their other sticker; an even number

    NearEdges(const FiveCube& cube, const FivePhase& phase);

    static std::size_t bytes();
    // Fills `table`, uint8[bytes()]; false when stopped by `progress`.
    bool make(std::span<std::uint8_t> table, const Progress& progress) const;
    // The table stays the caller's.
    void use(std::span<const std::uint8_t> table);

    // Turns until the low wings, as the mask of their slots, and the middles, as bits of the first
    // eleven edges, are low; kDeepest + 1 for all that is farther.
    int distance(Mask wings, int middles) const {
        choose_name(wings, middles);
        const int rank = rank_(wings >> 1);
        for (std::uint32_t at = starts_[rank]; at < starts_[rank + 1]; ++at)
            if ((entries_[at] & (kMiddles - 1)) == middles) return entries_[at] / kMiddles;
        return kDeepest + 1;
    }
    // Of a position and its complement, the one whose slot 0 has a low wing.
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

}  // namespace cubist
