// Bars: the centres of a 6x6x6 or 7x7x7 that become one centre of a 5x5x5.
//
// Layers 3 and N - 2, those between them and the outermost ones form a 4x4x4 or 5x5x5: the core.
// Beside each side of a core's face there is a bar of two (6x6x6) or three (7x7x7) centres. Once
// each bar has a single colour and the core is reduced, the cube is a 5x5x5 that turns by faces and
// by two layers.
//
// Turns of layer 2 do not change the core. So BarBeam inserts such turns into a reduction of the
// core where they help: each face turn may take layer 2 along at no cost, others cost one or two
// turns. BarFinish exchanges the centres that are still wrong, three at a time. It inserts each
// exchange where it costs least: at every place in the sequence, the same cost buys a different
// exchange.
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

// The centres in the bars of a 6x6x6 or 7x7x7, and the effect of turns on them.

constexpr int kBarLayer = 2;  // turning it does not change the core
constexpr int kCoreWidth = 3;
constexpr int kMostBarParts = 3;

using BarOrbit = std::array<std::uint8_t, kOrbit>;
using Bars = std::array<BarOrbit, kMostBarParts>;  // colours by part and bar
using BarMove = std::array<OrbitMove, kMostBarParts>;

// Centres of an orbit, numbered by the bars they are in.
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

    // Returns the number of centres to exchange so that a bar of these centres has one colour.
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

// Adds turns of layer 2 to those of a core, by a beam search for few turns and few wrong centres.
//
// Seen from the end of the core's reduction, a turn of layer 2 inside it is a fixed exchange of a
// dozen centres, because the turns after it only rename places. So one pass over the core's turns
// suffices: after each of them the beam continues every position with each turn of layer 2 and with
// none. It keeps the best by turns added and by the centres that would be wrong without further
// turns. An exchange touches few bars, so a position costs about ten comparisons.

struct PairedBars {
    BlockTurns turns;
    double promise;  // estimate of the turns in the end
};

class BarBeam {
public:
    // `core` consists of turns of the whole cube.
    BarBeam(const BarModel& model, const Bars& given, const BlockTurns& core);

    // Returns the `count` best results of a beam of `width` positions, best first, or none if the
    // time runs out.
    std::vector<PairedBars> run(std::size_t width, std::size_t count,
                                const Deadline& deadline) const;

private:
    static constexpr int kNoExtra = 0;
    static constexpr int kExtras = 1 + kFaces * 3;
    static constexpr std::size_t kCentres = kOrbit * kMostBarParts;

    // A bar that an exchange touches, and the bars that its centres come from.
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
    std::size_t count;  // number of results
    double time_limit;  // seconds of each thread; after it one result is enough
    int threads;
    const CancelFlag* cancel = nullptr;
};

// Returns whether a size has bars.
constexpr bool has_bars(int size) { return size == 6 || size == 7; }

// Return the core alone, and the cube as the 5x5x5 that it is once core and bars are done.
Colours core_of(const Geometry& geometry, const Colours& stickers);
Colours outside_of(const Geometry& geometry, const Colours& stickers);

// Returns a reduction of the core as turns of the whole cube.
BlockTurns on_whole_cube(const BlockTurns& core);

// Completes reductions of the core, shorter ones first, to turns that also pair all bars. Returns
// none only if cancelled.
std::vector<BlockTurns> pair_bars(const Geometry& geometry, const Colours& stickers,
                                  const std::vector<BlockTurns>& cores, const BarOptions& options);

}  // namespace cubist
