// Bars: the centres of a 6x6x6 or 7x7x7 that become one centre of a 5x5x5.
//
// Layers 3 and N - 2 with those inside them, and the outermost ones, are a 4x4x4 or 5x5x5: the
// core. Beside each side of a core's face there is a bar of two (6x6x6) or three (7x7x7) centres.
// With all bars of one colour each and the core reduced, the cube is a 5x5x5 that turns by faces
// and by two layers.
//
// The core does not notice turns of layer 2. So a reduction of the core is given such turns where
// they help (BarBeam): each face turn may take layer 2 along for nothing, others cost one or
// two turns. Centres that are wrong then are exchanged, three at a time. Exchanges too are put in
// wherever they cost least, as every place in the sequence lets another one do the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "cube/control.hpp"
#include "reduction/finish.hpp"
#include "reduction/layered_cube.hpp"
#include "reduction/three_cycles.hpp"

namespace cubist {

// The centres in the bars of a 6x6x6 or 7x7x7, and what turns do to them.

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

// Turns of layer 2 among those of a core, by a beam search: few turns, and few wrong centres.
//
// Seen from the end of the core's reduction, a turn of layer 2 somewhere in it is a fixed exchange
// of a dozen centres: what follows it is only renaming. So the core's turns are gone through once;
// after each of them every position of the beam goes on with each turn of layer 2, or with none,
// and the best are kept by turns added and centres that would be wrong with no more of them. An
// exchange touches few bars, so a position costs some ten comparisons.

struct PairedBars {
    BlockTurns turns;
    double promise;  // turns in the end, about
};

class BarBeam {
public:
    // `core` in turns of the whole cube.
    BarBeam(const BarModel& model, const Bars& given, const BlockTurns& core);

    // The `count` best with `width` positions, best first; none when there is no time for that.
    std::vector<PairedBars> run(std::size_t width, std::size_t count,
                                const Deadline& deadline) const;

private:
    static constexpr int kNoExtra = 0;
    static constexpr int kExtras = 1 + kFaces * 3;
    static constexpr std::size_t kCentres = kOrbit * kMostBarParts;

    // A bar that an exchange touches, and where its centres come from.
    struct Touched {
        std::uint8_t bar;
        std::array<std::uint8_t, kMostBarParts> from;
    };
    // A turn of layer 2 after a turn of the core, seen from the end.
    struct Extra {
        std::vector<Touched> bars;
        int cost;  // turns added
    };
    struct Position {
        std::array<std::uint8_t, kCentres> colours;  // at the end, by part and bar
        int cost, wrong;
        std::uint32_t choice;
    };
    struct Choice {
        std::uint32_t before;
        std::uint8_t at, extra;
    };
    struct Child {
        int score;
        std::uint32_t parent;
        std::uint8_t extra;
    };

    static BlockTurn turn_of(std::size_t extra);
    int cost_of(std::size_t extra, std::size_t at) const;
    Extra extra_after(std::size_t extra, std::size_t at, const BarMove& rest) const;
    int wrong_at(const Position& position, const Touched& touched) const;
    std::vector<Child> children(const std::vector<Position>& positions, std::size_t at) const;
    void follow(Position& position, const Extra& extra) const;
    std::vector<Position> chosen(const std::vector<Position>& positions,
                                 std::vector<Child>& children, std::size_t at, std::size_t width,
                                 std::deque<Choice>& choices) const;
    BlockTurns turns_of(std::uint32_t choice, const std::deque<Choice>& choices) const;

    const BarModel& model_;
    const BlockTurns& core_;
    std::vector<std::array<Extra, kExtras>> extras_;  // by turn of the core
    Position start_{};
};

struct BarOptions {
    std::size_t count;  // results
    double time_limit;  // seconds of each thread; after it one result is enough
    int threads;
    const CancelFlag* cancel = nullptr;
};

// Whether a size has bars.
constexpr bool has_bars(int size) { return size == 6 || size == 7; }

// The core alone, and the cube as the 5x5x5 that it is when core and bars are done.
Colours core_of(const Geometry& geometry, const Colours& stickers);
Colours outside_of(const Geometry& geometry, const Colours& stickers);

// A reduction of the core as turns of the whole cube.
BlockTurns on_whole_cube(const BlockTurns& core);

// Turns that reduce the core and pair all bars: from those that reduce the core, shorter ones
// first. None only when cancelled.
std::vector<BlockTurns> pair_bars(const Geometry& geometry, const Colours& stickers,
                                  const std::vector<BlockTurns>& cores, const BarOptions& options);

}  // namespace cubist
