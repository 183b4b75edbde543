#include "optimal_inverse.hpp"

#include <algorithm>
#include <utility>

namespace cubist {
namespace {

constexpr int kFirstMiddle = 4;  // the middle edges and their slots are 4..7
constexpr int kPlaces = kEdges * kEdges * kEdges * kEdges;

// Where a slot is found after the rotation: the one cubie oriented otherwise shows it.
int corner_image(int slot, const FaceMap& map) {
    CubieCube cube;
    cube.co[slot] = 1;
    const auto seen = conjugate(cube, map).co;
    return static_cast<int>(std::find_if(seen.begin(), seen.end(), [](int o) { return o != 0; }) -
                            seen.begin());
}

int edge_image(int slot, const FaceMap& map) {
    CubieCube cube;
    cube.eo[slot] = 1;
    const auto seen = conjugate(cube, map).eo;
    return static_cast<int>(std::find(seen.begin(), seen.end(), 1) - seen.begin());
}

}  // namespace

FaceMap axis_map(int axis) {
    FaceMap map{U, R, F, D, L, B};
    for (int third = 0; third < axis; ++third) map = compose(kDiagonalThird, map);
    return map;
}

OptimalInverse::OptimalInverse(const OptimalTable& table) {
    for (int axis = 0; axis < kViews; ++axis) {
        add_corners(axis);
        add_edges(axis);
    }
    place_middle(table);
}

void OptimalInverse::add_corners(int axis) {
    const FaceMap map = axis_map(axis);
    for (int slot = 0; slot < kCorners; ++slot)
        for (int cubie = 0; cubie < kCorners; ++cubie)
            for (std::uint8_t orientation = 0; orientation < 3; ++orientation) {
                CubieCube cube;
                std::swap(cube.cp[slot], cube.cp[cubie]);
                cube.co[slot] = orientation;
                const CubieCube seen = conjugate(cube.inverse(), map);
                CubieCube alone;
                const int image = corner_image(cubie, map);
                alone.co[image] = seen.co[image];
                twists_[slot][cubie][orientation] |= static_cast<Lanes>(twist_of(alone))
                                                     << (axis * kLaneBits);
            }
}

void OptimalInverse::add_edges(int axis) {
    const FaceMap map = axis_map(axis);
    for (int slot = 0; slot < kEdges; ++slot)
        for (int cubie = 0; cubie < kEdges; ++cubie)
            for (std::uint8_t orientation = 0; orientation < 2; ++orientation) {
                CubieCube cube;
                std::swap(cube.ep[slot], cube.ep[cubie]);
                cube.eo[slot] = orientation;
                const CubieCube seen = conjugate(cube.inverse(), map);
                CubieCube alone;
                const int image = edge_image(cubie, map);
                alone.eo[image] = seen.eo[image];
                flips_[slot][cubie][orientation] |= static_cast<Lanes>(flip_of(alone))
                                                    << (axis * kLaneBits);
            }
    for (int slot = 0; slot < kEdges; ++slot) {
        const int middle = edge_image(slot, map) - kFirstMiddle;
        if (middle < 0 || middle >= kMiddle) continue;
        middle_[axis][middle] = static_cast<std::uint8_t>(slot);
        int weight = 1;
        for (int later = middle + 1; later < kMiddle; ++later) weight *= kEdges;
        for (int edge = 0; edge < kEdges; ++edge)
            weights_[axis][middle][edge] = static_cast<std::uint16_t>(weight * edge_image(edge, map));
    }
}

// The slots with the first to the last middle edge are the digits of a place's number.
void OptimalInverse::place_middle(const OptimalTable& table) {
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
        const OptimalPosition position = table.position_of(cube);
        placed_[place] = static_cast<std::uint16_t>(position.slice << kKindBits | position.kind);
    }
}

std::array<OptimalPosition, kViews> OptimalInverse::positions(const CubieCube& cube) const {
    Lanes twists = 0, flips = 0;
    for (int slot = 0; slot < kCorners; ++slot) twists += twists_[slot][cube.cp[slot]][cube.co[slot]];
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
