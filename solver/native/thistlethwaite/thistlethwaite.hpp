// One phase of Thistlethwaite's algorithm: from one group of positions into the next smaller one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "cube/cubie.hpp"
#include "cube/table_bytes.hpp"

namespace cubist {

// A number that describes part of a cube, and a cube for each of its values.
struct Coordinate {
    int values;
    std::function<int(const CubieCube&)> of;
    std::function<void(CubieCube&, int)> set;
};

using Turns = std::vector<std::uint8_t>;

// Two coordinates that are both 0 exactly in the group to reach, the remaining turns of the current
// group, and the exact distance of every pair, which is the heuristic of the phase's IDA*.
class ThistlethwaitePhase {
public:
    // Throws Stopped if `progress` returns false.
    ThistlethwaitePhase(std::vector<int> turns, Coordinate first, Coordinate second,
                        const Progress& progress);

    int distance(const CubieCube& cube) const { return distance_[index(node_of(cube))]; }
    // Appends to `found` the sequences of exactly `length` turns, up to `limit` in all, that end in
    // the group. Their first turn may follow one of `last_face` (see may_follow).
    void solutions(const CubieCube& cube, int length, int last_face, std::size_t limit,
                   std::vector<Turns>& found) const;
    std::size_t bytes() const { return distance_.size(); }

private:
    struct Node {
        int first, second;
    };
    struct Search;

    Node node_of(const CubieCube& cube) const { return {first_.of(cube), second_.of(cube)}; }
    std::size_t index(Node node) const {
        return static_cast<std::size_t>(node.first) * second_.values + node.second;
    }
    Node after(Node node, std::size_t turn) const {
        return {first_after_[node.first * turns_.size() + turn],
                second_after_[node.second * turns_.size() + turn]};
    }
    std::vector<std::uint16_t> transitions(const Coordinate& coordinate) const;
    void measure(const Progress& progress);
    void descend(Node node, int left, int last_face, Search& search) const;

    std::vector<int> turns_;
    Coordinate first_, second_;
    std::vector<std::uint16_t> first_after_, second_after_;
    std::vector<std::uint8_t> distance_;
};

// Coordinates of Thistlethwaite's last two phases, for cubes with all cubies oriented.

// Corner permutations, equivalent if half turns made first convert one to the other: 40320 / 96
// classes, the solved one 0. Renaming the cubies by half turns keeps a class, so turns lead from
// class to class.
Coordinate corner_orbits();
// The slots of U and D that hold the edges of the slice between L and R: 70 sets.
Coordinate edge_slices();
// The 96 permutations of corners in the half-turn group.
Coordinate half_turn_corners();
// The orders of the edges of each of the three slices, in the half-turn group.
Coordinate half_turn_edges();

// Thistlethwaite's algorithm: four groups, each phase solved by IDA* with its own exact table.
//
//   G0 = all positions, G1 = <L R F2 B2 U D>, G2 = <L2 R2 F2 B2 U D>, G3 = half turns only.
//
// Of the shortest paths through a phase and those one turn longer, it keeps the ones that leave the
// shortest path for the next phase: a beam of partial solutions instead of only the first one.

constexpr int kPhases = 4;

struct ThistlethwaiteSolution {
    std::array<Turns, kPhases> phases;

    std::size_t length() const;
};

class Thistlethwaite {
public:
    // Builds the four tables. Throws Stopped if `progress` returns false.
    explicit Thistlethwaite(const Progress& progress);

    // `width` is the number of partial solutions kept after a phase.
    ThistlethwaiteSolution solve(const CubieCube& cube, std::size_t width) const;
    const ThistlethwaitePhase& phase(int number) const { return phases_[number]; }
    std::size_t bytes() const;

private:
    std::array<ThistlethwaitePhase, kPhases> phases_;
};

}  // namespace cubist
