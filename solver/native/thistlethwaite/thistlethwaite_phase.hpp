// One phase of Thistlethwaite's algorithm: from one group of positions into the next smaller one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cube/face_turns.hpp"
#include "cube/layout.hpp"

namespace cubist {

// A number that describes part of a cube, and how to make a cube with each of its values.
struct Coordinate {
    int values;
    std::function<int(const CubieCube&)> of;
    std::function<void(CubieCube&, int)> set;
};

using Turns = std::vector<std::uint8_t>;

// Two coordinates that are both 0 just in the group to be reached, the turns of the group left, and
// the exact distance of every pair: the heuristic table of the phase's IDA*.
class ThistlethwaitePhase {
public:
    // Throws Stopped when `progress` returns false.
    ThistlethwaitePhase(std::vector<int> turns, Coordinate first, Coordinate second,
                        const Progress& progress);

    int distance(const CubieCube& cube) const { return distance_[index(node_of(cube))]; }
    // Appends to `found` the ways of just `length` turns, at most `limit` of them in all, that end
    // in the group and do not start with a turn of `last_face` or out of order with it.
    void solutions(const CubieCube& cube, int length, int last_face, std::size_t limit,
                   std::vector<Turns>& found) const;
    std::size_t bytes() const { return distance_.size(); }
    const std::vector<std::uint8_t>& distances() const { return distance_; }

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

}  // namespace cubist
