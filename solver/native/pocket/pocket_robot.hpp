// How long a robot needs for the 2x2x2 positions that it solves fastest, and a bound for the
// others; or for their permutations or orientations alone, which are fewer.
//
// Positions are added in the order of their time, searching backwards from the solved one, until
// the memory allowed is full; from then on all others are known to take longer. Times are kept in
// 16 bits as multiples of a unit, every turn rounded down, so that they remain lower bounds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cube/control.hpp"
#include "cube/table_bytes.hpp"
#include "pocket/pocket.hpp"

namespace cubist {

// What of a position is looked at.
enum class PocketPart { kWhole, kPerm, kTwist };

class PocketBall {
public:
    using Units = std::int16_t;

    // Holds what fits into `table_bytes`, but the solved position at least. Throws Stopped when
    // `progress` returns false.
    PocketBall(const PocketCosts& costs, PocketPart part, std::size_t table_bytes,
               const Progress& progress);

    // Lower bounds on the time left, in units, by mechanism state after a turn of `axis`; the time
    // owed at the end included. `kNone` where there is no way to solve the position.
    const Units* row(PocketPosition at, int axis) const {
        const std::int32_t block = block_[index_of(at)];
        return block == kOutside ? outside_.data() : &least_[block_start(block, axis)];
    }
    std::uint32_t unit() const { return unit_; }
    // What is farther away than this, in units, is not told apart.
    Units radius() const { return outside_.front(); }
    std::size_t positions() const { return positions_.size(); }
    std::size_t bytes() const {
        return least_.size() * sizeof(Units) + block_.size() * sizeof(block_.front());
    }
    static constexpr Units kNone = 0x3FFF;

private:
    static constexpr std::int32_t kOutside = -1;
    static constexpr std::int16_t kNotPending = 0x7FFF;
    using Buckets = std::vector<std::vector<std::int32_t>>;

    int index_of(PocketPosition at) const {
        return part_ == PocketPart::kWhole  ? at.index()
               : part_ == PocketPart::kPerm ? at.perm
                                            : at.twist;
    }
    PocketPosition position_at(int index) const;
    std::size_t block_start(std::int32_t block, int axis) const {
        return (std::size_t(block) * kPocketAxes + axis) * states_;
    }
    void choose_unit(const PocketCosts& costs);
    void keep_matrices(const PocketCosts& costs);
    std::vector<Units> in_units(std::span<const std::uint32_t> times) const;
    std::int32_t block_of(PocketPosition at);
    void grow(std::size_t most, const Progress& progress);
    void wait(std::int32_t block, Units time, Buckets& buckets);
    void relax_before(std::int32_t block, Buckets& buckets);
    Units relax(std::int32_t from, std::int32_t onward, int turn);
    void close(Units radius);

    PocketPart part_;
    int states_;
    std::uint32_t unit_ = 1;
    int width_ = 1;                        // of a bucket, in units
    std::vector<std::int32_t> block_;      // by position
    std::vector<std::int32_t> positions_;  // by block
    std::vector<std::int16_t> pending_;    // by block: the bucket it waits in
    std::vector<Units> next_, least_, outside_;
};

// The 2x2x2 fastest on a robot: depth-first over turns and mechanism states, cut by bounds.
//
// A node is a position, the axis turned last and, for every state of the mechanism, the least time
// to be in it: one min-plus product a turn. What is left to do is bounded by the times of
// pocket_ball.hpp, as large as memory allows; the rest is search, so that the answer is proven.

class PocketRobot {
public:
    // Makes a table of about `table_bytes`; the costs are copied. Throws Stopped when `progress`
    // returns false.
    PocketRobot(const PocketCosts& costs, std::size_t table_bytes, const Progress& progress);
    PocketRobot(const PocketRobot&) = delete;
    PocketRobot& operator=(const PocketRobot&) = delete;

    // The fastest solution; first[45, states]: what a first turn costs, as in
    // solver.cost.CostModel.
    FastestResult solve(PocketPosition from, std::span<const std::uint32_t> first,
                        const Deadline& deadline) const;
    const PocketCosts& costs() const { return *costs_; }
    std::size_t bytes() const { return ball_.bytes() + perm_.bytes() + twist_.bytes(); }
    // Microseconds up to which times are known without search.
    std::uint32_t radius() const {
        return ball_.unit() * static_cast<std::uint32_t>(ball_.radius());
    }
    // Least time to solve a position after a turn of `axis` that led to the mechanism states at
    // those times.
    std::uint32_t bound(PocketPosition at, int axis, const std::vector<std::uint32_t>& times) const;

private:
    CopiedPocketCosts costs_;
    PocketBall ball_, perm_, twist_;
};

}  // namespace cubist
