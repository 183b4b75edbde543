// The cheapest assignments of pieces to slots if any piece may stand in any slot: wings, centres,
// the names of colours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cubist {

// The column of each row, so that the sum of `costs[rows, columns]` is the least possible. Throws
// std::invalid_argument for more rows than columns, or costs that are no numbers.
std::vector<int> cheapest_assignment(std::span<const double> costs, int rows, int columns);

// A piece for every slot, and their total cost.
struct RankedAssignment {
    double cost;
    std::vector<int> pieces;
};

// The `k` cheapest assignments, cheapest first, of `pieces` that exist `copies` times each to as
// many slots; fewer if there are no more. `costs[slots][pieces]` are finite, else throws
// std::invalid_argument.
std::vector<RankedAssignment> ranked_assignments(std::span<const double> costs, int pieces,
                                                 int copies, int k);

// The cheapest arrangements of pieces in slots under twist or flip and parity.
//
// Slots are filled one after the other. The state of a partial arrangement is the set of pieces
// used, the sum of their turns and the parity of their permutation. Dynamic programming over those
// sets (Held and Karp's idea) keeps the `ranks` cheapest of each: it is exact for any costs, and
// hard ones take no longer than easy ones.

class RankedArrangements {
public:
    static constexpr int kMostPieces = 12;
    static constexpr int kMostTurns = 3;
    static constexpr int kMostRanks = 4;

    // costs[slot][piece][turn], of pieces * pieces * turns numbers.
    RankedArrangements(std::span<const double> costs, int pieces, int turns, int ranks);

    // Infinite where there are fewer arrangements.
    double cost(int turn_sum, int parity, int rank) const;

    // Piece and turn of every slot; only for ranks whose cost is finite.
    void arrangement(int turn_sum, int parity, int rank, std::span<std::int64_t> pieces,
                     std::span<std::int64_t> turns) const;

    int pieces() const { return pieces_; }
    int turns() const { return turns_; }
    int ranks() const { return ranks_; }

private:
    // A way to reach a partial arrangement: its cost, the last slot's piece and turn, and the
    // rank of the rest among the cheapest.
    struct Way {
        double total;
        int piece, turn, rank;
    };

    double total(std::size_t set, int rank, int parity, int turn_sum) const {
        return totals_[((set * ranks_ + rank) * 2 + parity) * turns_ + turn_sum];
    }
    double piece_cost(int slot, int piece, int turn) const {
        return costs_[(std::size_t(slot) * pieces_ + piece) * turns_ + turn];
    }
    Way way(std::size_t set, int parity, int turn_sum, int rank) const;

    int pieces_, turns_, ranks_;
    std::vector<double> costs_;
    // totals_[set][rank][parity][sum of turns]
    std::vector<double> totals_;
};

}  // namespace cubist
