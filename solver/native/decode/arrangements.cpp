#include "decode/arrangements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace cubist {
namespace {

// Pieces with larger numbers that came earlier are the inversions that a piece adds.
int odd_inversions(std::size_t before, int piece) { return std::popcount(before >> piece) & 1; }

// The table for one number of turns and ranks. Both are known at compile time, so that the states
// of a set are computed together, without branches.
template <int Turns, int Ranks>
struct Table {
    static constexpr int kLanes = 2 * Turns;
    using Group = double[Ranks][kLanes];

    // Merges the ways over one piece into the cheapest of a set; each list is in order.
    template <int Odd, int Turn>
    static void merge(Group& best, const Group& before, double cost) {
        for (int rank = 0; rank < Ranks; ++rank)
            for (int lane = 0; lane < kLanes; ++lane) {
                const int parity = (lane / Turns) ^ Odd;
                const int sum = (lane % Turns + Turns - Turn) % Turns;
                double total = before[rank][parity * Turns + sum] + cost;
                for (int place = rank; place < Ranks; ++place) {
                    const double other = best[place][lane];
                    best[place][lane] = std::min(other, total);
                    total = std::max(other, total);
                }
            }
    }

    template <int Odd>
    static void merge_turns(Group& best, const Group& before, const double* cost) {
        merge<Odd, 0>(best, before, cost[0]);
        if constexpr (Turns > 1) merge<Odd, 1>(best, before, cost[1]);
        if constexpr (Turns > 2) merge<Odd, 2>(best, before, cost[2]);
    }

    static void fill(std::span<double> totals, std::span<const double> costs, int pieces) {
        Group* const groups = reinterpret_cast<Group*>(totals.data());
        groups[0][0][0] = 0.0;
        // A set comes after all its subsets.
        for (std::size_t set = 1; set < std::size_t{1} << pieces; ++set) {
            const double* const slot = &costs[(std::popcount(set) - 1) * pieces * Turns];
            for (std::size_t left = set; left != 0; left &= left - 1) {
                const int piece = std::countr_zero(left);
                const std::size_t before = set & ~(std::size_t{1} << piece);
                if (odd_inversions(before, piece))
                    merge_turns<1>(groups[set], groups[before], slot + piece * Turns);
                else
                    merge_turns<0>(groups[set], groups[before], slot + piece * Turns);
            }
        }
    }
};

template <int Turns>
void fill(std::span<double> totals, std::span<const double> costs, int pieces, int ranks) {
    switch (ranks) {
        case 1: return Table<Turns, 1>::fill(totals, costs, pieces);
        case 2: return Table<Turns, 2>::fill(totals, costs, pieces);
        case 3: return Table<Turns, 3>::fill(totals, costs, pieces);
        default: return Table<Turns, 4>::fill(totals, costs, pieces);
    }
}

}  // namespace

RankedArrangements::RankedArrangements(std::span<const double> costs, int pieces, int turns,
                                       int ranks)
    : pieces_(pieces),
      turns_(turns),
      ranks_(ranks),
      costs_(costs.begin(), costs.end()),
      totals_((std::size_t{1} << pieces) * ranks * 2 * turns,
              std::numeric_limits<double>::infinity()) {
    if (turns == 1) fill<1>(totals_, costs_, pieces, ranks);
    if (turns == 2) fill<2>(totals_, costs_, pieces, ranks);
    if (turns == 3) fill<3>(totals_, costs_, pieces, ranks);
}

double RankedArrangements::cost(int turn_sum, int parity, int rank) const {
    return total((std::size_t{1} << pieces_) - 1, rank, parity, turn_sum);
}

RankedArrangements::Way RankedArrangements::way(std::size_t set, int parity, int turn_sum,
                                                int rank) const {
    const int slot = std::popcount(set) - 1;
    std::vector<Way> ways;
    for (std::size_t left = set; left != 0; left &= left - 1) {
        const int piece = std::countr_zero(left);
        const std::size_t before = set & ~(std::size_t{1} << piece);
        const int even = parity ^ odd_inversions(before, piece);
        for (int turn = 0; turn < turns_; ++turn)
            for (int from = 0; from < ranks_; ++from) {
                const int sum = (turn_sum - turn + turns_) % turns_;
                const double so_far = total(before, from, even, sum);
                ways.push_back({so_far + piece_cost(slot, piece, turn), piece, turn, from});
            }
    }
    // Ways come in a fixed order, so that equal costs get different ranks.
    std::stable_sort(ways.begin(), ways.end(),
                     [](const Way& a, const Way& b) { return a.total < b.total; });
    return ways[rank];
}

void RankedArrangements::arrangement(int turn_sum, int parity, int rank,
                                     std::span<std::int64_t> pieces,
                                     std::span<std::int64_t> turns) const {
    std::size_t set = (std::size_t{1} << pieces_) - 1;
    for (int slot = pieces_ - 1; slot >= 0; --slot) {
        const Way last = way(set, parity, turn_sum, rank);
        pieces[slot] = last.piece;
        turns[slot] = last.turn;
        set &= ~(std::size_t{1} << last.piece);
        parity ^= odd_inversions(set, last.piece);
        turn_sum = (turn_sum - last.turn + turns_) % turns_;
        rank = last.rank;
    }
}

}  // namespace cubist
