// Coordinates of the edges of a 5x5x5 whose wings keep to their half orbits.
//
// An edge is three pieces: its middle, the wing in a low slot and the one in a high slot, each at
// one of the eight places 0..7 in U and D. Middles are followed as they stand, wings by where they
// are for each of the middles, so that edges need no names.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "reduction/five_cube.hpp"

namespace cubist {

constexpr int kPlaces = 8;
using PlaceMap = std::array<std::uint8_t, kPlaces>;  // where a piece goes

// Where a turn or a symmetry takes pieces of the eight edges in U and D.
struct EdgeAction {
    PlaceMap middles, low, high;
};
EdgeAction edge_action(const FiveCube& cube, int turn);
EdgeAction edge_action(const FiveCube& cube, const FaceMap& map);

// Rotations and reflections that keep the axis of U and D, and low wings low.
std::vector<FaceMap> symmetries_of_low(const FiveCube& cube, bool keeps_all_axes);
// One that takes low wings to high places and keeps all axes.
FaceMap mirror_of_low(const FiveCube& cube);

// Four of the eight edges: the places of their middles, and for each of them, in the order of
// places, that of a wing.
class FourEdges {
public:
    static constexpr int kMiddles = 70;
    static constexpr int kWings = 8 * 7 * 6 * 5;

    // What an action does to middles, and to wings by the middles before it.
    struct Action {
        std::array<std::uint8_t, kMiddles> middles, order;
        std::array<std::uint16_t, kWings> low, high;
    };

    FourEdges();

    Action action(const EdgeAction& action) const;
    int middles_of(Mask places) const { return rank_(places); }
    int wings_of(const std::array<std::uint8_t, 4>& places) const;
    int low(const Action& action, int middles, int wings) const {
        return sorted_[action.order[middles]][action.low[wings]];
    }
    int high(const Action& action, int middles, int wings) const {
        return sorted_[action.order[middles]][action.high[wings]];
    }

private:
    SubsetRank rank_{kPlaces, 4};
    std::vector<Mask> masks_;
    std::vector<std::array<std::uint8_t, 4>> places_;        // of wings by number
    std::array<std::uint16_t, 4096> number_{};               // of wings by places
    std::vector<std::array<std::uint8_t, 4>> orders_;        // all 24
    std::vector<std::array<std::uint16_t, kWings>> sorted_;  // wings by order
};

// All eight: by the place of each middle that of the wing. The number 0 is that all are together.
class EightEdges {
public:
    static constexpr int kCount = 40'320;

    static int number_of(const PlaceMap& wings);
    static PlaceMap wings(int number);
    // How an action takes middles by `middles` and wings by `wings`.
    static std::vector<std::uint16_t> moves(const PlaceMap& middles, const PlaceMap& wings);
};

}  // namespace cubist
