// The centres of a face and the opposite one on a 5x5x5 whose axes are apart.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "reduction/five_cube.hpp"
#include "reduction/orbit_moves.hpp"

namespace cubist {

// Where a coordinate of centres goes, by turn or symmetry and value.
using CentreMoves = std::vector<std::vector<std::uint16_t>>;

// Which of them have the colour of the first face, on the diagonals (x) and beside the middle (t).
class AxisCentres {
public:
    static constexpr int kHalf = 70, kCount = kHalf * kHalf;

    AxisCentres();

    int number(Mask x, Mask t) const { return rank_(x) * kHalf + rank_(t); }
    int number_at(const FiveState& state, int axis) const;
    int solved() const { return number(0xF, 0xF); }
    // The same arrangement of the other colour.
    int exchanged(int number) const {
        return this->number(0xFF ^ masks_[number / kHalf], 0xFF ^ masks_[number % kHalf]);
    }
    // What a move of the orbits does, by number.
    std::vector<std::uint16_t> moves(int axis, const OrbitMove& x, const OrbitMove& t) const;

private:
    SubsetRank rank_{8, 4};
    std::vector<Mask> masks_;
};

}  // namespace cubist
