// The table of the optimal search: distances to the positions with all cubies oriented and the
// middle edges in the middle, in the right order up to a normal subgroup of their 24 orders.
//
// With all 24 orders distinguished (`kinds` 24) the table covers 2048 x 11880 x 2187 = 5.3e10
// positions, divided by the 16 symmetries that keep the U-D axis: 845 MB at two bits, 890 MB with
// the layout of rows. With 6 kinds it is 223 MB, with none distinguished (`kinds` 1) 37 MB. A
// search looks up each position along all three axes.
//
// Entries are distances modulo 3. Neighbours differ by at most one, so a distance follows from a
// neighbour's. A table may be cut off at a distance `far`: an entry of 3 is that far away or
// farther. Most entries then give a distance by themselves (see optimal_coordinates.hpp), so a
// search can also look up the inverse of a position: a turn of the cube does not take the inverse
// to one of its neighbours.
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
// Returns the face turns that cost 1.
const std::vector<int>& unit_turns(OptimalMetric metric);

struct OptimalShape {
    int kinds;  // distinguished kinds of orders of the middle edges: 1, 2, 6 or 24
    int far;    // this distance and all above it share one entry; 0: not cut off
};

// A position along one axis, seen through the symmetry that maps it to its class's representative.
struct OptimalView {
    std::uint16_t flip_slice_class, twist;
    std::uint8_t kind, symmetry;
    std::int8_t distance;

    bool is_home() const { return (flip_slice_class | twist | kind) == 0; }
};

class OptimalTable {
public:
    // `bytes` must outlive the table. Throws std::invalid_argument if the size or shape is wrong.
    OptimalTable(OptimalShape shape, std::span<const std::uint8_t> bytes);

    static std::size_t size(OptimalShape shape);
    // Fills `bytes`. Stops early and returns false if `progress` returns false.
    static bool generate(OptimalMetric metric, OptimalShape shape, std::span<std::uint8_t> bytes,
                         int threads, const Progress& progress);

    const OptimalCoordinates& coordinates() const { return coordinates_; }
    const OptimalShape& shape() const { return shape_; }
    // Returns nullopt unless the table is cut off.
    const std::optional<OptimalInverse>& inverse() const { return inverse_; }
    // Returns the view of a position, with its distance at 0.
    OptimalView view_of(OptimalPosition position) const {
        const std::uint32_t packed = packed_[packed_index(position)];
        const int symmetry = static_cast<int>(packed % kSymmetries);
        const int placed = position.slice * shape_.kinds + position.kind;
        return {static_cast<std::uint16_t>(packed / kSymmetries),
                static_cast<std::uint16_t>(coordinates_.twist_seen(position.twist, symmetry)),
                static_cast<std::uint8_t>(coordinates_.kind_seen(placed, symmetry)),
                static_cast<std::uint8_t>(symmetry), 0};
    }
    // Returns the view after a turn, numbered in the representative's frame. The distance is still
    // that of `view`.
    OptimalView after(OptimalView view, int seen_turn) const {
        const ClassLinks& from = links_[view.flip_slice_class];
        const int symmetry = from.symmetry(seen_turn);
        const int twist = coordinates_.twist_after(view.twist, seen_turn);
        return {from.to[seen_turn],
                static_cast<std::uint16_t>(coordinates_.twist_seen(twist, symmetry)),
                kind_maps_[from.kind_map[seen_turn] * shape_.kinds + view.kind],
                symmetries_.product[symmetry][view.symmetry], view.distance};
    }
    // Returns the distance modulo 3, or kFarEntry.
    int remainder(OptimalView view) const {
        const optimal_row::Place place = optimal_row::entry(view.twist);
        return row(view)[place.byte] >> place.shift & 3;
    }
    // Returns the distance of a position that has a neighbour at distance `next_to`.
    int distance(OptimalView view, int next_to) const {
        const int remainder = this->remainder(view);
        return remainder == kFarEntry ? shape_.far
                                      : next_to - 1 + (remainder + 2 * next_to + 1) % 3;
    }
    // Returns a lower bound that needs no neighbour; 0 if unknown. Only if the table is cut off.
    int least_distance(OptimalView view) const {
        const optimal_row::Place group = optimal_row::group(view.twist);
        const int remainder = this->remainder(view);
        const bool none_near = remainder == kFarEntry || row(view)[group.byte] >> group.shift & 1;
        return none_near ? alone_[remainder] : 0;
    }
    // Prefetch memory for later lookups. Lines of a table of several kinds bypass the second-level
    // cache: such a table is large, and its lines are not used again.
    void prefetch_distance(OptimalView view) const {
        const std::uint8_t* entry = row(view) + optimal_row::entry(view.twist).byte;
        if (shape_.kinds > 1)
            __builtin_prefetch(entry, 0, 0);
        else
            __builtin_prefetch(entry, 0, 3);
    }
    void prefetch_links(OptimalView view) const {
        __builtin_prefetch(&links_[view.flip_slice_class]);
    }
    void prefetch_view(OptimalPosition position) const {
        __builtin_prefetch(&packed_[packed_index(position)]);
    }

    static constexpr int kFarEntry = 3;
    // A distance is near if it is at least this much less than `far`: then a greater one below
    // `far` has the same remainder.
    static constexpr int kNearMargin = 4;

private:
    // Results of the turns from the representative of a class of flip-slices, on one cache line.
    struct alignas(64) ClassLinks {
        std::array<std::uint16_t, kFaceTurns> to;
        std::array<std::uint8_t, kFaceTurns> kind_map;
        std::array<std::uint8_t, kFaceTurns / 2> symmetries;  // two per byte

        int symmetry(int turn) const { return symmetries[turn / 2] >> (turn % 2 * 4) & 15; }
    };

    // Returns the index into `kind_maps_` of the map of orders, by slice, turn and symmetry.
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
    const std::uint32_t* packed_;  // flip-slice -> class and symmetry
    const std::uint8_t* rows_;
    std::array<std::uint8_t, 4> alone_{};  // remainder -> distance in a group without near ones
    std::vector<ClassLinks> links_;
    // The orders form a group. A turn multiplies them from one side and a symmetry renames them, so
    // a few maps from kinds to kinds serve all positions and stay in the first-level cache.
    std::vector<std::uint8_t> kind_maps_;
};

// Offsets of the parts of a table in its bytes.
struct OptimalLayout {
    explicit OptimalLayout(OptimalShape shape);
    std::size_t packed, rows, bytes;
};

}  // namespace cubist
