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
