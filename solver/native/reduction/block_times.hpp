// The time that block turns take on a robot, for reductions that minimise the robot's time.
//
// The kernel's copy of BlockTurnTimes in solver/cost.py. An axis of N layers can be cut in N - 1
// places. Successive turns on one axis are a run: quarters by cut, executed in their best order. As
// in time_model.hpp, a vector holds the least time to be in each of the robot's states just after a
// turn, and a min-plus product takes it through a run. Blocks reach at most from a face to the
// middle, or belong to U, R or F, so the cube's frame stays.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "reduction/layered_cube.hpp"
#include "robot/time_model.hpp"

namespace cubist {

class BlockTimes {
public:
    static constexpr int kUnitUs = 20'000;
    static constexpr int kMostStates = 64;
    static constexpr int kHoldings = kFaces * kFaces;

    // `next` uint32[3, 3, N - 1, 3, S, S]: microseconds from each state after a turn on an axis
    // through the turn of a cut by 1..3 quarters to each state after it. `first` uint32[36, 3, N -
    // 1, 3, S]: the same from the start, by how the cube is held. Throws std::invalid_argument for
    // other sizes.
    BlockTimes(int size, std::span<const std::uint32_t> next, std::span<const std::uint32_t> first);

    // Returns the number of a holding, in which the faces `up` and `front` of the given cube are at
    // U and F.
    static int holding(int up, int front) { return kFaces * up + front; }

    // Returns the least time, in units, for turns from the start.
    int least(int holding, std::span<const BlockTurn> turns) const;

    // Returns the average least time of one of these turns, in sequences in which none follows
    // another of its axis.
    int mean(std::span<const BlockTurn> turns) const;

private:
    int cut_of(BlockTurn turn) const { return turn.face < 3 ? turn.last - 1 : cuts_ - turn.last; }
    Time* run(int before, int axis, int number) {
        return runs_[before][axis].data() + std::size_t(number) * width_ * width_;
    }
    const Time* run(int before, int axis, int number) const {
        return runs_[before][axis].data() + std::size_t(number) * width_ * width_;
    }
    Time* opening(int holding, int axis, int number) {
        return openings_.data() +
               (std::size_t(holding * 3 + axis) * (std::size_t{1} << 2 * cuts_) + number) * width_;
    }
    const Time* opening(int holding, int axis, int number) const {
        return const_cast<BlockTimes*>(this)->opening(holding, axis, number);
    }
    void fill_runs(std::span<const std::uint32_t> next);
    void fill_openings(std::span<const std::uint32_t> first);

    int cuts_, states_ = 0, width_ = 0;
    // Turns of one cut after another of the same axis, [axis][cut][quarters - 1].
    std::array<Times, 3> within_;
    std::array<std::array<Times, 3>, 3> runs_;
    Times openings_;
};

}  // namespace cubist
