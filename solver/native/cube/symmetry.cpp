#include "cube/symmetry.hpp"

#include <algorithm>

namespace cubist {
namespace {

constexpr FaceMap kIdentity{U, R, F, D, L, B};
constexpr FaceMap kQuarterAboutUD{U, F, L, D, B, R};
constexpr FaceMap kHalfAboutFB{D, L, F, U, R, B};
constexpr FaceMap kMirrorLR{U, L, F, D, R, B};

int number_of(const std::array<FaceMap, kSymmetries>& maps, const FaceMap& map) {
    return static_cast<int>(std::find(maps.begin(), maps.end(), map) - maps.begin());
}

Symmetries make_symmetries() {
    Symmetries s;
    for (int index = 0; index < kSymmetries; ++index) {
        FaceMap map = kIdentity;
        if (index & 8) map = compose(kHalfAboutFB, map);
        for (int quarter = 0; quarter < (index >> 1 & 3); ++quarter)
            map = compose(kQuarterAboutUD, map);
        if (index & 1) map = compose(kMirrorLR, map);
        s.maps[index] = map;
    }
    for (int a = 0; a < kSymmetries; ++a) {
        s.inverse[a] = static_cast<std::uint8_t>(number_of(s.maps, inverse(s.maps[a])));
        for (int b = 0; b < kSymmetries; ++b)
            s.product[a][b] =
                static_cast<std::uint8_t>(number_of(s.maps, compose(s.maps[a], s.maps[b])));
    }
    return s;
}

constexpr std::uint32_t kUnknown = 0xFFFFFFFF;

// The effect of a symmetry on a cube's middle slots and on its flips.
struct Seen {
    std::uint16_t slice, flip;
};

std::array<Seen, kSymmetries> seen_through_all(int flip_slice) {
    CubieCube cube;
    set_flip_slice(cube, flip_slice);
    std::array<Seen, kSymmetries> seen;
    for (int symmetry = 0; symmetry < kSymmetries; ++symmetry) {
        const CubieCube image = conjugate(cube, symmetries().maps[symmetry]);
        seen[symmetry] = {static_cast<std::uint16_t>(slice_of(image)),
                          static_cast<std::uint16_t>(flip_of(image))};
    }
    return seen;
}

// A symmetry moves the flips from slot to slot, then flips the edges whose first-named sticker is a
// different one in the new slot. Those edges depend on the slice alone; there are none if every
// edge is in a slot of its kind. So the flip seen for a flip-slice is the exclusive or of the one
// seen for its flip alone and the one seen for its slice alone.
std::vector<std::array<Seen, kSymmetries>> seen_flips() {
    std::vector<std::array<Seen, kSymmetries>> all;
    all.reserve(kFlips);
    for (int flip = 0; flip < kFlips; ++flip) all.push_back(seen_through_all(flip));
    return all;
}

std::vector<std::array<Seen, kSymmetries>> seen_slices() {
    std::vector<std::array<Seen, kSymmetries>> all;
    all.reserve(kSlices);
    for (int slice = 0; slice < kSlices; ++slice) all.push_back(seen_through_all(slice * kFlips));
    return all;
}

}  // namespace

const Symmetries& symmetries() {
    static const Symmetries all = make_symmetries();
    return all;
}

FlipSliceClasses::FlipSliceClasses() : packed(kFlipSlices, kUnknown) {
    const Symmetries& s = symmetries();
    const std::vector<std::array<Seen, kSymmetries>> flips = seen_flips(), slices = seen_slices();
    representatives.reserve(kFlipSliceClasses);
    stabilizers.reserve(kFlipSliceClasses);
    for (int raw = 0; raw < kFlipSlices; ++raw) {
        if (packed[raw] != kUnknown) continue;
        const int number = static_cast<int>(representatives.size());
        std::uint16_t stabilizer = 0;
        for (int symmetry = 0; symmetry < kSymmetries; ++symmetry) {
            const Seen slice = slices[raw / kFlips][symmetry];
            const int image =
                slice.slice * kFlips + (slice.flip ^ flips[raw % kFlips][symmetry].flip);
            if (image == raw) stabilizer |= static_cast<std::uint16_t>(1 << symmetry);
            if (packed[image] == kUnknown)
                packed[image] = packed_class(number, s.inverse[symmetry]);
        }
        representatives.push_back(static_cast<std::uint32_t>(raw));
        stabilizers.push_back(stabilizer);
    }
}

std::vector<std::array<std::uint8_t, kComposites>> conjugate_generators(
    const std::vector<std::uint8_t>& generators) {
    std::vector<std::array<std::uint8_t, kComposites>> out(kSymmetries);
    for (int symmetry = 0; symmetry < kSymmetries; ++symmetry)
        for (std::size_t g = 0; g < generators.size(); ++g) {
            const int image = conjugate_composite(generators[g], symmetries().maps[symmetry]);
            const auto at = std::find(generators.begin(), generators.end(), image);
            out[symmetry][g] = static_cast<std::uint8_t>(at - generators.begin());
        }
    return out;
}

}  // namespace cubist
