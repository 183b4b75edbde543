// Coordinates and distances of the three phases that reduce a 4x4x4.
//
// 1. The eight centres of one axis go to R and L: any block turns.
// 2. The centres of the other two axes separate, those at R and L come into an order that half
//    turns can finish, and the wings' parity becomes even: no quarter turns of blocks but Rw.
// 3. Centres are finished and wings paired (see PairingTable), with the parity that a 3x3x3 has.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cube/cubie.hpp"
#include "cube/table_bytes.hpp"
#include "reduction/layered_cube.hpp"

namespace cubist {

// The distance of the wings of a 4x4x4 from being paired, once they can no longer change between
// the two half orbits.
//
// Turns of U D F B, half turns of R L and half turns of wide blocks move the 24 wings in two orbits
// of 12, "low" and "high", with one slot of each at every edge. If the two wings of every edge are
// in different orbits, sigma gives the edge that holds the high mate of each low wing. The aim is
// the identity, and sigma is even. A turn takes it to H sigma L', where L and H are the
// permutations of the edges by low and by high wings. Eight symmetries of the cube preserve those
// turns and map low to low, so they only rename the edges. They also keep the four edges of the
// slice between R and L together, so they reduce the first four values of sigma to 1538 classes;
// the others are numbered explicitly.

using EdgeMap = std::array<std::uint8_t, kEdges>;  // of edges 0..11, see PairingFrame::edges

// The remaining turns and their effect on low and high wings.
class PairingFrame {
public:
    explicit PairingFrame(const Geometry& geometry);

    // Edges by two wing slots, the low one first; those between R and L are 0..3.
    const std::array<std::array<std::uint8_t, 2>, kEdges>& edges() const { return edges_; }
    Mask low() const { return low_; }
    const BlockTurns& turns() const { return turns_; }
    // The destination of the low, or high, wing of each edge in a turn.
    const EdgeMap& low_move(int turn) const { return low_moves_[turn]; }
    const EdgeMap& high_move(int turn) const { return high_moves_[turn]; }
    // The eight symmetries as renamings of the edges, the identity first.
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
    static constexpr int kDeepest = 10;  // greater distances are all stored as "farther"

    explicit PairingTable(const PairingFrame& frame);

    // Fills `table`, uint8[kBytes]. Returns false if `progress` stopped it.
    bool make(std::span<std::uint8_t> table, int threads, const Progress& progress) const;
    void use(std::span<const std::uint8_t> table) { table_ = table; }

    int number(const EdgeMap& sigma) const;
    EdgeMap sigma(int number) const;
    // Returns the distance, or kDeepest + 1 for everything farther.
    int distance(const EdgeMap& sigma) const;
    // Returns the distance of a neighbour of a position `from` turns away.
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

// Turns of a phase. Turns of one axis commute, so they follow one another only in the order of
// their blocks.
struct PhaseTurns {
    PhaseTurns(const Geometry& geometry, BlockTurns all);

    std::size_t size() const { return turns.size(); }
    bool may_follow(int last, int next) const {
        return last < 0 || turns[last].axis() != turns[next].axis() || block[last] < block[next];
    }

    BlockTurns turns;
    std::vector<std::uint8_t> block;  // by turn: its block of the axis
    std::vector<OrbitMove> centres, wings;
    std::vector<std::uint8_t> corner_parity;
};

// The destination of a coordinate, by turn and value.
using CoordinateMoves = std::vector<std::vector<std::uint16_t>>;

class FourTables {
public:
    static constexpr int kBand = 12'870;  // sets of eight of the 16 centres at U F D B
    static constexpr int kPair = 70;      // sets of four of the eight centres of an axis

    // Bytes of all distances, the pairing's included; FourTables::make fills them.
    static std::size_t bytes();
    static bool make(std::span<std::uint8_t> table, int threads, const Progress& progress);

    // Takes stored tables, which the caller owns.
    explicit FourTables(std::span<const std::uint8_t> table);

    // Returns the turns until the centres of one axis, given as a mask of their slots, are at R and
    // L.
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
    // Takes the masks of the slots of three colours, one on each axis, named by the faces they
    // belong on.
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
