// One row of the optimal search's table: all twists at two bits each, on nine cache lines.
//
// A line holds 243 twists in its first 61 bytes. Its last two have a bit for every sixteen of them,
// which is cleared when one of the sixteen is near: without near ones a remainder modulo 3 says how
// far away a position is, whatever is known of its neighbours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cube/coordinates.hpp"

namespace cubist::optimal_row {

constexpr int kLines = 9;
constexpr int kLineBytes = 64;
constexpr int kBytes = kLines * kLineBytes;
constexpr int kLineTwists = kTwists / kLines;
static_assert(kLines * kLineTwists == kTwists);

// Twists are numbered with gaps, so that every line begins with a multiple of 256.
constexpr int kLineNumbers = 4 * kLineBytes;
constexpr int kNumbers = kLines * kLineNumbers;
constexpr int numbered(int twist) {
    return twist / kLineTwists * kLineNumbers + twist % kLineTwists;
}

// Bits of a row.
struct Place {
    std::uint16_t byte;
    std::uint8_t shift;
};

constexpr Place entry(int number) {
    return {static_cast<std::uint16_t>(number / 4), static_cast<std::uint8_t>(number % 4 * 2)};
}
// The bit of all entries with which a number shares its sixteen.
constexpr Place group(int number) {
    constexpr int kGroups = 16;
    const int group = number % kLineNumbers / kGroups;
    return {static_cast<std::uint16_t>((number / kLineNumbers + 1) * kLineBytes - kGroups / 8 +
                                       group / 8),
            static_cast<std::uint8_t>(group % 8)};
}
static_assert(entry(numbered(kTwists - 1)).byte < group(numbered(kTwists - 1)).byte - 1);

}  // namespace cubist::optimal_row
