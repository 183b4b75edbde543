// Reductions of cubes of 4 to 7 layers to a 3x3x3: phases with many candidates between them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cube/control.hpp"
#include "reduction/block_times.hpp"
#include "reduction/finish.hpp"
#include "reduction/five_pairing.hpp"
#include "reduction/five_staging.hpp"
#include "reduction/four_tables.hpp"

namespace cubist {

struct ReductionOptions {
    std::size_t candidates;  // candidates kept from a phase to the next
    std::size_t reductions;  // number of reductions that ends the search
    double time_limit;       // seconds of each thread; after it one reduction is enough
    int threads;
    const CancelFlag* cancel = nullptr;
    const BlockTimes* times = nullptr;  // to minimise the robot's time instead of the turns
};

struct Reduction {
    std::vector<BlockTurns> phases;
    int time = 0;           // on the robot, if times are given
    std::size_t start = 0;  // number of the cube it begins with
};

// All functions return reductions to a 3x3x3 without parity, shortest or fastest first, or none if
// cancelled. They throw std::invalid_argument if the stickers belong to no cube.

// Uses three phases: two for the centres, one for the wings.
std::vector<Reduction> reduce_four(const FourTables& tables, const Colours& stickers,
                                   const ReductionOptions& options);

// All tables of a 5x5x5.
class FiveTables {
public:
    FiveTables() : staging_(cube_), four_(cube_), eight_(cube_) {}
    // Takes stored tables, which the caller owns.
    explicit FiveTables(std::span<const std::uint8_t> table) : FiveTables() { use(table); }

    std::size_t bytes() const { return FiveStaging::bytes() + four_.bytes() + eight_.bytes(); }
    // Fills `table`, uint8[bytes()]. Returns false if `progress` stopped it.
    bool make(std::span<std::uint8_t> table, int threads, const Progress& progress);

    const FiveCube& cube() const { return cube_; }
    const FiveStaging& staging() const { return staging_; }
    const FourEdgesPhase& four() const { return four_; }
    const EightEdgesPhase& eight() const { return eight_; }

private:
    void use(std::span<const std::uint8_t> table);

    FiveCube cube_;
    FiveStaging staging_;
    FourEdgesPhase four_;
    EightEdgesPhase eight_;
};

// A cube to reduce, and the number of turns that led to it.
struct FiveStart {
    Colours stickers;
    int turns = 0;
};

// Uses five phases, from the best of the starts.
std::vector<Reduction> reduce_five(const FiveTables& tables, std::span<const FiveStart> starts,
                                   const ReductionOptions& options);

// Uses six phases: core and bars, then the five of a 5x5x5. A core of 4 or 5 layers is reduced
// first.
std::vector<Reduction> reduce_six(const FourTables& four, const FiveTables& five,
                                  const Colours& stickers, const ReductionOptions& options);
std::vector<Reduction> reduce_seven(const FiveTables& five, const Colours& stickers,
                                    const ReductionOptions& options);

}  // namespace cubist
