#include "reduction/orbit_moves.hpp"

#include <algorithm>
#include <numeric>

namespace cubist {

OrbitMove orbit_move(const Geometry& geometry, BlockTurn turn, const std::vector<int>& slots) {
    std::vector<std::uint16_t> stickers(geometry.stickers());
    std::iota(stickers.begin(), stickers.end(), std::uint16_t{0});
    geometry.turn(turn, stickers);
    OrbitMove from{};
    for (int slot = 0; slot < kOrbit; ++slot)
        from[slot] = static_cast<std::uint8_t>(
            std::find(slots.begin(), slots.end(), stickers[slots[slot]]) - slots.begin());
    return from;
}

int wing_number(int first, int second) {
    const auto& pairs = wing_faces();
    return static_cast<int>(std::find(pairs.begin(), pairs.end(), std::array{first, second}) -
                            pairs.begin());
}

std::vector<FaceMap> all_face_maps() {
    std::vector<FaceMap> maps;
    std::array<int, 3> axes{0, 1, 2};
    do
        for (int signs = 0; signs < 8; ++signs) {
            FaceMap map{};
            for (int axis = 0; axis < 3; ++axis) {
                const int image = axes[axis] + (signs >> axis & 1) * 3;
                map[axis] = static_cast<Face>(image);
                map[axis + 3] = static_cast<Face>(opposite(image));
            }
            maps.push_back(map);
        }
    while (std::next_permutation(axes.begin(), axes.end()));
    return maps;
}

OrbitMove sticker_symmetry(const Geometry& geometry, const FaceMap& map,
                           const std::vector<int>& slots) {
    OrbitMove from{};
    for (int slot = 0; slot < kOrbit; ++slot) {
        const Place place = geometry.place(slots[slot]);
        Place image{};
        for (int axis = 0; axis < 3; ++axis) {
            const Place old_normal = normal_of(axis), new_normal = normal_of(map[axis]);
            int along = 0;
            for (int k = 0; k < 3; ++k) along += place[k] * old_normal[k];
            for (int k = 0; k < 3; ++k) image[k] += along * new_normal[k];
        }
        const auto found = std::find(slots.begin(), slots.end(), geometry.sticker_at(image));
        from[found - slots.begin()] = static_cast<std::uint8_t>(slot);
    }
    return from;
}

OrbitMove wing_symmetry(const FaceMap& map) {
    OrbitMove from{};
    for (int slot = 0; slot < kOrbit; ++slot) {
        const auto [first, second] = wing_faces()[slot];
        // A reflection turns the order of a wing's faces round.
        const int image = is_reflection(map) ? wing_number(map[second], map[first])
                                             : wing_number(map[first], map[second]);
        from[image] = static_cast<std::uint8_t>(slot);
    }
    return from;
}

MaskMove::MaskMove(const OrbitMove& from) {
    for (int part = 0; part < 3; ++part)
        for (Mask bits = 0; bits < 256; ++bits)
            for (int slot = 0; slot < kOrbit; ++slot)
                if (from[slot] / 8 == part && (bits >> from[slot] % 8 & 1) != 0)
                    parts_[part][bits] |= Mask{1} << slot;
}

SubsetRank::SubsetRank(int slots, int count) : slots_(slots), count_(count) {
    const int high_slots = std::max(slots - kHalf, 0);
    low_.resize(std::size_t{1} << kHalf);
    std::array<int, kHalf + 1> of_count{};
    for (Mask low = 0; low < low_.size() && low < (Mask{1} << slots); ++low)
        low_[low] = of_count[std::popcount(low)]++;
    high_.resize(std::size_t{1} << high_slots);
    for (Mask high = 0; high < high_.size(); ++high) {
        high_[high] = size_;
        const int rest = count - std::popcount(high);
        if (rest >= 0 && rest <= kHalf) size_ += of_count[rest];
    }
}

std::vector<Mask> SubsetRank::all() const {
    std::vector<Mask> subsets(size_);
    for (Mask mask = 0; mask < (Mask{1} << slots_); ++mask)
        if (std::popcount(mask) == count_) subsets[(*this)(mask)] = mask;
    return subsets;
}

}  // namespace cubist
