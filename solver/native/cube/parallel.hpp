// Runs work on several threads including the calling one: the same work on each thread, or a loop
// divided into blocks.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cubist {

// The first exception of several threads, for the one that waits for them: an exception that leaves
// a thread ends the process.
class FirstException {
public:
    void catch_from(const auto& work) noexcept {
        try {
            work();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!first_) first_ = std::current_exception();
        }
    }

    // Throws it, if there is one. Call it after all threads have ended.
    void rethrow() const {
        if (first_) std::rethrow_exception(first_);
    }

private:
    std::mutex mutex_;
    std::exception_ptr first_;
};

// Calls `work(number)` on each thread, number 0 on the calling one, and waits for all. Throws the
// first exception of any of them.
void on_each_thread(int threads, const auto& work) {
    FirstException exception;
    {
        std::vector<std::jthread> others;
        for (int number = 1; number < threads; ++number)
            others.emplace_back([&, number] { exception.catch_from([&] { work(number); }); });
        exception.catch_from([&] { work(0); });
    }
    exception.rethrow();
}

// Calls `work(first, last)` for all blocks of 0..count. The calling thread takes part and calls
// `report()` after each of its blocks. If that returns false, the loop ends early and this returns
// false. An exception in any thread also ends the loop; this throws the first one.
bool in_blocks(int count, int block, int threads, const auto& work, const auto& report) {
    std::atomic<int> next{0};
    std::atomic<bool> is_stopped{false};
    on_each_thread(std::min(threads, (count + block - 1) / block), [&](int thread) {
        try {
            for (int first; !is_stopped && (first = next.fetch_add(block)) < count;) {
                work(first, std::min(first + block, count));
                if (thread == 0 && !report()) is_stopped = true;
            }
        } catch (...) {
            is_stopped = true;
            throw;
        }
    });
    return !is_stopped;
}

void in_blocks(int count, int block, int threads, const auto& work) {
    in_blocks(count, block, threads, work, [] { return true; });
}

}  // namespace cubist
