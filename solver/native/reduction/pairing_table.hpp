// How far the wings of a 4x4x4 are from being paired when they can no longer change between the two
// half orbits.
//
// Turns of U D F B, half turns of R L and half turns of wide blocks move the 24 wings in two orbits
// of 12, "low" and "high", with one slot of each at every edge. Where the two wings of every edge
// stand in different ones, sigma says at which edge the high mate of each low wing is. The aim is
// the identity, and sigma is even. A turn takes it to H sigma L', with the edges' exchanges by low
// and by high wings. Eight symmetries of the cube keep those turns and map low to low: they only
// rename the edges. They also keep the four edges of the slice between R and L together, so the
// first four values of sigma are reduced by them to 1538 classes, and the others are counted out.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cube/cubie.hpp"
#include "cube/table_bytes.hpp"
#include "reduction/orbit_moves.hpp"

namespace cubist {

using EdgeMap = std::array<std::uint8_t, kEdges>;  // of edges 0..11, see PairingFrame::edges

// The turns that are left and what they do to low and high wings.
class PairingFrame {
public:
    explicit PairingFrame(const Geometry& geometry);

    // Edges by two wing slots, the low one first; those between R and L are 0..3.
    const std::array<std::array<std::uint8_t, 2>, kEdges>& edges() const { return edges_; }
    Mask low() const { return low_; }
    const BlockTurns& turns() const { return turns_; }
    // Where the low, or high, wing of each edge goes in a turn.
    const EdgeMap& low_move(int turn) const { return low_moves_[turn]; }
    const EdgeMap& high_move(int turn) const { return high_moves_[turn]; }
    // How the eight symmetries rename the edges, the identity first.
    const std::vector<EdgeMap>& symmetries() const { return symmetries_; }

    // H sigma L'.
    EdgeMap moved(const EdgeMap& sigma, int turn) const {
        EdgeMap after;
        for (int edge = 0; edge < kEdges; ++edge)
            after[low_moves_[turn][edge]] = high_moves_[turn][sigma[edge]];
        return after;
    }

private:
    void find_edges(const std::vector<OrbitMove>& moves);
    void find_symmetries();

    BlockTurns turns_;
    std::array<std::array<std::uint8_t, 2>, kEdges> edges_{};
    std::array<std::uint8_t, kOrbit> edge_of_{};
    Mask low_ = 0;
    std::vector<EdgeMap> low_moves_, high_moves_, symmetries_;
};

class PairingTable {
public:
    static constexpr int kClasses = 1538;
    static constexpr int kRest = 20'160;  // even arrangements of eight
    static constexpr int kPositions = kClasses * kRest;
    static constexpr std::size_t kBytes = (kPositions + 3) / 4;
    static constexpr int kDeepest = 10;  // what is farther is only known to be so

    explicit PairingTable(const PairingFrame& frame);

    // Fills `table`, uint8[kBytes]; false when stopped by `progress`.
    bool make(std::span<std::uint8_t> table, int threads, const Progress& progress) const;
    void use(std::span<const std::uint8_t> table) { table_ = table; }

    int number(const EdgeMap& sigma) const;
    EdgeMap sigma(int number) const;
    // The distance, or kDeepest + 1 for all that is farther.
    int distance(const EdgeMap& sigma) const;
    // The same for a neighbour of a position `from` turns away.
    int distance_near(const EdgeMap& sigma, int from) const {
        const int remainder = remainder_of(number(sigma));
        if (remainder == kFar) return kDeepest + 1;
        return from - 1 + (remainder - from + 1 + 3 * kDeepest) % 3;
    }

private:
    static constexpr int kFar = 3;

    int remainder_of(int number) const {
        return table_[static_cast<std::size_t>(number) / 4] >> number % 4 * 2 & 3;
    }
    int raw(const EdgeMap& sigma) const;
    void find_classes();
    void set(std::vector<std::uint8_t>& distances, const EdgeMap& sigma, std::uint8_t value) const;

    struct Class {
        std::uint16_t number = 0;
        std::uint8_t symmetry = 0;
    };

    const PairingFrame& frame_;
    std::vector<Class> classes_;  // by the first four values
    std::vector<std::array<std::uint8_t, 4>> representatives_;
    std::vector<std::vector<std::uint8_t>> stabilisers_;  // symmetries that keep a class
    std::span<const std::uint8_t> table_;
};

}  // namespace cubist
