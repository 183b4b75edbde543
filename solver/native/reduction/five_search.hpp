// The reduction of a 5x5x5 in five phases with many candidates between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cube/control.hpp"
#include "reduction/block_times.hpp"
#include "reduction/finish.hpp"
#include "reduction/five_pairing.hpp"
#include "reduction/five_staging.hpp"

namespace cubist {

// All tables of a 5x5x5.
class FiveTables {
public:
    FiveTables() : staging_(cube_), four_(cube_), eight_(cube_) {}
    // With tables that were made before; they stay the caller's.
    explicit FiveTables(std::span<const std::uint8_t> table) : FiveTables() { use(table); }

    std::size_t bytes() const { return FiveStaging::bytes() + four_.bytes() + eight_.bytes(); }
    // Fills `table`, uint8[bytes()]; false when stopped by `progress`.
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

struct FiveOptions {
    std::size_t candidates;  // that go on from a phase to the next
    std::size_t reductions;  // then enough are found
    double time_limit;       // seconds of each thread; after it one is enough
    int threads;
    const CancelFlag* cancel = nullptr;
    const BlockTimes* times = nullptr;  // where the robot's time is to be short, not the turns few
};

// A cube to reduce, and how many turns it took to come there.
struct FiveStart {
    Colours stickers;
    int turns = 0;
};

// Turns by phase.
struct FiveReduction {
    std::size_t start = 0;  // which one
    std::array<BlockTurns, 5> phases;
    int time = 0;  // on the robot, where times are given
};

// Reductions to a 3x3x3 from any of the starts, shorter ones first, or sooner ones; none only when
// cancelled.
// Throws std::invalid_argument for stickers of no cube.
std::vector<FiveReduction> reduce_five(const FiveTables& tables, std::span<const FiveStart> starts,
                                       const FiveOptions& options);

}  // namespace cubist
