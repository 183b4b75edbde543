// Thistlethwaite's algorithm: four groups, each phase solved by IDA* with its own exact table.
//
//   G0 = all positions, G1 = <L R F2 B2 U D>, G2 = <L2 R2 F2 B2 U D>, G3 = half turns only.
//
// Among the ways of least length (and one turn more) through a phase, those are kept that leave the
// next phase the shortest way: a beam of partial solutions instead of the first one found.
#pragma once

#include <array>

#include "thistlethwaite/thistlethwaite_phase.hpp"

namespace cubist {

constexpr int kPhases = 4;

struct ThistlethwaiteSolution {
    std::array<Turns, kPhases> phases;

    std::size_t length() const;
};

class Thistlethwaite {
public:
    // Makes the four tables; throws Stopped when `progress` returns false.
    explicit Thistlethwaite(const Progress& progress);

    // `width` is the number of partial solutions kept after a phase.
    ThistlethwaiteSolution solve(const CubieCube& cube, std::size_t width) const;
    const ThistlethwaitePhase& phase(int number) const { return phases_[number]; }
    std::size_t bytes() const;

private:
    std::array<ThistlethwaitePhase, kPhases> phases_;
};

}  // namespace cubist
