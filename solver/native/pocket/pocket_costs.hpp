// What turns of U, R and F cost on a robot that holds a 2x2x2, and what a search in them answers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pocket/pocket.hpp"

namespace cubist {

constexpr std::uint32_t kNever = 0xFFFFFFFF;
constexpr int kPocketAxes = 3;

// Sums stay at kNever.
constexpr std::uint32_t sum(std::uint32_t a, std::uint32_t b) {
    return a > kNever - b ? kNever : a + b;
}

// solver.cost.CostModel of a mechanism that holds a 2x2x2; only turns of U, R and F are there.
struct PocketCosts {
    int states;
    std::span<const std::uint32_t> next, final;

    static constexpr int composite(int turn) {
        return Composite{static_cast<std::uint8_t>(turn / 3), static_cast<std::uint8_t>(turn % 3 + 1), 0}
            .index();
    }
    // Of an array [45, states], such as what the first turn costs.
    static const std::uint32_t* row(std::span<const std::uint32_t> array, int turn, int states) {
        return array.data() + std::size_t(composite(turn)) * states;
    }
    const std::uint32_t* matrix(int last_axis, int turn) const {
        const std::size_t number = std::size_t(last_axis) * kComposites + composite(turn);
        return next.data() + number * states * states;
    }
    const std::uint32_t* final_row(int axis) const { return final.data() + std::size_t(axis) * states; }
};

// Costs that outlive the arrays they came from.
class CopiedPocketCosts {
public:
    explicit CopiedPocketCosts(const PocketCosts& costs)
        : next_(costs.next.begin(), costs.next.end()),
          final_(costs.final.begin(), costs.final.end()),
          view_{costs.states, next_, final_} {}
    CopiedPocketCosts(const CopiedPocketCosts&) = delete;
    CopiedPocketCosts& operator=(const CopiedPocketCosts&) = delete;

    const PocketCosts& operator*() const { return view_; }
    const PocketCosts* operator->() const { return &view_; }

private:
    std::vector<std::uint32_t> next_, final_;
    PocketCosts view_;
};

struct SoonestResult {
    std::vector<int> turns;  // U U2 U' R R2 R' F F2 F' as 0..8
    std::uint32_t cost = kNever;  // kNever when nothing was found
    bool proven = false;          // nothing is sooner
    std::uint64_t nodes = 0;
};

}  // namespace cubist
