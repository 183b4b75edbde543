// The robot's solving times of the 2x2x2 positions that it solves fastest, and a lower bound for
// all others. Alternatively, the same for permutations or orientations alone, which are fewer.
//
// A search backwards from the solved position adds positions in order of time until the allowed
// memory is full. All other positions then take at least as long as the last one. Times are 16-bit
// multiples of a unit. Every turn is rounded down, so they remain lower bounds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cube/control.hpp"
#include "cube/table_bytes.hpp"
#include "pocket/pocket.hpp"

namespace cubist {

// The part of a position that a table distinguishes.
enum class PocketPart { kWhole, kPerm, kTwist };

class PocketBall {
public:
    using Units = std::int16_t;

    // Stores as many positions as fit into `table_bytes`, at least the solved one. Throws Stopped
    // if `progress` returns false.
    PocketBall(const PocketCosts& costs, PocketPart part, std::size_t table_bytes,
               const Progress& progress);

    // Returns lower bounds on the remaining time, in units, by mechanism state after a turn of
    // `axis`. They include the time to finish after the last turn. `kNone`: no solution exists.
    const Units* row(PocketPosition at, int axis) const {
        const std::int32_t block = block_[index_of(at)];
        return block == kOutside ? outside_.data() : &least_[block_start(block, axis)];
    }
    std::uint32_t unit() const { return unit_; }
    // The table does not distinguish times greater than this, in units.
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
    int width_ = 1;                        // width of a bucket, in units
    std::vector<std::int32_t> block_;      // position -> block
    std::vector<std::int32_t> positions_;  // block -> position
    std::vector<std::int16_t> pending_;    // block -> bucket in which it waits
    std::vector<Units> next_, least_, outside_;
};

// Finds a robot's fastest solution of a 2x2x2: depth-first search over turns, pruned by bounds.
//
// A node is a position, the last axis turned and the least time to reach each mechanism state. Each
// turn updates the times with one min-plus product. A PocketBall as large as memory allows bounds
// the remaining time. The search is exhaustive below those bounds, so the result is proven.

class PocketRobot {
public:
    // Builds a table of about `table_bytes` and copies the costs. Throws Stopped if `progress`
    // returns false.
    PocketRobot(const PocketCosts& costs, std::size_t table_bytes, const Progress& progress);
    PocketRobot(const PocketRobot&) = delete;
    PocketRobot& operator=(const PocketRobot&) = delete;

    // Returns the fastest solution. first[45, states]: costs of the first turn, as in
    // solver.cost.CostModel.
    FastestResult solve(PocketPosition from, std::span<const std::uint32_t> first,
                        const Deadline& deadline) const;
    const PocketCosts& costs() const { return *costs_; }
    std::size_t bytes() const { return ball_.bytes() + perm_.bytes() + twist_.bytes(); }
    // Returns the microseconds up to which the table knows times without search.
    std::uint32_t radius() const {
        return ball_.unit() * static_cast<std::uint32_t>(ball_.radius());
    }
    // Returns a lower bound on the total time to solve a position after a turn of `axis` that
    // reached each mechanism state at the time in `times`.
    std::uint32_t bound(PocketPosition at, int axis, const std::vector<std::uint32_t>& times) const;

private:
    CopiedPocketCosts costs_;
    PocketBall ball_, perm_, twist_;
};

}  // namespace cubist
