#include "decode/assignment.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace cubist {
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
