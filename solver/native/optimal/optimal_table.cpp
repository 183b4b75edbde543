#include "optimal/optimal_table.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "cube/twist_rows.hpp"

namespace cubist {

OptimalMetric optimal_metric(std::string_view name) {
    if (name == "htm") return OptimalMetric::kHalfTurn;
    if (name == "qtm") return OptimalMetric::kQuarterTurn;
    throw std::invalid_argument("the optimal search counts in htm or qtm");
}

const std::vector<int>& unit_turns(OptimalMetric metric) {
    static const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    static const std::vector<int> quarters{0, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17};
    return metric == OptimalMetric::kHalfTurn ? all : quarters;
}

OptimalLayout::OptimalLayout(OptimalShape shape)
    : packed(0),
      rows(aligned(std::size_t{kFlipSlices} * sizeof(std::uint32_t))),
      bytes(rows + std::size_t{kFlipSliceClasses} * shape.kinds * optimal_row::kBytes) {}

std::size_t OptimalTable::size(OptimalShape shape) { return OptimalLayout(shape).bytes; }

OptimalTable::OptimalTable(OptimalShape shape, std::span<const std::uint8_t> bytes)
    : shape_(shape), coordinates_(shape.kinds) {
    const OptimalLayout layout(shape);
    if (shape.far < 0) throw std::invalid_argument("no distance is below 0");
    if (bytes.size() != layout.bytes) throw std::invalid_argument("optimal table: wrong size");
    packed_ = part<std::uint32_t>(bytes, layout.packed);
    rows_ = bytes.data() + layout.rows;
    for (int distance = std::max(0, shape.far - kNearMargin + 1); distance < shape.far; ++distance)
        alone_[distance % 3] = static_cast<std::uint8_t>(distance);
    alone_[kFarEntry] = static_cast<std::uint8_t>(shape.far);
    if (shape.far > 0) inverse_.emplace(coordinates_);
    link_classes();
}

std::vector<std::uint8_t> OptimalTable::number_kind_maps() {
    const int kinds = shape_.kinds;
    std::vector<std::uint8_t> numbers;
    numbers.reserve(std::size_t{kSlices} * kFaceTurns * kSymmetries);
    std::map<std::vector<std::uint8_t>, std::uint8_t> known;
    std::vector<std::uint8_t> map(kinds);
    for (int slice = 0; slice < kSlices; ++slice)
        for (int turn = 0; turn < kFaceTurns; ++turn)
            for (int symmetry = 0; symmetry < kSymmetries; ++symmetry) {
                for (int kind = 0; kind < kinds; ++kind)
                    map[kind] = static_cast<std::uint8_t>(coordinates_.kind_seen(
                        coordinates_.placed_after(slice * kinds + kind, turn), symmetry));
                const auto [at, is_new] =
                    known.try_emplace(map, static_cast<std::uint8_t>(known.size()));
                if (is_new) kind_maps_.insert(kind_maps_.end(), map.begin(), map.end());
                numbers.push_back(at->second);
            }
    if (known.size() > 256) throw std::logic_error("more maps of orders than a byte can number");
    return numbers;
}

void OptimalTable::link_classes() {
    links_.resize(kFlipSliceClasses);
    const int kinds = shape_.kinds;
    const std::vector<std::uint8_t> kind_maps = number_kind_maps();
    for (int flip_slice = 0; flip_slice < kFlipSlices; ++flip_slice) {
        if (packed_[flip_slice] % kSymmetries != 0) continue;  // not a representative
        ClassLinks& links = links_.at(packed_[flip_slice] / kSymmetries);
        const int slice = flip_slice / kFlips;
        for (int turn = 0; turn < kFaceTurns; ++turn) {
            const int slice_after = coordinates_.placed_after(slice * kinds, turn) / kinds;
            const int flip_after = coordinates_.flip_after(flip_slice % kFlips, turn);
            const std::uint32_t packed = packed_[slice_after * kFlips + flip_after];
            const std::uint32_t symmetry = packed % kSymmetries;
            links.to[turn] = static_cast<std::uint16_t>(packed / kSymmetries);
            links.kind_map[turn] = kind_maps[(slice * kFaceTurns + turn) * kSymmetries + symmetry];
            links.symmetries[turn / 2] |= static_cast<std::uint8_t>(symmetry << (turn % 2 * 4));
        }
    }
}

// Builds the table of the optimal search: first the class of every flip-slice, then the distances
// (cube/twist_rows.hpp). A table that is cut off is complete once all unknown entries are far.

namespace {

class Generation {
public:
    Generation(OptimalMetric metric, OptimalShape shape, std::span<std::uint8_t> bytes)
        : turns_(unit_turns(metric)),
          coordinates_(shape.kinds),
          kinds_(shape.kinds),
          far_(shape.far),
          bytes_(bytes),
          layout_(shape) {
        static_assert(optimal_row::kBytes == twist_rows::kBytes);
        for (int twist = 0; twist < kTwists; ++twist) {
            const int number = optimal_row::numbered(twist);
            used_[number / 32] |= std::uint64_t{1} << (number % 32 * 2);
        }
    }

    bool run(int threads, const Progress& progress);

    // The interface for TwistSearch; a row is a class of flip-slices and a kind of order.
    int rows() const { return kFlipSliceClasses * kinds_; }
    int turns() const { return static_cast<int>(turns_.size()); }
    const twist_rows::Used& used() const { return used_; }
    std::uint64_t* row(int number) {
        return part<std::uint64_t>(
            bytes_, layout_.rows + static_cast<std::size_t>(number) * optimal_row::kBytes);
    }
    int twist_after(int twist, int turn) const {
        return coordinates_.twist_after(twist, turns_[turn]);
    }
    int twist_seen(int twist, int symmetry) const {
        return coordinates_.twist_seen(twist, symmetry);
    }
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

bool OptimalTable::generate(OptimalMetric metric, OptimalShape shape, std::span<std::uint8_t> bytes,
                            int threads, const Progress& progress) {
    return Generation(metric, shape, bytes).run(threads, progress);
}

}  // namespace cubist
