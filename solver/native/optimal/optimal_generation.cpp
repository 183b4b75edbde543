// Making the table of the optimal search: where every flip-slice belongs, then the distances
// (twist_rows.hpp). A table that is cut off is done when what is unknown is far.
#include <algorithm>

#include "optimal/optimal_table.hpp"
#include "robot/twist_rows.hpp"

namespace cubist {
namespace {

class Generation {
public:
    Generation(OptimalMetric metric, OptimalShape shape, std::span<std::uint8_t> bytes)
        : turns_(unit_turns(metric)), coordinates_(shape.kinds), kinds_(shape.kinds),
          far_(shape.far), bytes_(bytes), layout_(shape) {
        static_assert(optimal_row::kBytes == twist_rows::kBytes);
        for (int twist = 0; twist < kTwists; ++twist) {
            const int number = optimal_row::numbered(twist);
            used_[number / 32] |= std::uint64_t{1} << (number % 32 * 2);
        }
    }

    bool run(int threads, const Progress& progress);

    // As TwistSearch wants it; a row is a class of flip-slices and a kind of order.
    int rows() const { return kFlipSliceClasses * kinds_; }
    int turns() const { return static_cast<int>(turns_.size()); }
    const twist_rows::Used& used() const { return used_; }
    std::uint64_t* row(int number) {
        return part<std::uint64_t>(
            bytes_, layout_.rows + static_cast<std::size_t>(number) * optimal_row::kBytes);
    }
    int twist_after(int twist, int turn) const { return coordinates_.twist_after(twist, turns_[turn]); }
    int twist_seen(int twist, int symmetry) const { return coordinates_.twist_seen(twist, symmetry); }
    RowTurn row_after(int row, int turn) const;
    void for_images(int row, const auto& see) const {
        const int flip_slice_class = row / kinds_;
        for (int bits = classes_.stabilizers[flip_slice_class] >> 1, s = 1; bits != 0;
             bits >>= 1, ++s)
            if (bits & 1)
                see(flip_slice_class * kinds_ + coordinates_.kind_seen(placed_of(row), s), s);
    }
    static constexpr std::uint64_t near_bit(int number) {
        const optimal_row::Place place = optimal_row::group(number);
        return std::uint64_t{1} << (place.byte % 8 * 8 + place.shift);
    }
    bool is_near(int distance) const { return distance <= far_ - OptimalTable::kNearMargin; }
    int far() const { return far_; }

private:
    int placed_of(int row) const {
        return static_cast<int>(classes_.representatives[row / kinds_]) / kFlips * kinds_ +
               row % kinds_;
    }

    const std::vector<int>& turns_;
    OptimalCoordinates coordinates_;
    int kinds_, far_;
    std::span<std::uint8_t> bytes_;
    OptimalLayout layout_;
    FlipSliceClasses classes_;
    twist_rows::Used used_{};
};

RowTurn Generation::row_after(int row, int turn) const {
    const int flip = static_cast<int>(classes_.representatives[row / kinds_]) % kFlips;
    const int flip_after = coordinates_.flip_after(flip, turns_[turn]);
    const int placed_after = coordinates_.placed_after(placed_of(row), turns_[turn]);
    const std::uint32_t packed = classes_.packed[placed_after / kinds_ * kFlips + flip_after];
    const int symmetry = static_cast<int>(packed % kSymmetries);
    const int kind = coordinates_.kind_seen(placed_after, symmetry);
    return {static_cast<int>(packed / kSymmetries) * kinds_ + kind, symmetry};
}

bool Generation::run(int threads, const Progress& progress) {
    if (!progress(0.0)) return false;
    std::copy(classes_.packed.begin(), classes_.packed.end(),
              part<std::uint32_t>(bytes_, layout_.packed));
    std::fill(bytes_.begin() + static_cast<std::ptrdiff_t>(layout_.rows), bytes_.end(),
              std::uint8_t{0xFF});
    return TwistSearch(*this).run(threads, progress) && progress(1.0);
}

}  // namespace

bool OptimalTable::generate(OptimalMetric metric, OptimalShape shape,
                            std::span<std::uint8_t> bytes, int threads,
                            const Progress& progress) {
    return Generation(metric, shape, bytes).run(threads, progress);
}

}  // namespace cubist
