// The nodes of the optimal search: a position as three views, along the three axes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "optimal/optimal_table.hpp"

namespace cubist {

struct OptimalNode {
    std::array<OptimalView, kViews> views;

    // Returns a lower bound on the turns to solved. If all views agree on a distance above 0, the
    // true one is greater: the last turn of a solution changes nothing in the view along its own
    // axis, so that view reaches its goal one turn earlier.
    int bound() const {
        const int a = views[0].distance, b = views[1].distance, c = views[2].distance;
        return std::max({a, b, c}) + (a == b && b == c && a > 0 ? 1 : 0);
    }
};

// A set of face turns as bits.
using Turns = std::uint32_t;

// An automaton of the turns that may follow each other. It admits one of all sequences that differ
// only in the order of commuting turns, and none with turns of one face that could be merged.
// States are numbers; 0 is the start.
class Succession {
public:
    static constexpr int kDisallowed = -1;

    explicit Succession(OptimalMetric metric);
    int after(int state, int turn) const { return next_[state][turn]; }
    // Returns the turns that may follow.
    Turns allowed(int state) const { return allowed_[state]; }

private:
    // Two states per last face turned: in quarter turns, a second clockwise one may follow or not.
    static constexpr int kStates = 1 + 2 * kFaces;

    std::array<std::array<std::int8_t, kFaceTurns>, kStates> next_;
    std::array<Turns, kStates> allowed_{};
};

// A position and the turns that led to it.
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
    // Returns a lower bound on the solution, from the distances of the cube and of its inverse.
    int bound(const CubieCube& cube) const;
    // Returns the positions after each turn that may follow.
    std::vector<OptimalStart> next(const OptimalStart& start) const;
    const OptimalTable& table() const { return table_; }
    const std::vector<int>& turns() const { return turns_; }
    const Succession& succession() const { return succession_; }
    // Returns the turns that keep a position solved along an axis. None of them ends a shortest
    // path to it.
    Turns kept(int axis) const { return kept_[axis]; }

    // Returns the view along an axis after a turn of the cube. Its distance is still the old one.
    OptimalView turned(OptimalView view, int axis, int turn) const {
        return table_.after(view, seen_[axis][view.symmetry][turn]);
    }
    // Returns the distance along one axis, computed from that before the turn.
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
    std::array<Turns, kViews> kept_{};
};

// Searches many branches at a time in one thread of the optimal search.
//
// A search spends nearly all of its time waiting for memory. So the walk prefetches the table
// entries of many positions before it reads the first. It collects positions of equal depth from
// all branches until there are enough to expand together.
//
// A walk builds solutions from both ends. A position P is solved by turns m1 ... mk if its inverse
// is solved by mk' ... m1', so it may continue with m1 from P or with mk' from the inverse. Suppose
// that P is k turns from the goal of an axis, as many as are left. Then mk cannot be a turn that
// keeps this goal, because P would be nearer without it. In the half-turn metric the goal <U, D,
// R2, L2, F2, B2> rules out ten of eighteen turns, and two such axes leave four. The same holds for
// the inverse and m1. The walk continues from the side that has fewer turns to try.
class OptimalWalk {
public:
    using Finish = std::function<void(const std::vector<int>& turns)>;

    // Passes every sequence of `depth` turns that brings all views home to `finish`, and adds the
    // number of expanded positions to `counter`.
    OptimalWalk(const OptimalNodes& nodes, int depth, const std::atomic<bool>& halted,
                std::atomic<std::uint64_t>& counter, Finish finish);

    // Adds a branch: searches the sequences that begin like `start` now or in run_out(), unless
    // halted.
    void add(const OptimalStart& start);
    void run_out() { run_out(0); }

private:
    static constexpr int kTogether = 64;
    // Number of expanded positions after which the walk finishes all waiting ones, as one of them
    // may be a solution.
    static constexpr int kPatience = 10'000;
    // Lines that bypass the second-level cache must be read before they leave the first.
    static constexpr int kCandidates = 48;
    static constexpr int kCandidatesRoom = kCandidates + kFaceTurns;

    struct Candidate {
        OptimalNode node;
        std::int8_t turn, state;  // the last turn, and the Succession's state after it
        std::uint8_t farthest;    // the axis along which the parent is farthest
        std::uint8_t parent;      // its number on the previous level
    };
    struct Position {
        OptimalNode node;  // the position, or its inverse if the walk is on that side
        CubieCube cube;    // of the same side
        std::array<std::int8_t, kLongestSolution> turns;  // of the solution, from both its ends
        Turns allowed;                                    // from this side
        std::array<std::int8_t, 2> states;                // the Succession's, by side
        std::int8_t first;                                // number of turns from the beginning
        bool is_inverse;

        int side() const { return is_inverse ? 1 : 0; }
    };
    struct Inverse {
        std::array<OptimalPosition, kViews> positions;
        OptimalNode node;
        int number;  // number of the position on its level
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
        nodes_.table().prefetch_distance(view);
    }
    void accept(int depth);
    void drop_by_inverse(int depth);
    void measure_inverses(int axis, int left);
    void choose_side(Position& position, const OptimalNode& inverse, int left) const;
    void finish();
    void measure(int rank, int left);

    const OptimalNodes& nodes_;
    int depth_;
    const std::atomic<bool>& halted_;
    std::atomic<std::uint64_t>& counter_;
    Finish finish_;
    std::vector<Level> levels_;  // indexed by number of turns
    int gone_on_ = 0;            // positions expanded since the waiting ones were finished
    int candidate_count_ = 0;
    std::array<Candidate, kCandidatesRoom> candidates_;
    int inverse_count_ = 0;
    std::array<Inverse, kTogether + kCandidatesRoom> inverses_;
};

}  // namespace cubist
