// A loop shared out to threads in blocks, whose first thread reports how far it is.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace cubist {

// Calls `work(first, last)` for all blocks of 0..count. The calling thread works too and calls
// `report()` after each of its blocks; false from it ends the loop early and is returned.
bool in_blocks(int count, int block, int threads, const auto& work, const auto& report) {
    std::atomic<int> next{0};
    std::atomic<bool> is_stopped{false};
    const auto run = [&](bool reports) {
        for (int first; !is_stopped && (first = next.fetch_add(block)) < count;) {
            work(first, std::min(first + block, count));
            if (reports && !report()) is_stopped = true;
        }
    };
    {
        const int useful = std::min(threads, (count + block - 1) / block);
        std::vector<std::jthread> helpers;
        for (int t = 1; t < useful; ++t) helpers.emplace_back(run, false);
        try {
            run(true);
        } catch (...) {
            is_stopped = true;
            throw;
        }
    }
    return !is_stopped;
}

void in_blocks(int count, int block, int threads, const auto& work) {
    in_blocks(count, block, threads, work, [] { return true; });
}

}  // namespace cubist
