// The inverse of a position, as the table of the optimal search sees it along the three axes.
//
// A position and its inverse are as far from solved, but the table says different things of them. A
// turn of the cube changes the inverse from the other side, where the table's coordinates do not
// follow it, so that they are put together from the cubies every time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "optimal/optimal_coordinates.hpp"

namespace cubist {

class OptimalInverse {
public:
    explicit OptimalInverse(const OptimalCoordinates& coordinates);

    // Of the inverse of `cube`, by axis.
    std::array<OptimalPosition, kViews> positions(const CubieCube& cube) const;

private:
    // A number for each axis.
    using Lanes = std::uint64_t;
    static constexpr int kLaneBits = 16;
    static std::uint16_t lane(Lanes lanes, int axis) {
        return static_cast<std::uint16_t>(lanes >> (axis * kLaneBits));
    }

    static constexpr int kKindBits = 5;
    static constexpr int kMiddle = 4;  // slots between U and D

    void add_orientations(int axis);
    void weigh_middle(int axis);
    void place_middle(const OptimalCoordinates& coordinates);

    // What the cubie in a slot adds to the twist and the flip of the inverse.
    std::array<std::array<std::array<Lanes, 3>, kCorners>, kCorners> twists_{};
    std::array<std::array<std::array<Lanes, 2>, kEdges>, kEdges> flips_{};
    // The slots that are between U and D as seen along each axis, and what an edge there adds to
    // the number of its place among `placed_`, whose values are slice and kind.
    std::array<std::array<std::uint8_t, kMiddle>, kViews> middle_{};
    std::array<std::array<std::array<std::uint16_t, kEdges>, kMiddle>, kViews> weights_{};
    std::vector<std::uint16_t> placed_;
};

}  // namespace cubist
