#include "thistlethwaite/thistlethwaite_groups.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "cube/coordinates.hpp"

namespace cubist {
namespace {

constexpr int kOrbits = 420;
constexpr int kHalfTurnCorners = 96;
constexpr int kOrbitSets = 70;
constexpr int kSliceEdges = 4;
constexpr int kNone = -1;

// Slots, and cubies, of the slices: between L and R, between F and B, between U and D.
constexpr std::array<std::array<std::uint8_t, kSliceEdges>, 3> kSliceSlots{
    {{0, 2, 8, 10}, {1, 3, 9, 11}, {4, 5, 6, 7}}};
constexpr std::array<std::uint8_t, 8> kOuterSlots{0, 1, 2, 3, 8, 9, 10, 11};

constexpr std::array<int, kFaces> kHalfTurns{1, 4, 7, 10, 13, 16};

// All corner permutations reached from `start` by half turns made before or after it.
template <class Combine>
std::vector<int> closure(int start, const Combine& combine) {
    std::vector<int> reached{start};
    std::vector<bool> seen(kCornerPerms);
    seen[start] = true;
    for (std::size_t head = 0; head < reached.size(); ++head) {
        CubieCube cube;
        set_corner_perm(cube, reached[head]);
        for (int turn : kHalfTurns) {
            const int next = corner_perm_of(combine(cube, face_turn_cube(turn)));
            if (seen[next]) continue;
            seen[next] = true;
            reached.push_back(next);
        }
    }
    return reached;
}

// Values of a coordinate by permutation, and one permutation of each value.
struct PermClasses {
    std::vector<int> value = std::vector<int>(kCornerPerms, kNone);
    std::vector<int> example;
};

Coordinate of_classes(std::shared_ptr<const PermClasses> classes, int values) {
    return {values, [classes](const CubieCube& cube) { return classes->value[corner_perm_of(cube)]; },
            [classes](CubieCube& cube, int value) { set_corner_perm(cube, classes->example[value]); }};
}

int slice_of_edge(std::uint8_t edge) {
    const auto holds = [edge](const auto& slice) {
        return std::find(slice.begin(), slice.end(), edge) != slice.end();
    };
    return static_cast<int>(std::find_if(kSliceSlots.begin(), kSliceSlots.end(), holds) -
                            kSliceSlots.begin());
}

// The sets of four of the eight outer slots, the solved one first.
std::vector<unsigned> outer_sets() {
    CubieCube solved;
    unsigned home = 0;
    for (std::size_t k = 0; k < kOuterSlots.size(); ++k)
        home |= (slice_of_edge(kOuterSlots[k]) == 0 ? 1U : 0U) << k;
    std::vector<unsigned> sets{home};
    for (unsigned set = 0; set < 1U << kOuterSlots.size(); ++set)
        if (std::popcount(set) == kSliceEdges && set != home) sets.push_back(set);
    return sets;
}

void place_outer_edges(CubieCube& cube, unsigned set) {
    std::array<int, 2> used{};
    for (std::size_t k = 0; k < kOuterSlots.size(); ++k) {
        const int slice = set >> k & 1U ? 0 : 1;
        cube.ep[kOuterSlots[k]] = kSliceSlots[slice][used[slice]++];
    }
}

int order_of(const CubieCube& cube, int slice) {
    int rank = 0;
    const auto& slots = kSliceSlots[slice];
    for (int i = 0; i < kSliceEdges; ++i) {
        int smaller = 0;
        for (int j = i + 1; j < kSliceEdges; ++j) smaller += cube.ep[slots[j]] < cube.ep[slots[i]];
        rank = rank * (kSliceEdges - i) + smaller;
    }
    return rank;
}

void set_order(CubieCube& cube, int slice, int rank) {
    auto order = kSliceSlots[slice];
    for (int step = 0; step < rank; ++step) std::next_permutation(order.begin(), order.end());
    for (int i = 0; i < kSliceEdges; ++i) cube.ep[kSliceSlots[slice][i]] = order[i];
}

}  // namespace

Coordinate corner_orbits() {
    auto classes = std::make_shared<PermClasses>();
    const auto renamed = [](const CubieCube& cube, const CubieCube& turn) { return turn * cube; };
    for (int perm = 0; perm < kCornerPerms; ++perm) {
        if (classes->value[perm] != kNone) continue;
        const int number = static_cast<int>(classes->example.size());
        for (int member : closure(perm, renamed)) classes->value[member] = number;
        classes->example.push_back(perm);
    }
    return of_classes(std::move(classes), kOrbits);
}

Coordinate edge_slices() {
    const auto sets = std::make_shared<const std::vector<unsigned>>(outer_sets());
    const auto of = [sets](const CubieCube& cube) {
        unsigned set = 0;
        for (std::size_t k = 0; k < kOuterSlots.size(); ++k)
            set |= (slice_of_edge(cube.ep[kOuterSlots[k]]) == 0 ? 1U : 0U) << k;
        return static_cast<int>(std::find(sets->begin(), sets->end(), set) - sets->begin());
    };
    const auto set = [sets](CubieCube& cube, int value) { place_outer_edges(cube, (*sets)[value]); };
    return {kOrbitSets, of, set};
}

Coordinate half_turn_corners() {
    auto classes = std::make_shared<PermClasses>();
    const auto turned = [](const CubieCube& cube, const CubieCube& turn) { return cube * turn; };
    classes->example = closure(0, turned);
    for (std::size_t number = 0; number < classes->example.size(); ++number)
        classes->value[classes->example[number]] = static_cast<int>(number);
    return of_classes(std::move(classes), kHalfTurnCorners);
}

Coordinate half_turn_edges() {
    const auto of = [](const CubieCube& cube) {
        return (order_of(cube, 0) * kOrders + order_of(cube, 1)) * kOrders + order_of(cube, 2);
    };
    const auto set = [](CubieCube& cube, int value) {
        set_order(cube, 0, value / (kOrders * kOrders));
        set_order(cube, 1, value / kOrders % kOrders);
        set_order(cube, 2, value % kOrders);
    };
    return {kOrders * kOrders * kOrders, of, set};
}

}  // namespace cubist
