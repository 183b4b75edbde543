// Coordinates and distances of the three phases that reduce a 4x4x4.
//
// 1. The eight centres of one axis go to R and L: any block turns.
// 2. The centres of the other two axes part, those at R and L come into an order that half turns
// can
//    finish, and the wings' parity becomes even: no quarter turns of blocks but Rw.
// 3. Centres are finished and wings paired, see pairing_table.hpp, with the parity that a 3x3x3
// has.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reduction/layered_cube.hpp"
#include "reduction/orbit_moves.hpp"
#include "reduction/pairing_table.hpp"

namespace cubist {

// Turns of a phase. Those of one axis commute: they follow one another only in the order of their
// blocks.
struct PhaseTurns {
    PhaseTurns(const Geometry& geometry, BlockTurns all);

    std::size_t size() const { return turns.size(); }
    bool may_follow(int last, int next) const {
        return last < 0 || turns[last].axis() != turns[next].axis() || block[last] < block[next];
    }

    BlockTurns turns;
    std::vector<std::uint8_t> block;  // by turn: which block of its axis
    std::vector<OrbitMove> centres, wings;
    std::vector<std::uint8_t> corner_parity;
};

// Where a coordinate goes, by turn and value.
using CoordinateMoves = std::vector<std::vector<std::uint16_t>>;

class FourTables {
public:
    static constexpr int kBand = 12'870;  // eight of the 16 centres at U F D B
    static constexpr int kPair = 70;      // four of the eight centres of an axis

    // Bytes of all distances, the pairing's included; FourTables::make fills them.
    static std::size_t bytes();
    static bool make(std::span<std::uint8_t> table, int threads, const Progress& progress);

    // Tables that were made before; they stay the caller's.
    explicit FourTables(std::span<const std::uint8_t> table);

    // The centres of one axis as the mask of their slots: turns until they are at R and L.
    int distance1(Mask axis) const { return distances1_[rank24_(axis)]; }

    struct State2 {
        std::uint16_t band, pair;  // one colour pair among U F D B, one colour among R L
        std::uint8_t parity;       // of the wings
    };
    State2 state2(Mask band, Mask right, int parity) const;
    State2 moved2(State2 at, int turn) const {
        return {band_moves_[turn][at.band], pair_moves_[turn][at.pair],
                static_cast<std::uint8_t>(at.parity ^ wing_parity_[turn])};
    }
    int distance2(State2 at) const {
        return distances2_[(at.band * kPair + at.pair) * 2 + at.parity];
    }

    struct State3 {
        std::array<std::uint8_t, 3> pairs;  // the colours U, R, F among the centres of their axes
        std::uint8_t parity;                // of the low wings and the corners together
    };
    // `masks` of the slots of three colours, one on each axis, named by the faces they go to.
    State3 state3(const std::array<Mask, 3>& masks, int parity) const;
    State3 moved3(const State3& at, int turn) const {
        return {{moves3_[0][turn][at.pairs[0]], moves3_[1][turn][at.pairs[1]],
                 moves3_[2][turn][at.pairs[2]]},
                static_cast<std::uint8_t>(at.parity ^ parity3_[turn])};
    }
    int distance3(const State3& at) const { return distances3_[number3(at)]; }

    const Geometry& geometry() const { return geometry_; }
    const PhaseTurns& turns(int phase) const { return phases_[phase - 1]; }
    const PairingFrame& frame() const { return frame_; }
    const PairingTable& pairing() const { return pairing_; }

private:
    static int number3(const State3& at) {
        return ((at.pairs[0] * kPair + at.pairs[1]) * kPair + at.pairs[2]) * 2 + at.parity;
    }
    // Distances by phase, one after the other.
    static constexpr std::array<std::size_t, 3> kSizes{735'471, std::size_t{kBand} * kPair * 2,
                                                       std::size_t{kPair} * kPair * kPair * 2};
    using Distances = std::span<std::uint8_t>;

    void make_moves();
    void fill1(Distances distances) const;
    void fill2(Distances distances) const;
    void fill3(Distances distances) const;
    std::vector<bool> pairs_in_reach() const;

    Geometry geometry_;
    PairingFrame frame_;
    std::array<PhaseTurns, 3> phases_;
    SubsetRank rank24_, rank16_, rank8_;
    std::span<const std::uint8_t> distances1_, distances2_, distances3_;
    PairingTable pairing_;
    CoordinateMoves band_moves_, pair_moves_;
    std::vector<std::uint8_t> wing_parity_, parity3_;
    std::array<std::vector<std::array<std::uint8_t, kPair>>, 3> moves3_;
};

}  // namespace cubist
