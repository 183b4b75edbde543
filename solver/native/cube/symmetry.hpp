// The 16 rotations and reflections of the cube that keep the U-D axis. Cubes that are images of
// each other are equally far from the group of phase 2, so phase 1 stores only one of them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cube/coordinates.hpp"
#include "cube/metric.hpp"

namespace cubist {

constexpr int kSymmetries = 16;
constexpr int kFlipSliceClasses = 64430;

struct Symmetries {
    std::array<FaceMap, kSymmetries> maps;
    // First b, then a.
    std::array<std::array<std::uint8_t, kSymmetries>, kSymmetries> product;
    std::array<std::uint8_t, kSymmetries> inverse;
};

const Symmetries& symmetries();

// A class of flip-slices and the symmetry that leads to its representative, in one number.
constexpr std::uint32_t packed_class(int number, int symmetry) {
    return static_cast<std::uint32_t>(number * kSymmetries + symmetry);
}

// All flip-slices by class; the representative is the smallest of its class.
struct FlipSliceClasses {
    std::vector<std::uint32_t> representatives;  // ascending
    std::vector<std::uint32_t> packed;           // by flip-slice
    // The symmetries that keep each representative, as bits.
    std::vector<std::uint16_t> stabilizers;

    FlipSliceClasses();
};

// The numbers of the generators as seen through each symmetry.
std::vector<std::array<std::uint8_t, kComposites>> conjugate_generators(
    const std::vector<std::uint8_t>& generators);

}  // namespace cubist
