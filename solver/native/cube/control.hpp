// Stops searches: a flag set from outside, a deadline in CPU time and one on the wall clock.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <vector>

namespace cubist {

// Any thread may set it. Searches poll it.
class CancelFlag {
public:
    void set() noexcept { flag_.store(true, std::memory_order_relaxed); }
    bool is_set() const noexcept { return flag_.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> flag_{false};
};

inline std::int64_t clock_ns(clockid_t clock) noexcept {
    timespec now{};
    clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline std::int64_t thread_cpu_ns() noexcept { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }
inline std::int64_t wall_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

// Counts the searches of this process that the wall clock alone ended.
inline std::atomic<std::uint64_t> clock_cuts{0};

// The time limit of a search, checked on the searching thread. A thread that gets hardly any
// processor time also stops, once kPatience times the limit plus kGraceNs have passed on the wall
// clock.
class Deadline {
public:
    static constexpr double kForever = 1e9;  // seconds; more would overflow
    static constexpr std::int64_t kPatience = 4;
    static constexpr std::int64_t kGraceNs = 500'000'000;

    Deadline(double seconds, std::vector<const CancelFlag*> cancels)
        : cancels_(std::move(cancels)),
          limit_ns_(static_cast<std::int64_t>(std::min(seconds, kForever) * 1e9)),
          cpu_start_(thread_cpu_ns()),
          wall_start_(wall_ns()) {}

    bool has_passed() const noexcept {
        for (const CancelFlag* cancel : cancels_)
            if (cancel != nullptr && cancel->is_set()) return true;
        if (thread_cpu_ns() - cpu_start_ > limit_ns_) return true;
        if (wall_ns() - wall_start_ <= kPatience * limit_ns_ + kGraceNs) return false;
        clock_cuts.fetch_add(1, std::memory_order_relaxed);
        return true;
    }

    // Returns the remaining processor time, as a limit for other threads.
    double left_s() const noexcept {
        return static_cast<double>(
                   std::max<std::int64_t>(0, limit_ns_ - (thread_cpu_ns() - cpu_start_))) *
               1e-9;
    }

private:
    std::vector<const CancelFlag*> cancels_;
    std::int64_t limit_ns_, cpu_start_, wall_start_;
};

}  // namespace cubist
