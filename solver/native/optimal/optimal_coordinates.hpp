// What the table of the optimal search sees of a cube along one of three axes: the orientations of
// all cubies, and where the middle edges are.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cube/coordinates.hpp"
#include "cube/face_turns.hpp"
#include "optimal/optimal_row.hpp"

namespace cubist {

constexpr int kViews = 3;
// The rotation that shows a cube along the axis as it is seen along the first one.
FaceMap axis_map(int axis);

// A position along one axis; its twist has the number of a table's rows.
struct OptimalPosition {
    std::uint16_t flip, slice, twist;
    std::uint8_t kind;
};

// The three coordinates of a table and how turns and symmetries change them.
class OptimalCoordinates {
public:
    // `kinds` of orders: 1, 2, 6 or 24, else std::invalid_argument.
    explicit OptimalCoordinates(int kinds);

    // The set of the middle edges' slots, and the kind of their order in it.
    int placed_of(const CubieCube& cube) const {
        const int placement = placement_of(cube, Layer::kMiddle);
        return slice_of(cube) * kinds_ + kind_[placement % kOrders];
    }
    int flip_after(int flip, int turn) const { return flip_after_[flip * kFaceTurns + turn]; }
    int placed_after(int placed, int turn) const { return placed_after_[placed * kFaceTurns + turn]; }
    // Twists have the numbers of a table's rows.
    int twist_after(int twist, int turn) const { return twist_after_[twist * kFaceTurns + turn]; }
    int twist_seen(int twist, int symmetry) const {
        return twist_seen_[symmetry * optimal_row::kNumbers + twist];
    }
    int kind_seen(int placed, int symmetry) const {
        return kind_seen_[symmetry * kSlices * kinds_ + placed];
    }
    // A cube whose middle edges are so placed.
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

}  // namespace cubist
