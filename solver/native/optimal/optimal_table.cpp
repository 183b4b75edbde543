#include "optimal/optimal_table.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

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
    if (bytes.size() != layout.bytes) throw std::invalid_argument("optimal table of a wrong size");
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
        if (packed_[flip_slice] % kSymmetries != 0) continue;  // no representative
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

}  // namespace cubist
