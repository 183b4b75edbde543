// The turns of phase 1 on one branch of a search, with what phase 2 wants to know of the cube.
//
// Permutations are brought up to date only when an end of phase 1 is looked at, from the depth on
// where the branch differs from the one looked at before.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "two_phase/phase2_tables.hpp"

namespace cubist {

constexpr int kMaxDepth = 64;

class Phase1Path {
public:
    Phase1Path(const Phase2Tables& tables, const CubieCube& cube) : tables_(&tables) {
        corners_[0] = static_cast<std::uint16_t>(corner_perm_of(cube));
        up_[0] = static_cast<std::uint16_t>(placement_of(cube, Layer::kUp));
        down_[0] = static_cast<std::uint16_t>(placement_of(cube, Layer::kDown));
        middle_[0] = static_cast<std::uint16_t>(placement_of(cube, Layer::kMiddle));
    }

    void push(int depth, int generator) {
        generators_[depth] = static_cast<std::uint8_t>(generator);
        corners_known_ = std::min(corners_known_, depth);
        edges_known_ = std::min(edges_known_, depth);
    }
    // Makes the path this one, up to wherever it is used.
    void follow(const std::array<std::uint8_t, kMaxDepth>& generators, int length) {
        const auto [own, other] =
            std::mismatch(generators_.begin(), generators_.begin() + length, generators.begin());
        const auto depth = static_cast<int>(own - generators_.begin());
        std::copy_n(other, length - depth, own);
        corners_known_ = std::min(corners_known_, depth);
        edges_known_ = std::min(edges_known_, depth);
    }
    int generator(int depth) const { return generators_[depth]; }

    // At the end of phase 1 after `length` turns.
    int corners(int length) {
        carry_corners(length);
        return corners_[length];
    }
    int middle_placement(int length) {
        carry_corners(length);
        return middle_[length];
    }
    int middle(int length) { return middle_placement(length) % kOrders; }
    int outer(int length) {
        carry_edges(length);
        return outer_edges(up_[length], down_[length]);
    }

private:
    void carry_corners(int length) {
        for (int& d = corners_known_; d < length; ++d) {
            corners_[d + 1] =
                static_cast<std::uint16_t>(tables_->corners_after(corners_[d], generators_[d]));
            middle_[d + 1] =
                static_cast<std::uint16_t>(tables_->placement_after(middle_[d], generators_[d]));
        }
    }
    void carry_edges(int length) {
        for (int& d = edges_known_; d < length; ++d) {
            up_[d + 1] =
                static_cast<std::uint16_t>(tables_->placement_after(up_[d], generators_[d]));
            down_[d + 1] =
                static_cast<std::uint16_t>(tables_->placement_after(down_[d], generators_[d]));
        }
    }

    const Phase2Tables* tables_;
    int corners_known_ = 0, edges_known_ = 0;  // depths up to which permutations are right
    std::array<std::uint8_t, kMaxDepth> generators_{};
    std::array<std::uint16_t, kMaxDepth + 1> corners_, up_, down_, middle_;
};

}  // namespace cubist
