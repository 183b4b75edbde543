#include "optimal/optimal_inverse.hpp"

#include <algorithm>
#include <utility>

namespace cubist {
namespace {

constexpr int kFirstMiddle = first_edge(Layer::kMiddle);
constexpr int kPlaces = kEdges * kEdges * kEdges * kEdges;

// Where a slot is found after the rotation: the one cubie oriented otherwise shows it.
template <auto kOrientations>
int image_of(int slot, const FaceMap& map) {
    CubieCube cube;
    (cube.*kOrientations)[slot] = 1;
    const auto seen = conjugate(cube, map).*kOrientations;
    return static_cast<int>(std::find_if(seen.begin(), seen.end(), [](int o) { return o != 0; }) -
                            seen.begin());
}

// The inverse of a cube with that cubie in the slot, as seen along the axis; all others are oriented.
template <auto kCubies, auto kOrientations>
CubieCube inverse_with(int slot, int cubie, int orientation, const FaceMap& map) {
    CubieCube cube;
    std::swap((cube.*kCubies)[slot], (cube.*kCubies)[cubie]);
    (cube.*kOrientations)[slot] = static_cast<std::uint8_t>(orientation);
    const auto seen = conjugate(cube.inverse(), map).*kOrientations;
    const int image = image_of<kOrientations>(cubie, map);
    CubieCube alone;
    (alone.*kOrientations)[image] = seen[image];
    return alone;
}

}  // namespace

OptimalInverse::OptimalInverse(const OptimalCoordinates& coordinates) {
    for (int axis = 0; axis < kViews; ++axis) {
        add_orientations(axis);
        weigh_middle(axis);
    }
    place_middle(coordinates);
}

void OptimalInverse::add_orientations(int axis) {
    const FaceMap map = axis_map(axis);
    const int shift = axis * kLaneBits;
    const auto in_lane = [shift](int value) { return static_cast<Lanes>(value) << shift; };
    for (int slot = 0; slot < kCorners; ++slot)
        for (int cubie = 0; cubie < kCorners; ++cubie)
            for (int twist = 0; twist < 3; ++twist)
                twists_[slot][cubie][twist] |= in_lane(twist_of(
                    inverse_with<&CubieCube::cp, &CubieCube::co>(slot, cubie, twist, map)));
    for (int slot = 0; slot < kEdges; ++slot)
        for (int cubie = 0; cubie < kEdges; ++cubie)
            for (int flip = 0; flip < 2; ++flip)
                flips_[slot][cubie][flip] |= in_lane(flip_of(
                    inverse_with<&CubieCube::ep, &CubieCube::eo>(slot, cubie, flip, map)));
}

void OptimalInverse::weigh_middle(int axis) {
    const FaceMap map = axis_map(axis);
    std::array<int, kEdges> image;
    for (int slot = 0; slot < kEdges; ++slot) image[slot] = image_of<&CubieCube::eo>(slot, map);
    for (int middle = kMiddle - 1, weight = 1; middle >= 0; --middle, weight *= kEdges) {
        const auto slot = std::find(image.begin(), image.end(), kFirstMiddle + middle);
        middle_[axis][middle] = static_cast<std::uint8_t>(slot - image.begin());
        for (int edge = 0; edge < kEdges; ++edge)
            weights_[axis][middle][edge] = static_cast<std::uint16_t>(weight * image[edge]);
    }
}

// The slots with the first to the last middle edge are the digits of a place's number.
void OptimalInverse::place_middle(const OptimalCoordinates& coordinates) {
    placed_.resize(kPlaces);
    for (int place = 0; place < kPlaces; ++place) {
        CubieCube cube;
        cube.ep.fill(0);
        int count = 0;
        for (int middle = kMiddle - 1, rest = place; middle >= 0; --middle, rest /= kEdges) {
            count += cube.ep[rest % kEdges] == 0;
            cube.ep[rest % kEdges] = static_cast<std::uint8_t>(kFirstMiddle + middle);
        }
        if (count < kMiddle) continue;  // two in one slot
        const OptimalPosition position = coordinates.position_of(cube);
        placed_[place] = static_cast<std::uint16_t>(position.slice << kKindBits | position.kind);
    }
}

std::array<OptimalPosition, kViews> OptimalInverse::positions(const CubieCube& cube) const {
    Lanes twists = 0, flips = 0;
    for (int slot = 0; slot < kCorners; ++slot)
        twists += twists_[slot][cube.cp[slot]][cube.co[slot]];
    for (int slot = 0; slot < kEdges; ++slot) flips += flips_[slot][cube.ep[slot]][cube.eo[slot]];
    std::array<OptimalPosition, kViews> positions;
    for (int axis = 0; axis < kViews; ++axis) {
        int place = 0;
        for (int middle = 0; middle < kMiddle; ++middle)
            place += weights_[axis][middle][cube.ep[middle_[axis][middle]]];
        const int placed = placed_[place];
        positions[axis] = {lane(flips, axis), static_cast<std::uint16_t>(placed >> kKindBits),
                           static_cast<std::uint16_t>(optimal_row::numbered(lane(twists, axis))),
                           static_cast<std::uint8_t>(placed & ((1 << kKindBits) - 1))};
    }
    return positions;
}

}  // namespace cubist
