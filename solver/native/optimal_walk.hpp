// The branches of one thread of the optimal search, many at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "levels.hpp"
#include "optimal_nodes.hpp"

namespace cubist {

// `kIsLarge` says what the table is.
template <bool kIsLarge>
class OptimalWalk {
public:
    using Finish = std::function<void(const std::vector<int>& turns)>;

    // Sequences of `depth` turns after which all views are home go to `finish`; positions that are
    // gone on from are added to `counter`.
    OptimalWalk(const OptimalNodes& nodes, int depth, const std::atomic<bool>& halted,
                std::atomic<std::uint64_t>& counter, Finish finish);

    // All sequences that begin as `start` does; returns early when halted.
    void run(const OptimalStart& start);

private:
    struct Node {
        OptimalNode node;
        std::int8_t turn, state;  // the last turn, and what may follow
        std::uint8_t farthest;    // the axis along which the parent is farthest
        std::uint16_t parent;     // on the level above
    };

    void go_on(int depth);
    void add_children(int depth, int number);
    void sort_out(int depth);
    void finish();

    const OptimalNodes& nodes_;
    int depth_;
    const std::atomic<bool>& halted_;
    std::atomic<std::uint64_t>& counter_;
    Finish finish_;
    const OptimalStart* start_ = nullptr;
    // What is asked for past the second-level cache must be looked at before it leaves the first.
    static constexpr int kCandidates = kIsLarge ? 48 : 64;

    std::vector<Level<Node, kFaceTurns, kCandidates>> levels_;  // by turns after the start's
};

}  // namespace cubist
