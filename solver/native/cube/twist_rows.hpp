// Distances modulo 3 of pairs (class of flip-slices and other properties, twist), filled
// breadth-first in place at two bits an entry.
//
// A row holds all twists of one class. A turn takes all twists of a row to one other row, so it
// touches only two rows of nine cache lines each. Unknown is 3, all bits set, so finding an entry
// only clears bits. A level either spreads from the entries found last, or asks each unknown entry
// whether a neighbour was found last. Spreading tries all turns of each found entry. Asking stops
// at the first good neighbour, which pays off once few entries are unknown.
//
// Any number of threads may share the rows of a level: the entries that it finds do not depend on
// the order, and every thread writes the same value to an entry.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cube/breadth_first.hpp"
#include "cube/parallel.hpp"
#include "cube/symmetry.hpp"
#include "cube/table_bytes.hpp"

namespace cubist {

namespace twist_rows {

constexpr int kWords = 72;  // of a row, with 32 entries each
constexpr int kBytes = kWords * 8;
constexpr int kEntries = 32 * kWords;
constexpr int kUnknown = 3;
constexpr std::uint64_t kLowBits = 0x5555'5555'5555'5555;

// Mask of the entries of a word that stand for twists, at their low bits.
using Used = std::array<std::uint64_t, kWords>;

inline std::uint64_t load(std::uint64_t& word) {
    return std::atomic_ref(word).load(std::memory_order_relaxed);
}
inline int entry(std::uint64_t* row, int number) {
    return static_cast<int>(load(row[number / 32]) >> (number % 32 * 2) & 3);
}
// The bits to clear in an unknown entry to set the remainder.
constexpr std::uint64_t cleared(int number, int remainder) {
    return static_cast<std::uint64_t>(kUnknown ^ remainder) << (number % 32 * 2);
}

// Writes the numbers of a row's entries that have the value. Returns their count.
inline int collect(std::uint64_t* row, const Used& used, int value, std::uint16_t* numbers) {
    std::uint16_t* end = numbers;
    const std::uint64_t pattern = kLowBits * static_cast<std::uint64_t>(value);
    for (int word = 0; word < kWords; ++word) {
        const std::uint64_t differs = load(row[word]) ^ pattern;
        std::uint64_t same = ~(differs | differs >> 1) & used[word];
        for (; same != 0; same &= same - 1)
            *end++ = static_cast<std::uint16_t>(32 * word + std::countr_zero(same) / 2);
    }
    return static_cast<int>(end - numbers);
}

}  // namespace twist_rows

// The row that a turn leads to, and the symmetry that leads to that row's representative.
struct RowTurn {
    std::uint32_t packed;
    RowTurn(int row, int symmetry) : packed(packed_class(row, symmetry)) {}
    int row() const { return static_cast<int>(packed / kSymmetries); }
    int symmetry() const { return static_cast<int>(packed % kSymmetries); }
};

// `Table` describes the layout of a table's rows and how turns connect them:
//   int rows(), turns(); const twist_rows::Used& used();
//   std::uint64_t* row(int row)                        its words
//   int twist_after(int number, int turn), twist_seen(int number, int symmetry)
//   RowTurn row_after(int row, int turn)
//   void for_images(int row, auto see)                 see(row, symmetry) if that keeps the class
//   std::uint64_t near_bit(int number)                 to clear in the line's last word, or 0
//   bool is_near(int distance); int far()              0: no cut-off
template <class Table>
class TwistSearch {
public:
    explicit TwistSearch(Table& table) : table_(table), turns_(table.turns()) {}

    // Fills the rows from the first entry of the first row. All entries must be unknown. Reports
    // 0..1 to `progress` and returns false if that does.
    bool run(int threads, const Progress& progress);

private:
    static constexpr int kBlock = 1024;  // rows handed to a thread at a time
    // A level asks once there are fewer than this many unknown entries per entry found last.
    // Measured.
    static constexpr double kAskingGain = 6.0;

    struct Target {
        std::uint64_t* row;
        int number;
        const std::uint16_t* twists;  // by number in the row turned from
    };
    using Numbers = std::array<std::uint16_t, twist_rows::kEntries>;

    void prepare(int threads);
    Target target(int row, int turn) {
        const RowTurn after = row_after_[std::size_t(row) * turns_ + turn];
        const std::size_t map = std::size_t(turn) * kSymmetries + after.symmetry();
        return {table_.row(after.row()), after.row(), twists_after_.data() + map * kEntries};
    }
    bool find(std::uint64_t* row, int number, int distance);
    void settle(std::uint64_t* row, int number, int distance);
    std::size_t reach(int row, int number, int distance);
    std::size_t spread(int row, int distance);
    std::size_t ask(int row, int distance);

    static constexpr int kEntries = twist_rows::kEntries;
    static void prefetch(const std::uint64_t* row) {
        for (int word = 0; word < twist_rows::kWords; word += 8) __builtin_prefetch(row + word);
    }
    // Returns the index of the word with the near bit of a number's group.
    static constexpr int near_word(int number) { return number / 256 * 8 + 7; }

    Table& table_;
    int turns_;
    std::vector<RowTurn> row_after_;           // by row and turn
    std::vector<std::uint16_t> twists_after_;  // by turn, symmetry, number
};

template <class Table>
void TwistSearch<Table>::prepare(int threads) {
    row_after_.assign(std::size_t(table_.rows()) * turns_, RowTurn(0, 0));
    in_blocks(table_.rows(), kBlock, threads, [this](int first, int last) {
        for (int row = first; row < last; ++row)
            for (int turn = 0; turn < turns_; ++turn)
                row_after_[std::size_t(row) * turns_ + turn] = table_.row_after(row, turn);
    });
    twists_after_.assign(std::size_t(turns_) * kSymmetries * kEntries, 0);
    std::uint16_t* to = twists_after_.data();
    for (int turn = 0; turn < turns_; ++turn)
        for (int symmetry = 0; symmetry < kSymmetries; ++symmetry)
            for (int number = 0; number < kEntries; ++number, ++to)
                if (table_.used()[number / 32] >> (number % 32 * 2) & 1)
                    *to = static_cast<std::uint16_t>(
                        table_.twist_seen(table_.twist_after(number, turn), symmetry));
}

// Sets an entry's distance. Returns whether it was unknown until now.
template <class Table>
bool TwistSearch<Table>::find(std::uint64_t* row, int number, int distance) {
    if (twist_rows::entry(row, number) != twist_rows::kUnknown) return false;
    const auto clear = [](std::uint64_t& word, std::uint64_t bits) {
        return std::atomic_ref(word).fetch_and(~bits, std::memory_order_relaxed);
    };
    if (table_.is_near(distance)) clear(row[near_word(number)], table_.near_bit(number));
    const std::uint64_t before = clear(row[number / 32], twist_rows::cleared(number, distance % 3));
    return (before >> (number % 32 * 2) & 3) == twist_rows::kUnknown;
}

// The same for an unknown entry in a row that no other thread writes.
template <class Table>
void TwistSearch<Table>::settle(std::uint64_t* row, int number, int distance) {
    const auto clear = [](std::uint64_t& word, std::uint64_t bits) {
        std::atomic_ref(word).store(twist_rows::load(word) & ~bits, std::memory_order_relaxed);
    };
    if (table_.is_near(distance)) clear(row[near_word(number)], table_.near_bit(number));
    clear(row[number / 32], twist_rows::cleared(number, distance % 3));
}

// Marks an entry and its images under the symmetries that keep its row's class.
template <class Table>
std::size_t TwistSearch<Table>::reach(int row, int number, int distance) {
    if (!find(table_.row(row), number, distance)) return 0;
    std::size_t reached = 1;
    table_.for_images(row, [&](int image, int symmetry) {
        reached += find(table_.row(image), table_.twist_seen(number, symmetry), distance);
    });
    return reached;
}

template <class Table>
std::size_t TwistSearch<Table>::spread(int row, int distance) {
    Numbers found, targets;
    const int count =
        twist_rows::collect(table_.row(row), table_.used(), (distance + 2) % 3, found.data());
    std::size_t reached = 0;
    for (int turn = 0; count > 0 && turn < turns_; ++turn) {
        const Target to = target(row, turn);
        if (turn + 1 < turns_) prefetch(target(row, turn + 1).row);
        int open = 0;  // filtered first: the branch would be unpredictable
        for (int k = 0; k < count; ++k) {
            targets[open] = to.twists[found[k]];
            open += twist_rows::entry(to.row, targets[open]) == twist_rows::kUnknown;
        }
        for (int k = 0; k < open; ++k) reached += reach(to.number, targets[k], distance);
    }
    return reached;
}

template <class Table>
std::size_t TwistSearch<Table>::ask(int row, int distance) {
    const int nearer = (distance + 2) % 3;
    Numbers unknown, hits;
    std::uint64_t* const own = table_.row(row);
    int count = twist_rows::collect(own, table_.used(), twist_rows::kUnknown, unknown.data());
    const int before = count;
    for (int turn = 0; count > 0 && turn < turns_; ++turn) {
        const Target to = target(row, turn);
        if (turn + 1 < turns_) prefetch(target(row, turn + 1).row);
        int left = 0, found = 0;  // filtered first, as above
        for (int k = 0; k < count; ++k) {
            const std::uint16_t number = unknown[k];
            const bool hit = twist_rows::entry(to.row, to.twists[number]) == nearer;
            hits[found] = unknown[left] = number;
            found += hit;
            left += !hit;
        }
        for (int k = 0; k < found; ++k) settle(own, hits[k], distance);
        count = left;
    }
    return static_cast<std::size_t>(before - count);
}

template <class Table>
bool TwistSearch<Table>::run(int threads, const Progress& progress) {
    prepare(threads);
    const double entries = static_cast<double>(table_.rows()) * kTwists;
    const int deepest = table_.far() == 0 ? INT_MAX : table_.far() - 1;
    const auto are_few = [&](std::size_t known, std::size_t last) {
        return static_cast<double>(last) * kAskingGain < entries - static_cast<double>(known);
    };
    const auto expand = [this](int row, int depth, bool few) {
        return few ? spread(row, depth + 1) : ask(row, depth + 1);
    };
    return fill_by_level(
        {table_.rows(), kBlock, threads, deepest}, reach(0, 0, 0), are_few, expand,
        [&](std::size_t known) { return progress(static_cast<double>(known) / entries); });
}

}  // namespace cubist
