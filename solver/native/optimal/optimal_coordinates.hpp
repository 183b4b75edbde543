// One row of the optimal search's table: all twists at two bits each, on nine cache lines.
//
// A line holds 243 twists in its first 61 bytes. Its last two bytes have one bit per group of
// sixteen twists, cleared if any of the sixteen is near. In a group without near entries, the
// remainder modulo 3 alone gives a position's distance, without that of a neighbour.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cube/coordinates.hpp"
#include "cube/cubie.hpp"

namespace cubist {

namespace optimal_row {

constexpr int kLines = 9;
constexpr int kLineBytes = 64;
constexpr int kBytes = kLines * kLineBytes;
constexpr int kLineTwists = kTwists / kLines;
static_assert(kLines * kLineTwists == kTwists);

// Twists are numbered with gaps so that every line begins with a multiple of 256.
constexpr int kLineNumbers = 4 * kLineBytes;
constexpr int kNumbers = kLines * kLineNumbers;
constexpr int numbered(int twist) {
    return twist / kLineTwists * kLineNumbers + twist % kLineTwists;
}

// The location of bits in a row.
struct Place {
    std::uint16_t byte;
    std::uint8_t shift;
};

constexpr Place entry(int number) {
    return {static_cast<std::uint16_t>(number / 4), static_cast<std::uint8_t>(number % 4 * 2)};
}
// Returns the location of the near bit of a number's group of sixteen.
constexpr Place group(int number) {
    constexpr int kGroups = 16;
    const int group = number % kLineNumbers / kGroups;
    return {static_cast<std::uint16_t>((number / kLineNumbers + 1) * kLineBytes - kGroups / 8 +
                                       group / 8),
            static_cast<std::uint8_t>(group % 8)};
}
static_assert(entry(numbered(kTwists - 1)).byte < group(numbered(kTwists - 1)).byte - 1);

}  // namespace optimal_row

// The coordinates of the optimal search's table along one of three axes: the orientations of all
// cubies and the placement of the middle edges.

constexpr int kViews = 3;
// Returns the rotation that maps the given axis to the first one.
FaceMap axis_map(int axis);

// A position along one axis. The twist has the row's numbering, with gaps.
struct OptimalPosition {
    std::uint16_t flip, slice, twist;
    std::uint8_t kind;
};

// The three coordinates of a table, and how turns and symmetries change them.
class OptimalCoordinates {
public:
    // `kinds` is the number of kinds of orders: 1, 2, 6 or 24. Otherwise throws
    // std::invalid_argument.
    explicit OptimalCoordinates(int kinds);

    // Returns the number of the middle edges' set of slots and the kind of their order in it.
    int placed_of(const CubieCube& cube) const {
        const int placement = placement_of(cube, Layer::kMiddle);
        return slice_of(cube) * kinds_ + kind_[placement % kOrders];
    }
    int flip_after(int flip, int turn) const { return flip_after_[flip * kFaceTurns + turn]; }
    int placed_after(int placed, int turn) const {
        return placed_after_[placed * kFaceTurns + turn];
    }
    // Twists have the row's numbering, with gaps.
    int twist_after(int twist, int turn) const { return twist_after_[twist * kFaceTurns + turn]; }
    int twist_seen(int twist, int symmetry) const {
        return twist_seen_[symmetry * optimal_row::kNumbers + twist];
    }
    int kind_seen(int placed, int symmetry) const {
        return kind_seen_[symmetry * kSlices * kinds_ + placed];
    }
    // Returns a cube with this placement of the middle edges.
    CubieCube with_placed(int placed) const;
    OptimalPosition position_of(const CubieCube& cube) const;

private:
    void make_turns();
    void make_symmetries();

    int kinds_;
    std::array<std::uint8_t, kOrders> kind_{};
    std::array<std::uint8_t, kOrders> order_{};  // one order of each kind
    std::vector<std::uint16_t> flip_after_, placed_after_, twist_after_, twist_seen_;
    std::vector<std::uint8_t> kind_seen_;
};

// The inverse of a position in the coordinates of the optimal search's table, along the three axes.
//
// A position and its inverse are equally far from solved, but the table gives different bounds for
// them. A turn of the cube multiplies the inverse from the other side, for which the coordinates
// have no move tables, so this class computes them from the cubies each time.

class OptimalInverse {
public:
    explicit OptimalInverse(const OptimalCoordinates& coordinates);

    // Returns the positions of the inverse of `cube`, by axis.
    std::array<OptimalPosition, kViews> positions(const CubieCube& cube) const;

private:
    // One number per axis, packed into an integer.
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

    // Contribution of the cubie in a slot to the twist and the flip of the inverse.
    std::array<std::array<std::array<Lanes, 3>, kCorners>, kCorners> twists_{};
    std::array<std::array<std::array<Lanes, 2>, kEdges>, kEdges> flips_{};
    // The slots between U and D as seen along each axis, and the contribution of an edge there to
    // its index in `placed_`, whose values are slice and kind.
    std::array<std::array<std::uint8_t, kMiddle>, kViews> middle_{};
    std::array<std::array<std::array<std::uint16_t, kEdges>, kMiddle>, kViews> weights_{};
    std::vector<std::uint16_t> placed_;
};

}  // namespace cubist
