// The last two phases of a 5x5x5, after which it is a 3x3x3; docs/reduction.md explains all five.
//
// 4. Pairs four edges between F and B, and brings the centres at R, L, U and D into an order that
//    the last phase can finish. Turns: face turns of U and D, half turns of everything else.
// 5. With the cube rotated so that those four are between U and D, pairs the other edges and
//    finishes all centres. Turns: face turns of U and D, half turns of the rest, wide ones of R L F
//    B only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reduction/class_table.hpp"
#include "reduction/five_cube.hpp"

namespace cubist {

// Coordinates of the edges of a 5x5x5 whose wings stay in their half orbits.
//
// An edge is three pieces: its middle, the wing in a low slot and the one in a high slot, each at
// one of the eight places 0..7 in U and D. Middles are recorded by place, and wings by their place
// for each middle, so edges need no names.

constexpr int kPlaces = 8;
using PlaceMap = std::array<std::uint8_t, kPlaces>;  // destination of a piece

// The destinations of the pieces of the eight edges in U and D under a turn or a symmetry.
struct EdgeAction {
    PlaceMap middles, low, high;
};
EdgeAction edge_action(const FiveCube& cube, int turn);
EdgeAction edge_action(const FiveCube& cube, const FaceMap& map);

// Rotations and reflections that keep the axis of U and D and keep low wings low.
std::vector<FaceMap> symmetries_of_low(const FiveCube& cube, bool keeps_all_axes);
// A symmetry that takes low wings to high places and keeps all axes.
FaceMap mirror_of_low(const FiveCube& cube);

// Four of the eight edges: the places of their middles and, for each of them in the order of
// places, the place of a wing.
class FourEdges {
public:
    static constexpr int kMiddles = 70;
    static constexpr int kWings = 8 * 7 * 6 * 5;

    // The effect of an action on middles, and on wings by the middles before it.
    struct Action {
        std::array<std::uint8_t, kMiddles> middles, order;
        std::array<std::uint16_t, kWings> low, high;
    };

    FourEdges();

    Action action(const EdgeAction& action) const;
    int middles_of(Mask places) const { return rank_(places); }
    int wings_of(const std::array<std::uint8_t, 4>& places) const;
    int low(const Action& action, int middles, int wings) const {
        return sorted_[action.order[middles]][action.low[wings]];
    }
    int high(const Action& action, int middles, int wings) const {
        return sorted_[action.order[middles]][action.high[wings]];
    }

private:
    SubsetRank rank_{kPlaces, 4};
    std::vector<Mask> masks_;
    std::vector<std::array<std::uint8_t, 4>> places_;        // of wings by number
    std::array<std::uint16_t, 4096> number_{};               // of wings by places
    std::vector<std::array<std::uint8_t, 4>> orders_;        // all 24
    std::vector<std::array<std::uint16_t, kWings>> sorted_;  // wings by order
};

// All eight edges: by the place of each middle, the place of its wing. Number 0 means that all are
// paired.
class EightEdges {
public:
    static constexpr int kCount = 40'320;

    static int number_of(const PlaceMap& wings);
    static PlaceMap wings(int number);
    // The effect of an action that moves middles by `middles` and wings by `wings`.
    static std::vector<std::uint16_t> moves(const PlaceMap& middles, const PlaceMap& wings);
};

// Four edges as middles and low wings, reduced by four symmetries, with another coordinate.
class FourEdgesAnd {
public:
    FourEdgesAnd(const FourEdges& edges, const std::vector<FourEdges::Action>& turns,
                 const std::vector<FourEdges::Action>& symmetries);

    int firsts() const { return FourEdges::kMiddles * FourEdges::kWings; }
    int turns() const { return static_cast<int>(turns_.size()); }
    int symmetries() const { return static_cast<int>(symmetries_.size()); }
    static int first_of(int middles, int low) { return middles * FourEdges::kWings + low; }

protected:
    int acted(int first, const FourEdges::Action& action) const {
        const int middles = first / FourEdges::kWings, low = first % FourEdges::kWings;
        return first_of(action.middles[middles], edges_.low(action, middles, low));
    }

    const FourEdges& edges_;
    const std::vector<FourEdges::Action>& turns_;
    const std::vector<FourEdges::Action>& symmetries_;
    int paired_;  // at the places 0..3
};

// With the high wings.
class FourEdgesAndHigh : public FourEdgesAnd {
public:
    using FourEdgesAnd::FourEdgesAnd;

    int seconds() const { return FourEdges::kWings; }
    CoordinatePair moved(CoordinatePair at, int turn) const { return both(at, turns_[turn]); }
    CoordinatePair mapped(CoordinatePair at, int symmetry) const {
        return both(at, symmetries_[symmetry]);
    }
    bool is_goal(CoordinatePair at) const {
        return at.first == paired_ && at.second == paired_ % FourEdges::kWings;
    }

private:
    CoordinatePair both(CoordinatePair at, const FourEdges::Action& action) const {
        return {acted(at.first, action),
                edges_.high(action, at.first / FourEdges::kWings, at.second)};
    }
};

// A coordinate of centres: the effect of turns and symmetries, and the goals.
struct CentreCoordinate {
    CentreMoves turns, symmetries;
    std::vector<bool> goals;

    int size() const { return static_cast<int>(goals.size()); }
};

class FourEdgesAndCentres : public FourEdgesAnd {
public:
    FourEdgesAndCentres(const FourEdgesAnd& edges, const CentreCoordinate& centres)
        : FourEdgesAnd(edges), centres_(centres) {}

    int seconds() const { return centres_.size(); }
    CoordinatePair moved(CoordinatePair at, int turn) const {
        return {acted(at.first, turns_[turn]), centres_.turns[turn][at.second]};
    }
    CoordinatePair mapped(CoordinatePair at, int symmetry) const {
        return {acted(at.first, symmetries_[symmetry]), centres_.symmetries[symmetry][at.second]};
    }
    bool is_goal(CoordinatePair at) const {
        return at.first == paired_ && centres_.goals[at.second];
    }

private:
    const CentreCoordinate& centres_;
};

class FourEdgesPhase {
public:
    struct State {
        std::uint16_t right, up;           // centres
        std::uint16_t middles, low, high;  // of four edges
        // By table: edges; low wings, then high wings, with R and L; the same with U and D.
        std::array<std::uint8_t, 5> far;
    };

    explicit FourEdgesPhase(const FiveCube& cube);
    FourEdgesPhase(const FourEdgesPhase&) = delete;
    FourEdgesPhase& operator=(const FourEdgesPhase&) = delete;

    std::size_t bytes() const;
    bool make(std::span<std::uint8_t> table, int threads, const Progress& progress);
    void use(std::span<const std::uint8_t> table);

    const FivePhase& phase() const { return phase_; }
    // Calls `use` with the state for each choice of four edges that are in U and D.
    void each_state(const FiveState& state, const auto& use) const;
    // Returns false if the end is more than `left` turns away.
    bool move(const State& at, int turn, int left, State& next) const;
    int bound(const State& at) const {
        return std::max(*std::max_element(at.far.begin(), at.far.end()),
                        centre_distances_[centres_at(at.right, at.up)]);
    }

private:
    // Returns the index into `centre_distances_`. No other function knows its layout.
    std::size_t centres_at(int right, int up) const {
        return static_cast<std::size_t>(right) * up_.size() + up;
    }
    void find_centres();
    void find_rights();
    void fill_centres(std::span<std::uint8_t> distances) const;
    int first_mirrored(int middles, int high) const {
        return FourEdgesAnd::first_of(mirror_.middles[middles],
                                      edges_.high(mirror_, middles, high));
    }
    State state_of(const FiveState& state, Mask chosen) const;

    const FiveCube& cube_;
    FivePhase phase_;
    AxisCentres centres_;
    FourEdges edges_;
    std::vector<FaceMap> maps_;
    FaceMap mirror_map_;
    std::vector<FourEdges::Action> turns_, symmetries_;
    FourEdges::Action mirror_;
    CentreCoordinate right_, up_;
    std::vector<std::int16_t> right_number_;  // among the reachable ones, or -1
    std::vector<std::uint16_t> right_mirror_, up_mirror_;
    FourEdgesAndHigh with_high_;
    CoordinateClasses classes_;
    FourEdgesAndCentres with_right_, with_up_;
    ClassTable<FourEdgesAndHigh> high_table_;
    ClassTable<FourEdgesAndCentres> right_table_, up_table_;
    const std::uint8_t* centre_distances_ = nullptr;
};

// All eight edges in U and D by their low wings, with the centres there.
class EightEdgesAndCentres {
public:
    EightEdgesAndCentres(const CentreMoves& edge_turns, const CentreMoves& edge_symmetries,
                         const CentreCoordinate& centres)
        : edge_turns_(edge_turns), edge_symmetries_(edge_symmetries), centres_(centres) {}

    int firsts() const { return EightEdges::kCount; }
    int seconds() const { return centres_.size(); }
    int turns() const { return static_cast<int>(edge_turns_.size()); }
    int symmetries() const { return static_cast<int>(edge_symmetries_.size()); }
    CoordinatePair moved(CoordinatePair at, int turn) const {
        return {edge_turns_[turn][at.first], centres_.turns[turn][at.second]};
    }
    CoordinatePair mapped(CoordinatePair at, int symmetry) const {
        return {edge_symmetries_[symmetry][at.first], centres_.symmetries[symmetry][at.second]};
    }
    bool is_goal(CoordinatePair at) const { return at.first == 0 && centres_.goals[at.second]; }

private:
    const CentreMoves& edge_turns_;
    const CentreMoves& edge_symmetries_;
    const CentreCoordinate& centres_;
};

// The effect of turns, symmetries and the mirror on them.
struct EightEdgesMoves {
    EightEdgesMoves(const FiveCube& cube, const FivePhase& phase, const AxisCentres& centres);

    PlaceMap mirror_places;
    CentreMoves edge_turns, edge_symmetries, mirrored_turns;
    CentreCoordinate up;
    std::vector<std::uint16_t> up_mirror;
};

class EightEdgesPhase {
public:
    struct State {
        std::uint16_t low, high;  // wings, the high ones as seen in the mirror
        std::uint16_t up;         // centres at U and D
        std::uint8_t side;        // and at R L F B
        std::array<std::uint8_t, 2> far;
    };

    explicit EightEdgesPhase(const FiveCube& cube);
    EightEdgesPhase(const EightEdgesPhase&) = delete;
    EightEdgesPhase& operator=(const EightEdgesPhase&) = delete;

    std::size_t bytes() const;
    bool make(std::span<std::uint8_t> table, int threads, const Progress& progress);
    void use(std::span<const std::uint8_t> table);

    const FivePhase& phase() const { return phase_; }
    // Takes a state in which phase 4 ends, held as this phase requires.
    State state_of(const FiveState& state) const;
    // Returns false if the end is more than `left` turns away.
    bool move(const State& at, int turn, int left, State& next) const;
    int bound(const State& at) const {
        return std::max({at.far[0], at.far[1], centre_distances_[centres_at(at.side, at.up)]});
    }

private:
    static constexpr int kSides = 36;

    static std::size_t centres_at(int side, int up) {
        return static_cast<std::size_t>(side) * AxisCentres::kCount + up;
    }
    void find_sides();
    void fill_centres(std::span<std::uint8_t> distances) const;

    const FiveCube& cube_;
    FivePhase phase_;
    AxisCentres centres_;
    EightEdgesMoves moves_;
    std::vector<std::array<int, 2>> sides_;  // centres of R and L, of F and B
    std::vector<std::array<std::uint8_t, kSides>> side_turns_;
    EightEdgesAndCentres with_up_;
    CoordinateClasses classes_;
    ClassTable<EightEdgesAndCentres> table_;
    const std::uint8_t* centre_distances_ = nullptr;
};

void FourEdgesPhase::each_state(const FiveState& state, const auto& use) const {
    Mask outside = 0xFFF;  // edges without a piece between U and D
    for (int place = kPlaces; place < kEdges; ++place)
        for (const int slot : cube_.slots()[place]) {
            outside &= ~(1U << cube_.edge_of(state.wings[slot]));
            outside &= ~(1U << cube_.edge_of(state.middles[slot]));
        }
    for (Mask chosen = outside; chosen != 0; chosen = (chosen - 1) & outside)
        if (std::popcount(chosen) == 4) use(state_of(state, chosen));
}

}  // namespace cubist
