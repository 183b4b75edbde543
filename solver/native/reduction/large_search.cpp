#include <algorithm>
#include <array>

#include "reduction/bars.hpp"
#include "reduction/reductions.hpp"

namespace cubist {
namespace {

constexpr std::size_t kCandidatesOfFour = 200;

// Shares of the time of a reduction and of its candidates.
struct Shares {
    double core, bars;
    std::size_t cores, starts;
};

std::vector<BlockTurns> whole(const std::vector<Reduction>& reductions) {
    std::vector<BlockTurns> result;
    for (const auto& one : reductions) {
        result.emplace_back();
        for (const BlockTurns& phase : one.phases)
            result.back().insert(result.back().end(), phase.begin(), phase.end());
    }
    return result;
}

std::vector<Reduction> reduce_outside(const Geometry& geometry, const FiveTables& five,
                                      const Colours& stickers, const std::vector<BlockTurns>& cores,
                                      const Shares& shares, const ReductionOptions& options) {
    const auto firsts = pair_bars(geometry, stickers, cores,
                                  {.count = shares.starts,
                                   .time_limit = shares.bars * options.time_limit,
                                   .threads = options.threads,
                                   .cancel = options.cancel});
    std::vector<FiveStart> starts;
    for (const BlockTurns& turns : firsts) {
        Colours after = stickers;
        geometry.turn(turns, after);
        starts.push_back({outside_of(geometry, after), block_turn_count(turns, geometry.size())});
    }
    if (starts.empty()) return {};
    const auto found =
        reduce_five(five, starts,
                    {.candidates = options.candidates,
                     .reductions = options.reductions,
                     .time_limit = (1 - shares.core - shares.bars) * options.time_limit,
                     .threads = options.threads,
                     .cancel = options.cancel});
    std::vector<Reduction> result;
    for (const Reduction& one : found) {
        Reduction& reduction = result.emplace_back();
        reduction.phases.push_back(firsts[one.start]);
        reduction.phases.insert(reduction.phases.end(), one.phases.begin(), one.phases.end());
    }
    return result;
}

}  // namespace

std::vector<Reduction> reduce_six(const FourTables& four, const FiveTables& five,
                                  const Colours& stickers, const ReductionOptions& options) {
    const Geometry geometry(6);
    const Shares shares{.core = 0.1, .bars = 0.4, .cores = 40, .starts = 4};
    const auto cores = reduce_four(four, core_of(geometry, stickers),
                                   {.candidates = kCandidatesOfFour,
                                    .reductions = shares.cores,
                                    .time_limit = shares.core * options.time_limit,
                                    .threads = options.threads,
                                    .cancel = options.cancel});
    if (cores.empty()) return {};
    return reduce_outside(geometry, five, stickers, whole(cores), shares, options);
}

std::vector<Reduction> reduce_seven(const FiveTables& five, const Colours& stickers,
                                    const ReductionOptions& options) {
    const Geometry geometry(7);
    const Shares shares{.core = 0.2, .bars = 0.5, .cores = 24, .starts = 3};
    const std::array<FiveStart, 1> core{{{core_of(geometry, stickers), 0}}};
    const auto cores = reduce_five(five, core,
                                   {.candidates = options.candidates,
                                    .reductions = shares.cores,
                                    .time_limit = shares.core * options.time_limit,
                                    .threads = options.threads,
                                    .cancel = options.cancel});
    if (cores.empty()) return {};
    return reduce_outside(geometry, five, stickers, whole(cores), shares, options);
}

}  // namespace cubist
