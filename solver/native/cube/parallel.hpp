// Runs work on several threads including the calling one: the same work on each thread, or a loop
// divided into blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace cubist {

// Calls `work(number)` on each thread, number 0 on the calling one, and waits for all. Only the
// calling thread may throw.
void on_each_thread(int threads, const auto& work) {
    std::vector<std::jthread> others;
    for (int number = 1; number < threads; ++number)
        others.emplace_back([&work, number] { work(number); });
    work(0);
}

// Calls `work(first, last)` for all blocks of 0..count. The calling thread takes part and calls
// `report()` after each of its blocks. If that returns false, the loop ends early and this returns
// false.
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
