#include "cube/coordinates.hpp"

#include <algorithm>
#include <array>

namespace cubist {
namespace {

constexpr std::array<std::array<int, 5>, 13> make_choose() {
    std::array<std::array<int, 5>, 13> choose{};
    for (int n = 0; n < 13; ++n) {
        choose[n][0] = 1;
        for (int k = 1; k < 5 && n > 0; ++k) choose[n][k] = choose[n - 1][k - 1] + choose[n - 1][k];
    }
    return choose;
}
constexpr auto kChoose = make_choose();

// The order in which sets of slots are ranked: U, D, middle. Sets without a middle slot come first,
// so that phase 2 has ranks 0..69, and the middle set itself comes last.
constexpr std::array<int, kEdges> kRankedSlots{0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7};

template <std::size_t N>
int rank_permutation(const std::array<std::uint8_t, N>& perm) {
    int rank = 0;
    for (std::size_t i = 0; i < N; ++i) {
        int smaller = 0;
        for (std::size_t j = i + 1; j < N; ++j) smaller += perm[j] < perm[i];
        rank = rank * static_cast<int>(N - i) + smaller;
    }
    return rank;
}

template <std::size_t N>
std::array<std::uint8_t, N> unrank_permutation(int rank) {
    std::array<int, N> digits{};
    for (std::size_t i = N; i-- > 0;) {
        digits[i] = rank % static_cast<int>(N - i);
        rank /= static_cast<int>(N - i);
    }
    std::array<std::uint8_t, N> left{}, perm{};
    for (std::size_t i = 0; i < N; ++i) left[i] = static_cast<std::uint8_t>(i);
    for (std::size_t i = 0; i < N; ++i) {
        perm[i] = left[digits[i]];
        std::copy(left.begin() + digits[i] + 1, left.end(), left.begin() + digits[i]);
    }
    return perm;
}

// Returns the four ranked positions of a set, ascending.
std::array<int, 4> unrank_set(int rank) {
    std::array<int, 4> set{};
    int position = kEdges - 1;
    for (int k = 4; k > 0; --k) {
        while (kChoose[position][k] > rank) --position;
        rank -= kChoose[position][k];
        set[k - 1] = position--;
    }
    return set;
}

}  // namespace

int twist_of(const CubieCube& cube) {
    int twist = 0;
    for (int slot = 0; slot < kCorners - 1; ++slot) twist = 3 * twist + cube.co[slot];
    return twist;
}

void set_twist(CubieCube& cube, int twist) {
    int sum = 0;
    for (int slot = kCorners - 2; slot >= 0; --slot) {
        cube.co[slot] = static_cast<std::uint8_t>(twist % 3);
        sum += twist % 3;
        twist /= 3;
    }
    cube.co[kCorners - 1] = static_cast<std::uint8_t>((3 - sum % 3) % 3);
}

int flip_of(const CubieCube& cube) {
    int flip = 0;
    for (int slot = 0; slot < kEdges - 1; ++slot) flip = 2 * flip + cube.eo[slot];
    return flip;
}

void set_flip(CubieCube& cube, int flip) {
    int sum = 0;
    for (int slot = kEdges - 2; slot >= 0; --slot) {
        cube.eo[slot] = flip & 1;
        sum ^= flip & 1;
        flip >>= 1;
    }
    cube.eo[kEdges - 1] = static_cast<std::uint8_t>(sum);
}

int corner_perm_of(const CubieCube& cube) { return rank_permutation(cube.cp); }

void set_corner_perm(CubieCube& cube, int rank) { cube.cp = unrank_permutation<kCorners>(rank); }

int placement_of(const CubieCube& cube, Layer layer) {
    const int base = first_edge(layer);
    std::array<std::uint8_t, 4> order{};
    int set = 0, found = 0;
    for (int position = 0; position < kEdges; ++position) {
        const int edge = cube.ep[kRankedSlots[position]] - base;
        if (edge < 0 || edge >= 4) continue;
        order[found++] = static_cast<std::uint8_t>(edge);
        set += kChoose[position][found];
    }
    return set * kOrders + rank_permutation(order);
}

void set_placement(CubieCube& cube, Layer layer, int placement) {
    const int base = first_edge(layer);
    const auto set = unrank_set(placement / kOrders);
    const auto order = unrank_permutation<4>(placement % kOrders);
    std::array<bool, kEdges> taken{};
    for (int k = 0; k < 4; ++k) {
        const int slot = kRankedSlots[set[k]];
        cube.ep[slot] = static_cast<std::uint8_t>(base + order[k]);
        taken[slot] = true;
    }
    int other = 0;
    for (int slot = 0; slot < kEdges; ++slot) {
        if (taken[slot]) continue;
        if (other == base) other += 4;
        cube.ep[slot] = static_cast<std::uint8_t>(other++);
    }
}

void set_flip_slice(CubieCube& cube, int flip_slice) {
    set_placement(cube, Layer::kMiddle, (kSlices - 1 - flip_slice / kFlips) * kOrders);
    set_flip(cube, flip_slice % kFlips);
}

void set_outer_edges(CubieCube& cube, int outer, int middle_order) {
    const auto up_set = unrank_set(outer / (kOrders * kOrders));
    const auto up = unrank_permutation<4>(outer / kOrders % kOrders);
    const auto down = unrank_permutation<4>(outer % kOrders);
    const auto middle = unrank_permutation<4>(middle_order);
    int ups = 0, downs = 0;
    for (int position = 0; position < 8; ++position) {
        const bool is_up = std::find(up_set.begin(), up_set.end(), position) != up_set.end();
        cube.ep[kRankedSlots[position]] =
            static_cast<std::uint8_t>(is_up ? up[ups++] : first_edge(Layer::kDown) + down[downs++]);
    }
    for (int k = 0; k < 4; ++k)
        cube.ep[first_edge(Layer::kMiddle) + k] =
            static_cast<std::uint8_t>(first_edge(Layer::kMiddle) + middle[k]);
}

}  // namespace cubist
