#include "decode/assignments.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

namespace cubist {

namespace {

constexpr int kNone = -1;
constexpr double kFar = std::numeric_limits<double>::infinity();

// Shortest augmenting paths (Jonker and Volgenant 1987): rows are added one by one. Each time
// Dijkstra's search finds the cheapest path to a free column; the prices of rows and columns keep
// costs from being negative. Along that path every row changes its column.
//
// A square assignment can be changed afterwards: a row that must give up its column is released and
// added again, because the prices still hold for all other rows.
class Assignment {
public:
    Assignment(std::vector<double> costs, int rows, int columns)
        : costs_(std::move(costs)),
          columns_(columns),
          row_price_(rows, 0.0),
          column_price_(columns, 0.0),
          column_of_(rows, kNone),
          row_of_(columns, kNone),
          closed_(columns, 0),
          way_(columns),
          before_(columns),
          settled_(columns) {}

    void add(int row) {
        const int column = nearest_free(row, kFar);
        change_prices(row, way_[column]);
        change_columns(row, column);
    }

    // Returns the total cost if the row takes none of the `count` columns from `first`, one of
    // which it has now; kFar if that is at least `limit`.
    double total_without(int row, int first, int count, double limit) {
        const int column = column_of_[row];
        const double gained = cost(row, column) - column_price_[column], own = row_price_[row];
        const auto costs = costs_.begin() + std::ptrdiff_t(row) * columns_ + first;
        const std::vector<double> kept(costs, costs + count);
        release(row, first, count);
        const bool possible = nearest_free(row, limit - total_ + gained) != kNone;
        const double total = possible ? total_ - gained + way_[column] : kFar;
        std::copy(kept.begin(), kept.end(), costs);
        row_of_[column] = row;
        column_of_[row] = column;
        row_price_[row] = own;
        return total;
    }

    // Moves the row to a column outside these.
    void change(int row, int first, int count) {
        release(row, first, count);
        add(row);
    }

    // Fixes the row's column.
    void close(int row) { closed_[column_of_[row]] = 1; }

    // Returns the cost of all rows. Every row must have a column.
    double sum_up() {
        total_ = 0.0;
        for (int row = 0; row < int(column_of_.size()); ++row) total_ += cost(row, column_of_[row]);
        return total_;
    }

    const std::vector<int>& columns() const { return column_of_; }

private:
    double cost(int row, int column) const { return costs_[std::size_t(row) * columns_ + column]; }

    void release(int row, int first, int count) {
        std::fill_n(costs_.begin() + std::ptrdiff_t(row) * columns_ + first, count, kFar);
        row_of_[column_of_[row]] = kNone;
        column_of_[row] = kNone;
        row_price_[row] = 0.0;
    }

    // Returns the free column with the cheapest path from the row; kNone if that costs at least
    // `limit`.
    int nearest_free(int row, double limit) {
        way_.assign(columns_, kFar);
        before_.assign(columns_, kNone);
        settled_ = closed_;
        double least = 0.0;
        int column = kNone, at = row;
        while (column == kNone || row_of_[column] != kNone) {
            if (column != kNone) at = row_of_[column];
            column = nearest_column(at, least);
            if (column == kNone || way_[column] >= limit) return kNone;
            least = way_[column];
            settled_[column] = 1;
        }
        return column;
    }

    // Continues from a row reached at cost `least`, and chooses the column to settle next.
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
            if (!settled_[c] || closed_[c]) continue;
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

    std::vector<double> costs_;
    int columns_;
    double total_ = 0.0;
    std::vector<double> row_price_, column_price_;
    std::vector<int> column_of_, row_of_;
    // Columns of rows that are fixed.
    std::vector<char> closed_;
    // The current search: the cost of reaching each column, the row it is reached from, and whether
    // that cost is final.
    std::vector<double> way_;
    std::vector<int> before_;
    std::vector<char> settled_;
};

void check_finite(std::span<const double> costs) {
    for (const double cost : costs)
        if (!std::isfinite(cost)) throw std::invalid_argument("costs must be finite numbers");
}

// The assignments that agree with `whole` before `slot` and differ at `slot`. Their least cost is
// known; the cheapest one is computed on demand.
struct Part {
    std::shared_ptr<const Assignment> whole;
    int settled;  // number of slots whose pieces are fixed in `whole`
    int slot;
    double total;
};

bool cheaper(const Part& a, const Part& b) { return a.total < b.total; }

// Drops all but the `wanted` cheapest parts. Returns the total below which another part would be
// among them.
double limit_of(std::vector<Part>& parts, int wanted) {
    if (int(parts.size()) < wanted) return kFar;
    std::stable_sort(parts.begin(), parts.end(), cheaper);
    parts.erase(parts.begin() + wanted, parts.end());
    return parts.back().total;
}

// Murty's partition (1968) of all assignments but the cheapest: one part for each slot, with the
// assignments that agree with the cheapest before that slot and differ at it. Only one row changes
// its column, so one search from the prices of the whole finds the cost of each part. Keeps the
// `wanted` cheapest parts.
void divide(const std::shared_ptr<const Assignment>& whole, int settled, int copies, int wanted,
            std::vector<Part>& parts) {
    Assignment common = *whole;
    double limit = limit_of(parts, wanted);
    for (int slot = settled; slot < int(common.columns().size()); ++slot) {
        const int first = common.columns()[slot] / copies * copies;
        const double total = common.total_without(slot, first, copies, limit);
        if (total < limit) {
            parts.push_back({whole, settled, slot, total});
            limit = limit_of(parts, wanted);
        }
        common.close(slot);
    }
}

std::shared_ptr<Assignment> cheapest_of(const Part& part, int copies) {
    auto found = std::make_shared<Assignment>(*part.whole);
    for (int slot = part.settled; slot < part.slot; ++slot) found->close(slot);
    found->change(part.slot, found->columns()[part.slot] / copies * copies, copies);
    return found;
}

}  // namespace

std::vector<int> cheapest_assignment(std::span<const double> costs, int rows, int columns) {
    if (rows > columns) throw std::invalid_argument("more rows than columns to assign them to");
    if (costs.size() != std::size_t(rows) * columns)
        throw std::invalid_argument("the array has the wrong size");
    check_finite(costs);
    Assignment assignment({costs.begin(), costs.end()}, rows, columns);
    for (int row = 0; row < rows; ++row) assignment.add(row);
    return assignment.columns();
}

std::vector<RankedAssignment> ranked_assignments(std::span<const double> costs, int pieces,
                                                 int copies, int k) {
    const int slots = pieces * copies;
    if (costs.size() != std::size_t(slots) * pieces)
        throw std::invalid_argument("as many pieces as slots are needed");
    check_finite(costs);
    std::vector<double> table;
    table.reserve(std::size_t(slots) * slots);
    for (const double cost : costs) table.insert(table.end(), copies, cost);
    auto whole = std::make_shared<Assignment>(std::move(table), slots, slots);
    for (int slot = 0; slot < slots; ++slot) whole->add(slot);
    std::vector<RankedAssignment> found;
    std::vector<Part> parts;
    for (int settled = 0;;) {
        found.push_back({whole->sum_up(), whole->columns()});
        for (int& column : found.back().pieces) column /= copies;
        const int wanted = k - int(found.size());
        if (wanted == 0) return found;
        divide(whole, settled, copies, wanted, parts);
        const auto next = std::min_element(parts.begin(), parts.end(), cheaper);
        if (next == parts.end()) return found;
        settled = next->slot;
        whole = cheapest_of(*next, copies);
        parts.erase(next);
    }
}

namespace {

// Returns 1 if a piece adds an odd number of inversions: earlier pieces with larger numbers.
int odd_inversions(std::size_t before, int piece) { return std::popcount(before >> piece) & 1; }

// The table for one number of turns and ranks. Both are known at compile time, so that the states
// of a set are computed together, without branches.
template <int Turns, int Ranks>
struct Table {
    static constexpr int kLanes = 2 * Turns;
    using Group = double[Ranks][kLanes];

    // Merges the arrangements that end with one piece into the cheapest of a set. Each list is
    // sorted.
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
