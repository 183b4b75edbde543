// Exact distances, modulo 3, to having every cubie oriented and the middle edges in the middle, and
// more: in which order the middle edges are there, up to a normal subgroup of their 24 orders.
//
// With all 24 orders told apart (`kinds` 24) the table covers 2048 x 11880 x 2187 = 5.3e10 positions,
// divided by the 16 symmetries that keep the U-D axis: 845 MB at two bits. With even and odd orders
// told apart (`kinds` 2) it is 70 MB. A search looks a position up along all three axes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "coordinates.hpp"
#include "face_turns.hpp"
#include "layout.hpp"
#include "symmetry.hpp"

namespace cubist {

enum class OptimalMetric { kHalfTurn, kQuarterTurn };
// Throws std::invalid_argument for a name other than htm, qtm.
OptimalMetric optimal_metric(std::string_view name);
// The face turns that count one.
const std::vector<int>& unit_turns(OptimalMetric metric);

// The three coordinates of a table and how turns and symmetries change them.
class OptimalCoordinates {
public:
    // `kinds` of orders: 1, 2, 6 or 24, else std::invalid_argument.
    explicit OptimalCoordinates(int kinds);

    int kinds() const { return kinds_; }
    // The set of the middle edges' slots, and the kind of their order in it.
    int placed_of(const CubieCube& cube) const {
        const int placement = placement_of(cube, Layer::kMiddle);
        return slice_of(cube) * kinds_ + kind_[placement % kOrders];
    }
    int flip_after(int flip, int turn) const { return flip_after_[flip * kFaceTurns + turn]; }
    int placed_after(int placed, int turn) const { return placed_after_[placed * kFaceTurns + turn]; }
    int twist_after(int twist, int turn) const { return twist_after_[twist * kFaceTurns + turn]; }
    int twist_seen(int twist, int symmetry) const { return twist_seen_[symmetry * kTwists + twist]; }
    int kind_seen(int placed, int symmetry) const {
        return kind_seen_[symmetry * kSlices * kinds_ + placed];
    }
    // A cube whose middle edges are so placed.
    CubieCube with_placed(int placed) const;

private:
    void make_turns();
    void make_symmetries();

    int kinds_;
    std::array<std::uint8_t, kOrders> kind_{};
    std::array<std::uint8_t, kOrders> order_{};  // one order of each kind
    std::vector<std::uint16_t> flip_after_, placed_after_, twist_after_, twist_seen_;
    std::vector<std::uint8_t> kind_seen_;
};

class OptimalTable {
public:
    // `bytes` must outlive the table; throws std::invalid_argument when the size is wrong.
    OptimalTable(int kinds, std::span<const std::uint8_t> bytes);

    static std::size_t size(int kinds);
    // Fills `bytes`; stops early with false when `progress` returns false.
    static bool generate(OptimalMetric metric, int kinds, std::span<std::uint8_t> bytes, int threads,
                         const Progress& progress);

    const OptimalCoordinates& coordinates() const { return coordinates_; }
    // Number of the entry that holds the distance.
    std::size_t entry(int flip, int placed, int twist) const {
        const int kinds = coordinates_.kinds();
        const std::uint32_t packed = packed_[placed / kinds * kFlips + flip];
        const int symmetry = static_cast<int>(packed % kSymmetries);
        const std::size_t row = std::size_t{packed / kSymmetries} * kinds +
                                coordinates_.kind_seen(placed, symmetry);
        return row * kRowEntries + coordinates_.twist_seen(twist, symmetry);
    }
    int modulo_3(std::size_t entry) const { return distances_[entry / 4] >> (entry % 4 * 2) & 3; }
    void prefetch(std::size_t entry) const { __builtin_prefetch(distances_ + entry / 4); }

    // Entries of one row: all twists, padded to whole bytes.
    static constexpr std::size_t kRowEntries = 2188;

private:
    OptimalCoordinates coordinates_;
    const std::uint32_t* packed_;  // class and symmetry of every flip-slice
    const std::uint8_t* distances_;
};

// Where the parts of a table lie in its bytes.
struct OptimalLayout {
    explicit OptimalLayout(int kinds);
    std::size_t packed, distances, bytes;
};

}  // namespace cubist
