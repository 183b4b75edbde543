// Turns of layer 2 among those of a core, by a beam search: few turns, and few wrong centres.
//
// Seen from the end of the core's reduction, a turn of layer 2 somewhere in it is a fixed exchange
// of a dozen centres: what follows it is only renaming. So the core's turns are gone through once;
// after each of them every position of the beam goes on with each turn of layer 2, or with none,
// and the best are kept by turns added and centres that would be wrong with no more of them. An
// exchange touches few bars, so a position costs some ten comparisons.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "cube/control.hpp"
#include "reduction/bar_model.hpp"

namespace cubist {

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

}  // namespace cubist
