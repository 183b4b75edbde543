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

// A position along one axis, seen through the symmetry that leads to its class's representative.
struct OptimalView {
    std::uint16_t flip_slice_class, twist;
    std::uint8_t kind, symmetry;
    std::int8_t distance;

    bool is_home() const { return (flip_slice_class | twist | kind) == 0; }
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
    // Its distance is left at 0.
    OptimalView view_of(const CubieCube& cube) const;
    // The turn is numbered in the representative's frame; the distance stays the one before.
    OptimalView after(OptimalView view, int seen_turn) const {
        const ClassLinks& from = links_[view.flip_slice_class];
        const int symmetry = from.symmetry(seen_turn);
        const int twist = coordinates_.twist_after(view.twist, seen_turn);
        return {from.to[seen_turn],
                static_cast<std::uint16_t>(coordinates_.twist_seen(twist, symmetry)),
                kind_maps_[from.kind_map[seen_turn] * coordinates_.kinds() + view.kind],
                symmetries_.product[symmetry][view.symmetry], view.distance};
    }
    int modulo_3(OptimalView view) const {
        return *distance_byte(view) >> (view.twist % 4 * 2) & 3;
    }
    // Whether caches hold next to nothing of the table.
    bool is_large() const { return is_large_; }
    // Ask for what will be looked at of a view. Lines of a large table are asked for past the second
    // level, which has better use for its room: none is used again.
    template <bool kIsLarge>
    void prefetch_distance(OptimalView view) const {
        constexpr int kLocality = kIsLarge ? 0 : 3;
        __builtin_prefetch(distance_byte(view), 0, kLocality);
    }
    void prefetch_links(OptimalView view) const {
        __builtin_prefetch(&links_[view.flip_slice_class]);
    }

    // Entries of one row: all twists, padded to whole bytes.
    static constexpr std::size_t kRowEntries = 2188;

private:
    // Where the turns lead from the representative of a class of flip-slices: one cache line.
    struct alignas(64) ClassLinks {
        std::array<std::uint16_t, kFaceTurns> to;
        std::array<std::uint8_t, kFaceTurns> kind_map;
        std::array<std::uint8_t, kFaceTurns / 2> symmetries;  // two to a byte

        int symmetry(int turn) const { return symmetries[turn / 2] >> (turn % 2 * 4) & 15; }
    };

    // By slice, turn and symmetry: which of the `kind_maps_` says what becomes of an order.
    std::vector<std::uint8_t> number_kind_maps();
    void link_classes();
    const std::uint8_t* distance_byte(OptimalView view) const {
        const std::size_t row =
            std::size_t{view.flip_slice_class} * coordinates_.kinds() + view.kind;
        return distances_ + row * (kRowEntries / 4) + view.twist / 4;
    }

    OptimalCoordinates coordinates_;
    const Symmetries& symmetries_ = symmetries();
    const std::uint32_t* packed_;  // class and symmetry of every flip-slice
    const std::uint8_t* distances_;
    bool is_large_;
    std::vector<ClassLinks> links_;
    // The orders are a group: a turn multiplies them from one side, a symmetry renames them, so
    // that few maps of kinds to kinds do for all positions, and stay in the first-level cache.
    std::vector<std::uint8_t> kind_maps_;
};

// Where the parts of a table lie in its bytes.
struct OptimalLayout {
    explicit OptimalLayout(int kinds);
    std::size_t packed, distances, bytes;
};

}  // namespace cubist
