// The 5x5x5 as the colours of its centres and the pieces of its edges, turned by tables.
//
// It leaves out the corners: the turns move them along, and on a cube with middles the final 3x3x3
// has no parity.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reduction/finish.hpp"
#include "reduction/layered_cube.hpp"

namespace cubist {

// By slot: colours of the centres on the diagonals (x) and beside the middle (t), wings, and the
// stickers of middle edges. The last two are numbered as in wing_faces().
struct FiveState {
    using Orbit = std::array<std::uint8_t, kOrbit>;
    Orbit x, t, wings, middles;
};

class FiveCube {
public:
    static constexpr int kTurns = 36;  // faces by widths 1 and 2 by quarters

    FiveCube();

    static int number_of(BlockTurn turn) {
        return (turn.face * 2 + turn.last - 1) * 3 + turn.quarters - 1;
    }
    static BlockTurn turn(int number) {
        return {static_cast<std::uint8_t>(number / 6), 1,
                static_cast<std::uint8_t>(number / 3 % 2 + 1),
                static_cast<std::uint8_t>(number % 3 + 1)};
    }

    // Takes stickers in any colours; the middle centres name them. Throws std::invalid_argument for
    // pieces that no cube has.
    FiveState state_of(const Colours& shown) const;
    FiveState turned(const FiveState& state, int turn) const;
    // Returns the cube after a quarter rotation of the whole cube about U, R or F (0, 1, 2), with
    // the colours named by the faces they then belong on.
    FiveState rotated(const FiveState& state, int axis) const;
    // By face: the face that is in its place after that rotation.
    const std::array<std::uint8_t, kFaces>& faces_after(int axis) const {
        return rotations_[axis].shown;
    }

    // The effect of turns on the orbits.
    const OrbitMove& x_move(int turn) const { return turns_[turn].x; }
    const OrbitMove& t_move(int turn) const { return turns_[turn].t; }
    const OrbitMove& wing_move(int turn) const { return turns_[turn].wings; }
    const OrbitMove& middle_move(int turn) const { return turns_[turn].middles; }
    // The effect of renaming the faces on them.
    OrbitMove x_symmetry(const FaceMap& map) const;
    OrbitMove t_symmetry(const FaceMap& map) const;

    // Edges 0..3 lie on neither F nor B, 4..7 on neither R nor L, 8..11 on neither U nor D. Each
    // has two wing slots. Turns of U D F B and half turns of R L and of two layers keep the first
    // ones, "low", separate from the others. Likewise each edge has a low sticker of its middle.
    const std::array<std::array<std::uint8_t, 2>, kEdges>& slots() const { return slots_; }
    int edge_of(int slot) const { return edge_of_[slot]; }
    Mask low() const { return low_; }
    bool is_low(int slot) const { return (low_ >> slot & 1) != 0; }

private:
    struct Move {
        OrbitMove x, t, wings, middles;
    };
    struct Rotation {
        Move move;
        std::array<std::uint8_t, kFaces> shown, name;
        std::array<std::uint8_t, kOrbit> pair_name;
    };

    Move move_of(BlockTurn turn) const;
    static FiveState moved_by(const FiveState& state, const Move& move);
    void find_rotations();
    void find_edges();
    void refuse_impossible(const FiveState& state) const;

    Geometry geometry_;
    std::vector<int> x_slots_, t_slots_, wing_slots_, wing_seconds_, middle_slots_;
    std::array<Move, kTurns> turns_;
    std::array<Rotation, 3> rotations_;
    std::array<std::array<std::uint8_t, 2>, kEdges> slots_{};
    std::array<std::uint8_t, kOrbit> edge_of_{};
    Mask low_ = 0;
};

// A position in a search: the state as it is held, and the turns that led to it.
struct HeldFive {
    FiveState state;
    std::array<std::uint8_t, kFaces> face_of{0, 1, 2, 3, 4, 5};  // in the given cube, by face
    BlockTurns turns;                                            // of the given cube
    std::array<std::uint8_t, 5> ends{};  // numbers of turns at which the phases end
    int cost = 0;                        // turns so far, or their time
    int bound = 0;                       // cost plus the least that the next phase needs
    std::size_t start = 0;               // number of the given cube it started from
    int before = 0;                      // turns that led to that cube

    int length() const { return before + static_cast<int>(turns.size()); }
};

void turn_held(const FiveCube& cube, HeldFive& held, std::span<const std::uint8_t> turns);
void rotate_held(const FiveCube& cube, HeldFive& held, int axis);

// Turns of a phase. Turns of one axis commute, so they follow one another only in the order of
// their blocks.
struct FivePhase {
    explicit FivePhase(std::vector<std::uint8_t> all);
    // Takes the face turns and block turns of two layers that pass the test.
    static FivePhase of(const auto& is_allowed) {
        std::vector<std::uint8_t> all;
        for (int number = 0; number < FiveCube::kTurns; ++number)
            if (is_allowed(FiveCube::turn(number)))
                all.push_back(static_cast<std::uint8_t>(number));
        return FivePhase(std::move(all));
    }

    int size() const { return static_cast<int>(turns.size()); }
    // Returns the turns that may follow one of the phase, or be the first.
    const std::vector<std::uint8_t>& after(int last) const { return followers[last + 1]; }

    std::vector<std::uint8_t> turns;                   // numbers of FiveCube
    std::vector<std::vector<std::uint8_t>> followers;  // places in `turns`, by the last place + 1
};

// The centres of a face and the opposite one on a 5x5x5 whose axes are separated.

// The destination of each arrangement of centres, by turn or symmetry.
using CentreMoves = std::vector<std::vector<std::uint16_t>>;

// Numbers the arrangements of those with the colour of the first face, on the diagonals (x) and
// beside the middle (t).
class AxisCentres {
public:
    static constexpr int kHalf = 70, kCount = kHalf * kHalf;

    AxisCentres();

    int number(Mask x, Mask t) const { return rank_(x) * kHalf + rank_(t); }
    int number_at(const FiveState& state, int axis) const;
    int solved() const { return number(0xF, 0xF); }
    // Returns the same arrangement of the other colour.
    int exchanged(int number) const {
        return this->number(0xFF ^ masks_[number / kHalf], 0xFF ^ masks_[number % kHalf]);
    }
    // The effect of a move of the orbits, by number.
    std::vector<std::uint16_t> moves(int axis, const OrbitMove& x, const OrbitMove& t) const;

private:
    SubsetRank rank_{8, 4};
    std::vector<Mask> masks_;
};

}  // namespace cubist
