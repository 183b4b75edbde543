// Making the table of the optimal search: breadth-first in place, at two bits an entry.
//
// A row holds all twists of one class of flip-slices and one kind of order; a turn takes all twists
// of a row to one other row, so that the memory touched at a time is two rows of 576 bytes. The first
// levels spread from the entries found last; the last levels ask the entries still unknown whether a
// neighbour was found last. Unknown is 3, all bits set, so that finding only ever clears bits; a table
// that is cut off is done when what is unknown is far.
#include <algorithm>
#include <atomic>
#include <thread>

#include "optimal_table.hpp"

namespace cubist {
namespace {

constexpr int kUnknown = OptimalTable::kFarEntry;
// Spreading costs each found entry all its turns; asking stops at the first good neighbour.
constexpr double kAskingGain = 4.0;
// Rows handed to a thread at a time, and between two reports of progress.
constexpr int kBlock = 4096;

// All twists, by their numbers in a row.
void for_twists(const auto& look) {
    for (int first = 0; first < optimal_row::kNumbers; first += optimal_row::kLineNumbers)
        for (int twist = first; twist < first + optimal_row::kLineTwists; ++twist) look(twist);
}

class Row {
public:
    explicit Row(std::uint8_t* bytes) : bytes_(bytes) {}

    int get(int twist) const {
        const optimal_row::Place place = optimal_row::entry(twist);
        return std::atomic_ref(bytes_[place.byte]).load(std::memory_order_relaxed) >> place.shift & 3;
    }
    // Whether the entry was unknown until now.
    bool find(int twist, int remainder, bool is_near) {
        if (is_near) clear(optimal_row::group(twist), 1);
        const optimal_row::Place place = optimal_row::entry(twist);
        return (clear(place, kUnknown ^ remainder) >> place.shift & 3) == kUnknown;
    }

private:
    // The byte as it was before.
    std::uint8_t clear(optimal_row::Place place, int bits) {
        const auto kept = static_cast<std::uint8_t>(~(bits << place.shift));
        return std::atomic_ref(bytes_[place.byte]).fetch_and(kept, std::memory_order_relaxed);
    }

    std::uint8_t* bytes_;
};

class Generation {
public:
    Generation(OptimalMetric metric, OptimalShape shape, std::span<std::uint8_t> bytes)
        : turns_(unit_turns(metric)), coordinates_(shape.kinds), kinds_(shape.kinds),
          far_(shape.far), bytes_(bytes), layout_(shape) {}

    bool run(int threads, const Progress& progress);

private:
    struct Target {
        Row row;
        const std::uint16_t* twists;  // by twist of the row turned from
    };
    // Finds entries at the distance, from those that are one turn nearer.
    using Work = std::size_t (Generation::*)(int row, int distance);

    void prepare();
    Row row(int number) {
        return Row(bytes_.data() + layout_.rows + std::size_t(number) * optimal_row::kBytes);
    }
    Target target(int row, std::size_t turn);
    bool find(int row, int twist, int distance);
    std::size_t reach(int row, int twist, int distance);
    std::size_t spread(int row, int distance);
    std::size_t ask(int row, int distance);
    bool on_all_rows(Work work, int distance, int threads, const Progress& progress,
                     std::size_t& reached);

    const std::vector<int>& turns_;
    OptimalCoordinates coordinates_;
    int kinds_, far_;
    std::span<std::uint8_t> bytes_;
    OptimalLayout layout_;
    FlipSliceClasses classes_;
    std::vector<std::uint32_t> row_after_;  // row * kSymmetries + symmetry, by row and turn
    std::vector<std::uint16_t> twists_after_;  // by turn, symmetry, twist
    std::size_t known_ = 0;
};

void Generation::prepare() {
    std::copy(classes_.packed.begin(), classes_.packed.end(),
              part<std::uint32_t>(bytes_, layout_.packed));
    row_after_.reserve(std::size_t{kFlipSliceClasses} * kinds_ * turns_.size());
    for (std::uint32_t representative : classes_.representatives)
        for (int kind = 0; kind < kinds_; ++kind) {
            const int flip = static_cast<int>(representative) % kFlips;
            const int placed = static_cast<int>(representative) / kFlips * kinds_ + kind;
            for (int turn : turns_) {
                const int flip_after = coordinates_.flip_after(flip, turn);
                const int placed_after = coordinates_.placed_after(placed, turn);
                const std::uint32_t packed =
                    classes_.packed[placed_after / kinds_ * kFlips + flip_after];
                const int symmetry = static_cast<int>(packed % kSymmetries);
                const std::uint32_t row = packed / kSymmetries * kinds_ +
                                          coordinates_.kind_seen(placed_after, symmetry);
                row_after_.push_back(row * kSymmetries + symmetry);
            }
        }
    for (int turn : turns_)
        for (int symmetry = 0; symmetry < kSymmetries; ++symmetry)
            for (int twist = 0; twist < optimal_row::kNumbers; ++twist)
                twists_after_.push_back(static_cast<std::uint16_t>(
                    coordinates_.twist_seen(coordinates_.twist_after(twist, turn), symmetry)));
}

Generation::Target Generation::target(int from, std::size_t turn) {
    const std::uint32_t packed = row_after_[from * turns_.size() + turn];
    const std::size_t map = turn * kSymmetries + packed % kSymmetries;
    return {row(static_cast<int>(packed / kSymmetries)),
            twists_after_.data() + map * optimal_row::kNumbers};
}

bool Generation::find(int number, int twist, int distance) {
    return row(number).find(twist, distance % 3, distance <= far_ - OptimalTable::kNearMargin);
}

// Marks an entry and its images under the symmetries of its class's representative.
std::size_t Generation::reach(int number, int twist, int distance) {
    if (!find(number, twist, distance)) return 0;
    std::size_t reached = 1;
    const int flip_slice_class = number / kinds_;
    const int slice = static_cast<int>(classes_.representatives[flip_slice_class]) / kFlips;
    const int placed = slice * kinds_ + number % kinds_;
    for (int bits = classes_.stabilizers[flip_slice_class] >> 1, s = 1; bits != 0; bits >>= 1, ++s) {
        if (!(bits & 1)) continue;
        const int image = flip_slice_class * kinds_ + coordinates_.kind_seen(placed, s);
        reached += find(image, coordinates_.twist_seen(twist, s), distance);
    }
    return reached;
}

std::size_t Generation::spread(int number, int distance) {
    const int nearer = (distance + 2) % 3;
    std::array<std::uint16_t, kTwists> twists;
    int count = 0;
    for_twists([&](int twist) {
        if (row(number).get(twist) == nearer) twists[count++] = static_cast<std::uint16_t>(twist);
    });
    std::size_t reached = 0;
    for (std::size_t turn = 0; count > 0 && turn < turns_.size(); ++turn) {
        const Target to = target(number, turn);
        const int to_number = static_cast<int>(row_after_[number * turns_.size() + turn] / kSymmetries);
        for (int k = 0; k < count; ++k)
            if (to.row.get(to.twists[twists[k]]) == kUnknown)
                reached += reach(to_number, to.twists[twists[k]], distance);
    }
    return reached;
}

std::size_t Generation::ask(int number, int distance) {
    const int nearer = (distance + 2) % 3;
    std::array<std::uint16_t, kTwists> unknown;
    int count = 0;
    Row own = row(number);
    for_twists([&](int twist) {
        if (own.get(twist) == kUnknown) unknown[count++] = static_cast<std::uint16_t>(twist);
    });
    const int before = count;
    for (std::size_t turn = 0; count > 0 && turn < turns_.size(); ++turn) {
        const Target to = target(number, turn);
        int left = 0;
        for (int k = 0; k < count; ++k) {
            if (to.row.get(to.twists[unknown[k]]) == nearer) find(number, unknown[k], distance);
            else unknown[left++] = unknown[k];
        }
        count = left;
    }
    return static_cast<std::size_t>(before - count);
}

bool Generation::on_all_rows(Work work, int distance, int threads, const Progress& progress,
                             std::size_t& reached) {
    const int rows = kFlipSliceClasses * kinds_;
    const double entries = static_cast<double>(rows) * kTwists;
    std::atomic<int> next{0};
    std::atomic<std::size_t> sum{0};
    std::atomic<bool> stopped{false};
    const auto run = [&](bool reports) {
        for (int first; !stopped && (first = next.fetch_add(kBlock)) < rows;) {
            std::size_t count = 0;
            for (int number = first; number < std::min(first + kBlock, rows); ++number)
                count += (this->*work)(number, distance);
            sum += count;
            if (reports && !progress(static_cast<double>(known_ + sum) / entries)) stopped = true;
        }
    };
    {
        std::vector<std::jthread> helpers;
        for (int t = 1; t < threads; ++t) helpers.emplace_back(run, false);
        run(true);
    }
    reached = sum;
    return !stopped;
}

bool Generation::run(int threads, const Progress& progress) {
    if (!progress(0.0)) return false;
    prepare();
    const std::size_t rows = std::size_t{kFlipSliceClasses} * kinds_;
    std::fill_n(bytes_.data() + layout_.rows, rows * optimal_row::kBytes, std::uint8_t{0xFF});
    std::size_t last = known_ = reach(0, 0, 0);
    for (int distance = 1; last > 0 && distance != far_; ++distance) {
        const bool few = static_cast<double>(last) * kAskingGain <
                         static_cast<double>(rows * kTwists - known_);
        const Work work = few ? &Generation::spread : &Generation::ask;
        if (!on_all_rows(work, distance, threads, progress, last)) return false;
        known_ += last;
    }
    return progress(1.0);
}

}  // namespace

bool OptimalTable::generate(OptimalMetric metric, OptimalShape shape,
                            std::span<std::uint8_t> bytes, int threads,
                            const Progress& progress) {
    return Generation(metric, shape, bytes).run(threads, progress);
}

}  // namespace cubist
