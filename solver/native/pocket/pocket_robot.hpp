// The 2x2x2 soonest on a robot: depth-first over turns and mechanism states, cut by bounds.
//
// A node is a position, the axis turned last and, for every state of the mechanism, the least time
// to be in it: one min-plus product a turn. What is left to do is bounded by the times of
// pocket_ball.hpp, as large as memory allows; the rest is search, so that the answer is proven.
#pragma once

#include <cstdint>
#include <vector>

#include "cube/control.hpp"
#include "pocket/pocket_ball.hpp"

namespace cubist {

class PocketRobot {
public:
    // Makes a table of about `table_bytes`; the costs are copied. Throws Stopped when `progress`
    // returns false.
    PocketRobot(const PocketCosts& costs, std::size_t table_bytes, const Progress& progress);
    PocketRobot(const PocketRobot&) = delete;
    PocketRobot& operator=(const PocketRobot&) = delete;

    // The soonest solution; first[45, states]: what a first turn costs, as in solver.cost.CostModel.
    SoonestResult solve(PocketPosition from, std::span<const std::uint32_t> first,
                        const Deadline& deadline) const;
    const PocketCosts& costs() const { return *costs_; }
    std::size_t bytes() const { return ball_.bytes() + perm_.bytes() + twist_.bytes(); }
    // Microseconds up to which times are known without search.
    std::uint32_t radius() const { return ball_.unit() * static_cast<std::uint32_t>(ball_.radius()); }
    // Least time to solve a position after a turn of `axis` that led to the mechanism states at those
    // times.
    std::uint32_t bound(PocketPosition at, int axis, const std::vector<std::uint32_t>& times) const;

private:
    CopiedPocketCosts costs_;
    PocketBall ball_, perm_, twist_;
};

}  // namespace cubist
