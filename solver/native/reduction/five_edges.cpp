#include "reduction/five_edges.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

namespace cubist {
namespace {

// Where the piece of a slot goes.
int goes_to(const OrbitMove& from, int slot) {
    return static_cast<int>(std::find(from.begin(), from.end(), slot) - from.begin());
}

bool keeps_axes(const FaceMap& map) {
    return map[U] % 3 == U && map[R] % 3 == R && map[F] % 3 == F;
}

// Whether the low wings in U and D come to low slots.
bool keeps_low(const FiveCube& cube, const FaceMap& map) {
    return cube.is_low(goes_to(wing_symmetry(map), cube.slots()[0][0]));
}

}  // namespace

EdgeAction edge_action(const FiveCube& cube, int turn) {
    EdgeAction action{};
    for (int place = 0; place < kPlaces; ++place) {
        const auto [low, high] = cube.slots()[place];
        const auto edge = [&](const OrbitMove& from, int slot) {
            return static_cast<std::uint8_t>(cube.edge_of(goes_to(from, slot)));
        };
        action.middles[place] = edge(cube.middle_move(turn), low);
        action.low[place] = edge(cube.wing_move(turn), low);
        action.high[place] = edge(cube.wing_move(turn), high);
    }
    return action;
}

EdgeAction edge_action(const FiveCube& cube, const FaceMap& map) {
    const OrbitMove from = wing_symmetry(map);
    PlaceMap places{};
    for (int place = 0; place < kPlaces; ++place)
        places[place] =
            static_cast<std::uint8_t>(cube.edge_of(goes_to(from, cube.slots()[place][0])));
    return {places, places, places};
}

std::vector<FaceMap> symmetries_of_low(const FiveCube& cube, bool keeps_all_axes) {
    std::vector<FaceMap> found;
    for (const FaceMap& map : all_face_maps()) {
        if (map[U] % 3 != U || (keeps_all_axes && !keeps_axes(map))) continue;
        bool is_kept = true;
        for (int place = 0; place < kPlaces; ++place)
            is_kept = is_kept && cube.is_low(goes_to(wing_symmetry(map), cube.slots()[place][0]));
        if (!is_kept) continue;
        found.push_back(map);
        if (map == FaceMap{U, R, F, D, L, B}) std::swap(found.front(), found.back());
    }
    return found;
}

FaceMap mirror_of_low(const FiveCube& cube) {
    for (const FaceMap& map : all_face_maps())
        if (keeps_axes(map) && is_reflection(map) && !keeps_low(cube, map)) return map;
    throw std::logic_error("no symmetry exchanges the half orbits");
}

FourEdges::FourEdges() : masks_(rank_.all()) {
    std::array<std::uint8_t, 4> order{0, 1, 2, 3};
    do orders_.push_back(order);
    while (std::next_permutation(order.begin(), order.end()));
    for (int code = 0; code < 4096; ++code) {
        std::array<std::uint8_t, 4> places{};
        unsigned used = 0;
        for (int k = 0; k < 4; ++k) {
            places[k] = static_cast<std::uint8_t>(code >> 3 * k & 7);
            used |= 1U << places[k];
        }
        if (std::popcount(used) != 4) continue;
        number_[code] = static_cast<std::uint16_t>(places_.size());
        places_.push_back(places);
    }
    for (const auto& one : orders_) {
        auto& sorted = sorted_.emplace_back();
        for (int wings = 0; wings < kWings; ++wings) {
            std::array<std::uint8_t, 4> places{};
            for (int k = 0; k < 4; ++k) places[k] = places_[wings][one[k]];
            sorted[wings] = static_cast<std::uint16_t>(wings_of(places));
        }
    }
}

int FourEdges::wings_of(const std::array<std::uint8_t, 4>& places) const {
    return number_[places[0] | places[1] << 3 | places[2] << 6 | places[3] << 9];
}

FourEdges::Action FourEdges::action(const EdgeAction& action) const {
    Action result{};
    for (int number = 0; number < kMiddles; ++number) {
        std::array<std::uint8_t, 4> places{}, order{0, 1, 2, 3};
        Mask after = 0;
        int count = 0;
        for (int place = 0; place < kPlaces; ++place) {
            if ((masks_[number] >> place & 1) == 0) continue;
            places[count++] = action.middles[place];
            after |= Mask{1} << action.middles[place];
        }
        std::sort(order.begin(), order.end(), [&](int a, int b) { return places[a] < places[b]; });
        result.middles[number] = static_cast<std::uint8_t>(rank_(after));
        result.order[number] = static_cast<std::uint8_t>(
            std::find(orders_.begin(), orders_.end(), order) - orders_.begin());
    }
    for (int wings = 0; wings < kWings; ++wings) {
        auto low = places_[wings], high = low;
        for (std::uint8_t& place : low) place = action.low[place];
        for (std::uint8_t& place : high) place = action.high[place];
        result.low[wings] = static_cast<std::uint16_t>(wings_of(low));
        result.high[wings] = static_cast<std::uint16_t>(wings_of(high));
    }
    return result;
}

int EightEdges::number_of(const PlaceMap& wings) {
    unsigned left = 0xFF;
    int number = 0;
    for (int place = 0; place < kPlaces; ++place) {
        const unsigned bit = 1U << wings[place];
        number = number * (kPlaces - place) + std::popcount(left & (bit - 1));
        left &= ~bit;
    }
    return number;
}

PlaceMap EightEdges::wings(int number) {
    PlaceMap digits{}, wings{};
    for (int place = kPlaces - 1; place >= 0; --place) {
        digits[place] = static_cast<std::uint8_t>(number % (kPlaces - place));
        number /= kPlaces - place;
    }
    unsigned left = 0xFF;
    for (int place = 0; place < kPlaces; ++place) {
        unsigned values = left;
        for (int k = 0; k < digits[place]; ++k) values &= values - 1;
        wings[place] = static_cast<std::uint8_t>(std::countr_zero(values));
        left &= ~(1U << wings[place]);
    }
    return wings;
}

std::vector<std::uint16_t> EightEdges::moves(const PlaceMap& middles, const PlaceMap& wings) {
    std::vector<std::uint16_t> goes_to;
    goes_to.reserve(kCount);
    for (int number = 0; number < kCount; ++number) {
        const PlaceMap before = EightEdges::wings(number);
        PlaceMap after{};
        for (int place = 0; place < kPlaces; ++place) after[middles[place]] = wings[before[place]];
        goes_to.push_back(static_cast<std::uint16_t>(number_of(after)));
    }
    return goes_to;
}

}  // namespace cubist
