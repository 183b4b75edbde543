// Goals that leave pieces free: a cross, one layer, orientations alone. Shortest solutions by IDA*.
//
// A goal names for every piece the locations at which it may end. A location is a slot with an
// orientation: 24 for a corner, 24 for an edge. Pieces move independently of each other, so a few
// of them have a small graph of positions of their own, and the distance in it bounds that of the
// whole cube.
//
// Pieces with the same locations are alike and form a group. A view numbers the positions of some
// groups of corners, or of edges, and forgets all other pieces; it also forgets the orientations
// of a group that may end in any. The views together cover every group that is not free. Example: a
// cross is one view of four edges with 12 * 11 * 10 * 9 * 2^4 = 190,080 positions, and its bound is
// exact. Edges that only have to be oriented are one group of twelve and a view of 2048 positions.
//
// A joint table has the distances of two views together. It takes up to a few seconds to fill, so
// only a search that turns out to be long should ask for one: `with_joint()`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cube/collector.hpp"
#include "cube/control.hpp"
#include "cube/metric.hpp"

namespace cubist {

// By piece, corners first: bit `slot * ways + orientation` of every location at which it may end.
using AllowedLocations = std::array<std::uint32_t, kCorners + kEdges>;

enum class PieceKind : std::uint8_t { kCorner, kEdge };

constexpr int slots_of(PieceKind kind) { return kind == PieceKind::kCorner ? kCorners : kEdges; }
constexpr int ways_of(PieceKind kind) { return kind == PieceKind::kCorner ? 3 : 2; }

// Pieces of one kind that may end at the same locations.
struct PieceGroup {
    static constexpr std::uint32_t kAnywhere = (1U << 24) - 1;

    PieceKind kind;
    std::uint32_t allowed;
    std::vector<std::uint8_t> pieces;

    // Returns whether the orientations of its pieces matter.
    bool is_oriented() const;
};

class PieceView {
public:
    static constexpr double kMostPositions = 200'000;

    // `groups` are of one kind, not empty, and have at most kMostPositions.
    PieceView(std::vector<PieceGroup> groups, const Metric& metric);
    // Returns an upper bound on the number of positions.
    static double count_positions(const std::vector<PieceGroup>& groups);

    std::uint32_t position_of(const CubieCube& cube) const { return number_of(key_of(cube)); }
    std::uint32_t size() const { return static_cast<std::uint32_t>(keys_.size()); }
    // Returns the position after a turn of one face.
    std::uint32_t after(std::uint32_t position, int turn) const {
        return next_[std::size_t{position} * kFaceTurns + turn];
    }
    std::uint32_t after(std::uint32_t position, Composite turn) const;
    int distance(std::uint32_t position) const { return distances_[position]; }
    double mean_distance() const;

private:
    // The contents of the slots, five bits each: the number of the group and the orientation.
    using Key = std::uint64_t;
    static constexpr int kBits = 5;
    static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;

    Key key_of(const CubieCube& cube) const;
    Key turned(Key key, const CubieCube& turn) const;
    bool is_goal(Key key) const;
    std::size_t place_of(Key key) const;
    std::uint32_t number_of(Key key) const { return numbers_[place_of(key)]; }
    std::uint32_t add(Key key);
    void number_positions();

    PieceKind kind_;
    std::vector<PieceGroup> groups_;
    std::array<std::uint8_t, kEdges> group_of_{};  // by piece, from 1; 0 for a forgotten one
    std::array<bool, kEdges + 1> is_oriented_{};   // by group
    std::vector<Key> keys_;                        // by position
    std::vector<std::uint32_t> numbers_;           // positions by hash of the key
    std::vector<std::uint32_t> next_;
    std::vector<std::uint8_t> distances_;
};

struct PartialReport {
    std::uint64_t nodes = 0;
    bool is_complete = false;  // false if it was stopped
};

// A goal prepared for searches in one metric. It does not change, so threads may share it.
class PartialGoal {
public:
    PartialGoal(const Metric& metric, const AllowedLocations& allowed);

    // Returns the same goal with one more joint table; null if no further table is of use.
    std::unique_ptr<PartialGoal> with_joint() const;
    // Returns a lower bound on the turns that `cube` needs.
    int bound(const CubieCube& cube) const;
    // Offers `sink` the solutions of exactly `length` until it wants no more of that length.
    PartialReport search(const CubieCube& cube, int length, const Deadline& deadline,
                         SolutionSink& sink) const;

private:
    friend class PartialWalk;

    struct Joint {
        std::size_t first, second;  // views
        std::vector<std::uint8_t> distances;
    };

    static constexpr double kMostInJoint = 20e6;
    static constexpr std::size_t kMostJoints = 5;

    void add_views(std::vector<PieceGroup> groups);
    Joint make_joint(std::size_t first, std::size_t second) const;

    const Metric& metric_;
    // First those that cover every group, then small ones for joint tables.
    std::vector<std::shared_ptr<const PieceView>> views_;
    std::size_t complete_ = 0;  // number of views that cover every group
    std::vector<std::shared_ptr<const Joint>> joints_;
};

}  // namespace cubist
