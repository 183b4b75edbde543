// Positions as the optimal search sees them: three views, along the three axes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "optimal/optimal_table.hpp"

namespace cubist {

struct OptimalNode {
    std::array<OptimalView, kViews> views;

    // A lower bound on the turns to solved. When all views agree on a distance above 0 the true one
    // is longer: the last turn of a solution does not matter in the view along its own axis, where
    // the goal therefore comes a turn earlier.
    int bound() const {
        const int a = views[0].distance, b = views[1].distance, c = views[2].distance;
        return std::max({a, b, c}) + (a == b && b == c && a > 0 ? 1 : 0);
    }
};

// Which turns may follow which, so that sequences that only differ in the order of commuting turns,
// or could be shortened on one face, are visited once. States are numbers; 0 is the start.
class Succession {
public:
    static constexpr int kDisallowed = -1;

    explicit Succession(OptimalMetric metric);
    int after(int state, int turn) const { return next_[state][turn]; }

private:
    // Per face turned last: whether, counting quarters, a second clockwise one may follow.
    static constexpr int kStates = 1 + 2 * kFaces;

    std::array<std::array<std::int8_t, kFaceTurns>, kStates> next_;
};

// A position with the turns that led to it.
struct OptimalStart {
    OptimalNode node;
    CubieCube cube;
    int state = 0;
    std::vector<int> turns;
};

class OptimalNodes {
public:
    OptimalNodes(const OptimalTable& table, OptimalMetric metric);

    OptimalStart root(const CubieCube& cube) const;
    // No solution is shorter, by what the table says of the cube and, if it is cut off, its
    // inverse.
    int bound(const CubieCube& cube) const;
    // The positions after each turn that may follow.
    std::vector<OptimalStart> next(const OptimalStart& start) const;
    const OptimalTable& table() const { return table_; }
    const std::vector<int>& turns() const { return turns_; }
    const Succession& succession() const { return succession_; }

    // The view along an axis after a turn of the cube; its distance is still the one before.
    OptimalView turned(OptimalView view, int axis, int turn) const {
        return table_.after(view, seen_[axis][view.symmetry][turn]);
    }
    // Along one axis, from what it was before the turn.
    int distance(const OptimalNode& node, int axis) const {
        return table_.distance(node.views[axis], node.views[axis].distance);
    }
    void prefetch_turns(const OptimalNode& node) const {
        for (const OptimalView& view : node.views) table_.prefetch_links(view);
    }

private:
    int descended(OptimalView view) const;

    const OptimalTable& table_;
    const std::vector<int>& turns_;
    Succession succession_;
    // The turn as seen along each axis through each symmetry.
    std::array<std::array<std::array<std::uint8_t, kFaceTurns>, kSymmetries>, kViews> seen_{};
};

// The branches of one thread of the optimal search, many at a time.
//
// Nearly all of its time a search waits for memory, so that what will be looked at is asked for of
// many positions before the first of them is looked at. Positions that are as many turns on are
// collected from all branches until there are enough to go on from together.

// `kIsCutOff` says what the table is. If it is, the inverses of positions are looked up too, and
// memory is asked for as from a large table: only those are worth cutting off.
template <bool kIsCutOff>
class OptimalWalk {
public:
    using Finish = std::function<void(const std::vector<int>& turns)>;

    // Sequences of `depth` turns after which all views are home go to `finish`; positions that are
    // gone on from are added to `counter`.
    OptimalWalk(const OptimalNodes& nodes, int depth, const std::atomic<bool>& halted,
                std::atomic<std::uint64_t>& counter, Finish finish);

    // Sequences that begin as `start` does are looked at now or in run_out(), unless halted.
    void add(const OptimalStart& start);
    void run_out() { run_out(0); }

private:
    static constexpr int kTogether = 64;
    // After so many what waits is run out, for a solution may be among it.
    static constexpr int kPatience = 10'000;
    // What is asked for past the second-level cache must be looked at before it leaves the first.
    static constexpr int kCandidates = kIsCutOff ? 48 : 64;
    static constexpr int kCandidatesRoom = kCandidates + kFaceTurns;

    struct Candidate {
        OptimalNode node;
        std::int8_t turn, state;  // the last turn, and what may follow
        std::uint8_t farthest;    // the axis along which the parent is farthest
        std::uint8_t parent;      // on the level before
    };
    struct Nothing {};
    struct Position {
        OptimalNode node;
        [[no_unique_address]] std::conditional_t<kIsCutOff, CubieCube, Nothing> cube;
        std::array<std::int8_t, kLongestSolution> turns;
        std::int8_t state;
    };
    struct Inverse {
        std::array<OptimalPosition, kViews> positions;
        OptimalNode node;
        int number;  // of the position on its level
    };
    struct Level {
        int size = 0;
        std::array<Position, kTogether + kCandidatesRoom> positions;
    };

    int turns_left(int depth) const { return depth_ - depth; }
    void run_out(int first);
    void go_on(int depth);
    void add_children(int depth, int number);
    void sort_out(int depth);
    void turn_along(Candidate& child, int axis) const {
        OptimalView& view = child.node.views[axis];
        view = nodes_.turned(view, axis, child.turn);
        nodes_.table().template prefetch_distance<kIsCutOff>(view);
    }
    void accept(int depth);
    void drop_by_inverse(int depth)
        requires kIsCutOff;
    void measure_inverses(int axis, int left)
        requires kIsCutOff;
    void finish();
    void measure(int rank, int left);

    const OptimalNodes& nodes_;
    int depth_;
    const std::atomic<bool>& halted_;
    std::atomic<std::uint64_t>& counter_;
    Finish finish_;
    std::vector<Level> levels_;  // by turns
    int gone_on_ = 0;            // positions since what waited was run out
    int candidate_count_ = 0;
    std::array<Candidate, kCandidatesRoom> candidates_;
    int inverse_count_ = 0;
    std::array<Inverse, kTogether + kCandidatesRoom> inverses_;
};

}  // namespace cubist
