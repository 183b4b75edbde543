// Distances to having every cubie oriented and the middle edges in the middle, and more: in which
// order the middle edges are there, up to a normal subgroup of their 24 orders.
//
// With all 24 orders told apart (`kinds` 24) the table covers 2048 x 11880 x 2187 = 5.3e10
// positions, divided by the 16 symmetries that keep the U-D axis: 845 MB at two bits, 890 as rows
// are laid out. With none told apart (`kinds` 1) it is 37 MB. A search looks a position up along
// all three axes.
//
// Entries are distances modulo 3; neighbours differ by one at most, so that the distance follows
// from theirs. A table may be cut off at a distance `far`: entries of 3 are that far away or
// farther. Most entries then tell a distance by themselves (see optimal_row.hpp), so that the
// inverse of a position can be looked up too: after a turn of the cube that is no neighbour of what
// it was.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cube/symmetry.hpp"
#include "cube/table_bytes.hpp"
#include "optimal/optimal_coordinates.hpp"

namespace cubist {

enum class OptimalMetric { kHalfTurn, kQuarterTurn };
// Throws std::invalid_argument for a name other than htm, qtm.
OptimalMetric optimal_metric(std::string_view name);
constexpr int kLongestSolution = 26;  // quarter turns that solve any position
// The face turns that count one.
const std::vector<int>& unit_turns(OptimalMetric metric);

struct OptimalShape {
    int kinds;  // of orders of the middle edges that are told apart: 1, 2, 6 or 24
    int far;    // distances from here on are not told apart; 0 for none
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
    // `bytes` must outlive the table; throws std::invalid_argument when the size or shape is wrong.
    OptimalTable(OptimalShape shape, std::span<const std::uint8_t> bytes);

    static std::size_t size(OptimalShape shape);
    // Fills `bytes`; stops early with false when `progress` returns false.
    static bool generate(OptimalMetric metric, OptimalShape shape, std::span<std::uint8_t> bytes,
                         int threads, const Progress& progress);

    const OptimalCoordinates& coordinates() const { return coordinates_; }
    const OptimalShape& shape() const { return shape_; }
    // Of a table that is cut off, else nullopt.
    const std::optional<OptimalInverse>& inverse() const { return inverse_; }
    // Its distance is left at 0.
    OptimalView view_of(OptimalPosition position) const {
        const std::uint32_t packed = packed_[packed_index(position)];
        const int symmetry = static_cast<int>(packed % kSymmetries);
        const int placed = position.slice * shape_.kinds + position.kind;
        return {static_cast<std::uint16_t>(packed / kSymmetries),
                static_cast<std::uint16_t>(coordinates_.twist_seen(position.twist, symmetry)),
                static_cast<std::uint8_t>(coordinates_.kind_seen(placed, symmetry)),
                static_cast<std::uint8_t>(symmetry), 0};
    }
    // The turn is numbered in the representative's frame; the distance stays the one before.
    OptimalView after(OptimalView view, int seen_turn) const {
        const ClassLinks& from = links_[view.flip_slice_class];
        const int symmetry = from.symmetry(seen_turn);
        const int twist = coordinates_.twist_after(view.twist, seen_turn);
        return {from.to[seen_turn],
                static_cast<std::uint16_t>(coordinates_.twist_seen(twist, symmetry)),
                kind_maps_[from.kind_map[seen_turn] * shape_.kinds + view.kind],
                symmetries_.product[symmetry][view.symmetry], view.distance};
    }
    // Modulo 3, or kFarEntry.
    int remainder(OptimalView view) const {
        const optimal_row::Place place = optimal_row::entry(view.twist);
        return row(view)[place.byte] >> place.shift & 3;
    }
    // Of a position next to one that is `next_to` away.
    int distance(OptimalView view, int next_to) const {
        const int remainder = this->remainder(view);
        return remainder == kFarEntry ? shape_.far
                                      : next_to - 1 + (remainder + 2 * next_to + 1) % 3;
    }
    // What is certain without a neighbour, 0 if nothing is; only of a table that is cut off.
    int least_distance(OptimalView view) const {
        const optimal_row::Place group = optimal_row::group(view.twist);
        const int remainder = this->remainder(view);
        const bool none_near = remainder == kFarEntry || row(view)[group.byte] >> group.shift & 1;
        return none_near ? alone_[remainder] : 0;
    }
    // Ask for what will be looked at. Lines of a table that is cut off are asked for past the
    // second level, which has better use for its room: such a table is large, and none is used
    // again.
    template <bool kIsCutOff>
    void prefetch_distance(OptimalView view) const {
        constexpr int kLocality = kIsCutOff ? 0 : 3;
        __builtin_prefetch(row(view) + optimal_row::entry(view.twist).byte, 0, kLocality);
    }
    void prefetch_links(OptimalView view) const {
        __builtin_prefetch(&links_[view.flip_slice_class]);
    }
    void prefetch_view(OptimalPosition position) const {
        __builtin_prefetch(&packed_[packed_index(position)]);
    }

    static constexpr int kFarEntry = 3;
    // A distance is near if it is at least so much less than `far`: there is a greater one below
    // `far` with the same remainder.
    static constexpr int kNearMargin = 4;

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
    const std::uint8_t* row(OptimalView view) const {
        const std::size_t number = std::size_t{view.flip_slice_class} * shape_.kinds + view.kind;
        return rows_ + number * optimal_row::kBytes;
    }
    static std::size_t packed_index(OptimalPosition position) {
        return std::size_t{position.slice} * kFlips + position.flip;
    }

    OptimalShape shape_;
    OptimalCoordinates coordinates_;
    std::optional<OptimalInverse> inverse_;
    const Symmetries& symmetries_ = symmetries();
    const std::uint32_t* packed_;  // class and symmetry of every flip-slice
    const std::uint8_t* rows_;
    std::array<std::uint8_t, 4> alone_{};  // by remainder: the distance where none is near
    std::vector<ClassLinks> links_;
    // The orders are a group: a turn multiplies them from one side, a symmetry renames them, so
    // that few maps of kinds to kinds do for all positions, and stay in the first-level cache.
    std::vector<std::uint8_t> kind_maps_;
};

// Where the parts of a table lie in its bytes.
struct OptimalLayout {
    explicit OptimalLayout(OptimalShape shape);
    std::size_t packed, rows, bytes;
};

}  // namespace cubist
