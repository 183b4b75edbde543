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

// The table of one number of turns and ranks: everything but the sets is known when compiling, so
// that the states of a set are worked on together, without branches.
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
    // Ways come in a fixed order, so that equal costs are different ranks.
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

namespace {

constexpr int kNone = -1;
constexpr double kFar = std::numeric_limits<double>::infinity();

// Shortest augmenting paths (Jonker and Volgenant 1987): rows are added one by one. Each time
// Dijkstra's search finds the cheapest way to a free column, over costs that the prices of rows and
// columns keep from being negative; along that way every row changes its column.
class Assignment {
public:
    Assignment(std::span<const double> costs, int rows, int columns)
        : costs_(costs),
          columns_(columns),
          row_price_(rows, 0.0),
          column_price_(columns, 0.0),
          column_of_(rows, kNone),
          row_of_(columns, kNone),
          way_(columns),
          before_(columns),
          settled_(columns) {}

    void add(int row) {
        way_.assign(columns_, kFar);
        before_.assign(columns_, kNone);
        settled_.assign(columns_, 0);
        double least = 0.0;
        int column = kNone, at = row;
        while (column == kNone || row_of_[column] != kNone) {
            if (column != kNone) at = row_of_[column];
            column = nearest_column(at, least);
            least = way_[column];
            settled_[column] = 1;
        }
        change_prices(row, least);
        change_columns(row, column);
    }

    const std::vector<int>& columns() const { return column_of_; }

private:
    // Looks on from a row that is reached at `least`, and chooses what is settled next.
    int nearest_column(int row, double least) {
        int nearest = kNone;
        const double* const cost = costs_.data() + std::size_t(row) * columns_;
        for (int c = 0; c < columns_; ++c) {
            if (settled_[c]) continue;
            const double reached = least + cost[c] - row_price_[row] - column_price_[c];
            if (reached < way_[c]) {
                way_[c] = reached;
                before_[c] = row;
            }
            if (nearest == kNone || way_[c] < way_[nearest] ||
                (way_[c] == way_[nearest] && row_of_[c] == kNone))
                nearest = c;
        }
        return nearest;
    }

    void change_prices(int row, double least) {
        row_price_[row] += least;
        for (int c = 0; c < columns_; ++c) {
            if (!settled_[c]) continue;
            if (row_of_[c] != kNone) row_price_[row_of_[c]] += least - way_[c];
            column_price_[c] -= least - way_[c];
        }
    }

    void change_columns(int row, int column) {
        for (int at = kNone; at != row;) {
            at = before_[column];
            row_of_[column] = at;
            std::swap(column_of_[at], column);
        }
    }

    std::span<const double> costs_;
    int columns_;
    std::vector<double> row_price_, column_price_;
    std::vector<int> column_of_, row_of_;
    // Of the search under way: what reaching each column costs, from which row, whether that is the
    // least there is.
    std::vector<double> way_;
    std::vector<int> before_;
    std::vector<char> settled_;
};

}  // namespace

std::vector<int> cheapest_assignment(std::span<const double> costs, int rows, int columns) {
    if (rows > columns) throw std::invalid_argument("more rows than columns to assign them to");
    if (costs.size() != std::size_t(rows) * columns)
        throw std::invalid_argument("an array of another size is needed");
    for (const double cost : costs)
        if (!std::isfinite(cost)) throw std::invalid_argument("costs must be finite numbers");
    Assignment assignment(costs, rows, columns);
    for (int row = 0; row < rows; ++row) assignment.add(row);
    return assignment.columns();
}

}  // namespace cubist
