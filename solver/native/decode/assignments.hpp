// The cheapest assignments of pieces to slots if any piece may go to any slot: wings, centres, the
// names of colours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cubist {

// Returns the column of each row that minimises the sum of `costs[rows, columns]`. Throws
// std::invalid_argument for more rows than columns, another number of costs, or costs that are not
// finite.
std::vector<int> cheapest_assignment(std::span<const double> costs, int rows, int columns);

// A piece for every slot, and their total cost.
struct RankedAssignment {
    double cost;
    std::vector<int> pieces;
};

// Returns the `k` cheapest assignments, cheapest first, or all if there are fewer. Each of `pieces`
// exists `copies` times, and there are as many slots as pieces in all. Throws std::invalid_argument
// unless there are costs[slots][pieces] and all are finite.
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

    // Returns infinity if there are not that many arrangements.
    double cost(int turn_sum, int parity, int rank) const;

    // Writes the piece and turn of every slot. The rank's cost must be finite.
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
