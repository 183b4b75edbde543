#include "optimal_table.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace cubist {
namespace {

using Order = std::array<int, 4>;

Order order_at(int rank) {
    Order order{0, 1, 2, 3};
    for (int step = 0; step < rank; ++step) std::next_permutation(order.begin(), order.end());
    return order;
}

bool is_even(const Order& order) {
    int inversions = 0;
    for (int i = 0; i < 4; ++i)
        for (int j = i + 1; j < 4; ++j) inversions += order[j] < order[i];
    return inversions % 2 == 0;
}

// Even and its own inverse: the four orders that swap two disjoint pairs, or nothing.
bool swaps_pairs(const Order& order) {
    for (int i = 0; i < 4; ++i)
        if (order[order[i]] != i) return false;
    return is_even(order);
}

bool is_alike(int kinds, const Order& order) {
    switch (kinds) {
        case 1: return true;
        case 2: return is_even(order);
        case 6: return swaps_pairs(order);
        case 24: return order == Order{0, 1, 2, 3};
        default: throw std::invalid_argument("orders come in 1, 2, 6 or 24 kinds");
    }
}

// What renames the labels of `a` to those of `b`.
Order renaming(const Order& a, const Order& b) {
    Order out{};
    for (int i = 0; i < 4; ++i) out[a[i]] = b[i];
    return out;
}

template <class Of>
std::vector<std::uint16_t> turned(const std::vector<CubieCube>& cubes, const Of& of) {
    std::vector<std::uint16_t> after;
    after.reserve(cubes.size() * kFaceTurns);
    for (const CubieCube& cube : cubes)
        for (int turn = 0; turn < kFaceTurns; ++turn)
            after.push_back(static_cast<std::uint16_t>(of(cube * face_turn_cube(turn))));
    return after;
}

template <class Make>
std::vector<CubieCube> all_cubes(int values, const Make& make) {
    std::vector<CubieCube> cubes;
    cubes.reserve(values);
    for (int value = 0; value < values; ++value) cubes.push_back(make(value));
    return cubes;
}

CubieCube with_flip(int flip) {
    CubieCube cube;
    set_flip(cube, flip);
    return cube;
}

int numbered_twist_of(const CubieCube& cube) { return optimal_row::numbered(twist_of(cube)); }

// By number; what is in the gaps stands for nothing.
std::vector<CubieCube> twisted_cubes() {
    std::vector<CubieCube> cubes(optimal_row::kNumbers);
    for (int twist = 0; twist < kTwists; ++twist)
        set_twist(cubes[optimal_row::numbered(twist)], twist);
    return cubes;
}

}  // namespace

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

OptimalCoordinates::OptimalCoordinates(int kinds) : kinds_(kinds) {
    int known = 0;
    for (int rank = 0; rank < kOrders; ++rank) {
        int kind = 0;
        while (kind < known &&
               !is_alike(kinds, renaming(order_at(order_[kind]), order_at(rank))))
            ++kind;
        if (kind == known) order_[known++] = static_cast<std::uint8_t>(rank);
        kind_[rank] = static_cast<std::uint8_t>(kind);
    }
    make_turns();
    make_symmetries();
}

CubieCube OptimalCoordinates::with_placed(int placed) const {
    CubieCube cube;
    const int set = kSlices - 1 - placed / kinds_;
    set_placement(cube, Layer::kMiddle, set * kOrders + order_[placed % kinds_]);
    return cube;
}

void OptimalCoordinates::make_turns() {
    const auto placed = [this](int value) { return with_placed(value); };
    const auto placed_of = [this](const CubieCube& cube) { return this->placed_of(cube); };
    flip_after_ = turned(all_cubes(kFlips, with_flip), flip_of);
    twist_after_ = turned(twisted_cubes(), numbered_twist_of);
    placed_after_ = turned(all_cubes(kSlices * kinds_, placed), placed_of);
}

void OptimalCoordinates::make_symmetries() {
    const std::vector<CubieCube> twisted = twisted_cubes();
    twist_seen_.reserve(kSymmetries * twisted.size());
    kind_seen_.resize(std::size_t{kSymmetries} * kSlices * kinds_);
    for (int symmetry = 0; symmetry < kSymmetries; ++symmetry) {
        const FaceMap& map = symmetries().maps[symmetry];
        for (const CubieCube& cube : twisted)
            twist_seen_.push_back(
                static_cast<std::uint16_t>(numbered_twist_of(conjugate(cube, map))));
        for (int placed = 0; placed < kSlices * kinds_; ++placed)
            kind_seen_[symmetry * kSlices * kinds_ + placed] = static_cast<std::uint8_t>(
                placed_of(conjugate(with_placed(placed), map)) % kinds_);
    }
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
    for (int distance = std::max(0, shape.far - kNear + 1); distance < shape.far; ++distance)
        clear_[distance % 3] = static_cast<std::uint8_t>(distance);
    clear_[kFar] = static_cast<std::uint8_t>(shape.far);
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

OptimalPosition OptimalTable::position_of(const CubieCube& cube) const {
    const int placed = coordinates_.placed_of(cube);
    return {static_cast<std::uint16_t>(flip_of(cube)),
            static_cast<std::uint16_t>(placed / shape_.kinds),
            static_cast<std::uint16_t>(numbered_twist_of(cube)),
            static_cast<std::uint8_t>(placed % shape_.kinds)};
}

}  // namespace cubist
