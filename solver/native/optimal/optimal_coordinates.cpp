#include "optimal/optimal_coordinates.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "cube/symmetry.hpp"

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

// Even and self-inverse: the four orders that swap two disjoint pairs, or nothing.
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

// The renaming that takes the labels of `a` to those of `b`.
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

// By number; the values in the gaps have no meaning.
std::vector<CubieCube> twisted_cubes() {
    std::vector<CubieCube> cubes(optimal_row::kNumbers);
    for (int twist = 0; twist < kTwists; ++twist)
        set_twist(cubes[optimal_row::numbered(twist)], twist);
    return cubes;
}

}  // namespace

OptimalCoordinates::OptimalCoordinates(int kinds) : kinds_(kinds) {
    int known = 0;
    for (int rank = 0; rank < kOrders; ++rank) {
        int kind = 0;
        while (kind < known && !is_alike(kinds, renaming(order_at(order_[kind]), order_at(rank))))
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
            kind_seen_[symmetry * kSlices * kinds_ + placed] =
                static_cast<std::uint8_t>(placed_of(conjugate(with_placed(placed), map)) % kinds_);
    }
}

OptimalPosition OptimalCoordinates::position_of(const CubieCube& cube) const {
    const int placed = placed_of(cube);
    return {static_cast<std::uint16_t>(flip_of(cube)), static_cast<std::uint16_t>(placed / kinds_),
            static_cast<std::uint16_t>(numbered_twist_of(cube)),
            static_cast<std::uint8_t>(placed % kinds_)};
}

FaceMap axis_map(int axis) {
    FaceMap map{U, R, F, D, L, B};
    for (int third = 0; third < axis; ++third) map = compose(kDiagonalThird, map);
    return map;
}

namespace {

constexpr int kFirstMiddle = first_edge(Layer::kMiddle);
constexpr int kPlaces = kEdges * kEdges * kEdges * kEdges;

// The slot that a slot moves to under the rotation, shown by a cube with one misoriented cubie.
template <auto kOrientations>
int image_of(int slot, const FaceMap& map) {
    CubieCube cube;
    (cube.*kOrientations)[slot] = 1;
    const auto seen = conjugate(cube, map).*kOrientations;
    return static_cast<int>(std::find_if(seen.begin(), seen.end(), [](int o) { return o != 0; }) -
                            seen.begin());
}

// The inverse of a cube with that cubie in the slot, as seen along the axis. All other cubies are
// oriented.
template <auto kCubies, auto kOrientations>
CubieCube inverse_with(int slot, int cubie, int orientation, const FaceMap& map) {
    CubieCube cube;
    std::swap((cube.*kCubies)[slot], (cube.*kCubies)[cubie]);
    (cube.*kOrientations)[slot] = static_cast<std::uint8_t>(orientation);
    const auto seen = conjugate(cube.inverse(), map).*kOrientations;
    const int image = image_of<kOrientations>(cubie, map);
    CubieCube alone;
    (alone.*kOrientations)[image] = seen[image];
    return alone;
}

}  // namespace

OptimalInverse::OptimalInverse(const OptimalCoordinates& coordinates) {
    for (int axis = 0; axis < kViews; ++axis) {
        add_orientations(axis);
        weigh_middle(axis);
    }
    place_middle(coordinates);
}

void OptimalInverse::add_orientations(int axis) {
    const FaceMap map = axis_map(axis);
    const int shift = axis * kLaneBits;
    const auto in_lane = [shift](int value) { return static_cast<Lanes>(value) << shift; };
    for (int slot = 0; slot < kCorners; ++slot)
        for (int cubie = 0; cubie < kCorners; ++cubie)
            for (int twist = 0; twist < 3; ++twist)
                twists_[slot][cubie][twist] |= in_lane(twist_of(
                    inverse_with<&CubieCube::cp, &CubieCube::co>(slot, cubie, twist, map)));
    for (int slot = 0; slot < kEdges; ++slot)
        for (int cubie = 0; cubie < kEdges; ++cubie)
            for (int flip = 0; flip < 2; ++flip)
                flips_[slot][cubie][flip] |= in_lane(
                    flip_of(inverse_with<&CubieCube::ep, &CubieCube::eo>(slot, cubie, flip, map)));
}

void OptimalInverse::weigh_middle(int axis) {
    const FaceMap map = axis_map(axis);
    std::array<int, kEdges> image;
    for (int slot = 0; slot < kEdges; ++slot) image[slot] = image_of<&CubieCube::eo>(slot, map);
    for (int middle = kMiddle - 1, weight = 1; middle >= 0; --middle, weight *= kEdges) {
        const auto slot = std::find(image.begin(), image.end(), kFirstMiddle + middle);
        middle_[axis][middle] = static_cast<std::uint8_t>(slot - image.begin());
        for (int edge = 0; edge < kEdges; ++edge)
            weights_[axis][middle][edge] = static_cast<std::uint16_t>(weight * image[edge]);
    }
}

// The slots with the first to the last middle edge are the digits of a place's number.
void OptimalInverse::place_middle(const OptimalCoordinates& coordinates) {
    placed_.resize(kPlaces);
    for (int place = 0; place < kPlaces; ++place) {
        CubieCube cube;
        cube.ep.fill(0);
        int count = 0;
        for (int middle = kMiddle - 1, rest = place; middle >= 0; --middle, rest /= kEdges) {
            count += cube.ep[rest % kEdges] == 0;
            cube.ep[rest % kEdges] = static_cast<std::uint8_t>(kFirstMiddle + middle);
        }
        if (count < kMiddle) continue;  // two in one slot
        const OptimalPosition position = coordinates.position_of(cube);
        placed_[place] = static_cast<std::uint16_t>(position.slice << kKindBits | position.kind);
    }
}

std::array<OptimalPosition, kViews> OptimalInverse::positions(const CubieCube& cube) const {
    Lanes twists = 0, flips = 0;
    for (int slot = 0; slot < kCorners; ++slot)
        twists += twists_[slot][cube.cp[slot]][cube.co[slot]];
    for (int slot = 0; slot < kEdges; ++slot) flips += flips_[slot][cube.ep[slot]][cube.eo[slot]];
    std::array<OptimalPosition, kViews> positions;
    for (int axis = 0; axis < kViews; ++axis) {
        int place = 0;
        for (int middle = 0; middle < kMiddle; ++middle)
            place += weights_[axis][middle][cube.ep[middle_[axis][middle]]];
        const int placed = placed_[place];
        positions[axis] = {lane(flips, axis), static_cast<std::uint16_t>(placed >> kKindBits),
                           static_cast<std::uint16_t>(optimal_row::numbered(lane(twists, axis))),
                           static_cast<std::uint8_t>(placed & ((1 << kKindBits) - 1))};
    }
    return positions;
}

}  // namespace cubist
