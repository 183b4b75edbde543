// The centres in the bars of a 6x6x6 or 7x7x7, and what turns do to them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "reduction/finish.hpp"
#include "reduction/orbit_moves.hpp"
#include "reduction/three_cycles.hpp"

namespace cubist {

constexpr int kBarLayer = 2;  // which the core does not notice
constexpr int kCoreWidth = 3;
constexpr int kMostBarParts = 3;

using BarOrbit = std::array<std::uint8_t, kOrbit>;
using Bars = std::array<BarOrbit, kMostBarParts>;  // by part and bar: colours
using BarMove = std::array<OrbitMove, kMostBarParts>;

// Centres of an orbit, numbered by the bars that they are in.
struct BarPart {
    OrbitKind kind;
    int row, column;             // as ThreeCycles names the orbit
    std::vector<int> slots;      // stickers by bar
    std::array<int, kOrbit> of;  // bars by the slots of ThreeCycles
};

class BarModel {
public:
    explicit BarModel(const Geometry& geometry);

    const Geometry& geometry() const { return geometry_; }
    const std::vector<BarPart>& parts() const { return parts_; }
    Bars of(const Colours& stickers) const;

    BarMove move_of(BlockTurn turn) const;
    static BarMove identity();
    void apply(Bars& bars, const BarMove& move) const;
    // First one, then the other.
    BarMove both(const BarMove& one, const BarMove& other) const;

    // Centres that would have to be exchanged for the bar of these to have one colour.
    int wrong(int a, int b, int c) const {
        if (parts_.size() == 2) return a != b;
        if (a == b) return a != c;
        return a == c || b == c ? 1 : 2;
    }
    int wrong_at(const Bars& bars, int bar) const {
        return wrong(bars[0][bar], bars[1][bar], bars[2][bar]);
    }
    int wrong_in(const Bars& bars) const;

private:
    const Geometry& geometry_;
    std::vector<BarPart> parts_;
};

}  // namespace cubist
