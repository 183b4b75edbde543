// Finds a phase's ends, turn by turn from many starts, on several threads.
//
// A task is one start and a limit of turns. Threads take tasks in the order in which a single
// thread would do them, and the ends are merged in that order. So the threads share the search
// without overlap, and find the same ends as a single thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cube/control.hpp"
#include "cube/parallel.hpp"

namespace cubist {

// The limits of the search for a phase's ends.
struct EndOptions {
    std::size_t wanted;     // this many ends are enough
    std::size_t least = 1;  // the search continues after its time until it has these
    Deadline deadline{Deadline::kForever, {}};
    // If the time is over without `least` ends, `hurry` rises by one every `more_time` seconds, up
    // to `most_hurry`. The higher it is, the more far positions the search leaves out.
    int hurry = 0, most_hurry = 0;
    double more_time = 0;
    int threads = 1;
    const CancelFlag* cancel = nullptr;
};

// The tasks of a phase: for each limit, which grows by a step, every start that may end within it.
class Deepening {
public:
    struct Task {
        std::size_t number, start;
        int limit;
    };

    // `bounds` of the starts, ascending.
    Deepening(std::vector<int> bounds, int step, int most = INT_MAX / 2)
        : bounds_(std::move(bounds)), step_(step), most_(most) {
        if (!bounds_.empty()) limit_ = bounds_.front();
    }

    std::optional<Task> next() {
        const std::lock_guard lock(mutex_);
        if (start_ == bounds_.size() || bounds_[start_] > limit_) {
            start_ = 0;
            limit_ += step_;
        }
        if (bounds_.empty() || limit_ > most_) return std::nullopt;
        return Task{number_++, start_++, limit_};
    }

private:
    std::mutex mutex_;
    std::vector<int> bounds_;
    int step_, most_, limit_ = 0;
    std::size_t start_ = 0, number_ = 0;
};

// One thread's part of the search for ends.
template <class End>
class EndWalker {
public:
    EndWalker(const EndOptions& options, double limit_s, std::atomic<std::size_t>& found)
        : options_(options), found_(found), deadline_(limit_s, {}), hurry_(options.hurry) {}

    bool is_over() const {
        const std::size_t found = found_.load(std::memory_order_relaxed);
        return found >= options_.wanted || is_cancelled() ||
               (found >= options_.least && deadline_.has_passed());
    }

    // Call it for every node.
    bool must_stop() {
        if (++nodes_ % kLookEvery == 0) look_at_clock();
        return is_stopped_;
    }
    bool is_stopped() const { return is_stopped_; }

    void begin(std::size_t task) {
        task_ = task;
        in_task_ = 0;
    }
    void add(End end) {
        ends_.emplace_back(task_, std::move(end));
        ++in_task_;
        found_.fetch_add(1, std::memory_order_relaxed);
        is_stopped_ = is_stopped_ || found_.load(std::memory_order_relaxed) >= options_.wanted;
    }

    // Ends of this task so far.
    std::size_t in_task() const { return in_task_; }
    // Turns to add to the bound of far positions.
    int hurry() const { return std::max(hurry_, 0); }
    std::vector<std::pair<std::size_t, End>>& ends() { return ends_; }

    std::vector<std::uint8_t> path;

private:
    static constexpr int kLookEvery = 1024;

    bool is_cancelled() const { return options_.cancel != nullptr && options_.cancel->is_set(); }

    // If the time is over and too few ends are found, positions that look far away are left out.
    // Such a search is still complete as the number of turns grows.
    void look_at_clock() {
        is_stopped_ = is_over();
        if (found_.load(std::memory_order_relaxed) < options_.least &&
            hurry_ < options_.most_hurry && deadline_.has_passed()) {
            ++hurry_;
            deadline_ = Deadline(options_.more_time, {});
        }
    }

    const EndOptions& options_;
    std::atomic<std::size_t>& found_;
    Deadline deadline_;
    int hurry_;
    bool is_stopped_ = false;
    std::uint64_t nodes_ = 0;
    std::size_t task_ = 0, in_task_ = 0;
    std::vector<std::pair<std::size_t, End>> ends_;
};

// Returns all ends that `walk(walker, task)` finds, in the order of the tasks.
template <class End>
std::vector<End> find_ends(const EndOptions& options, Deepening& tasks, const auto& walk) {
    const int threads = std::max(1, options.threads);
    const double limit_s = options.deadline.left_s();
    std::atomic<std::size_t> found{0};
    std::vector<std::vector<std::pair<std::size_t, End>>> by_thread(threads);
    on_each_thread(threads, [&](int number) {
        EndWalker<End> walker(options, limit_s, found);
        while (!walker.is_over()) {
            const auto task = tasks.next();
            if (!task) break;
            walker.begin(task->number);
            walk(walker, *task);
        }
        by_thread[number] = std::move(walker.ends());
    });
    std::vector<std::pair<std::size_t, End>> all = std::move(by_thread[0]);
    for (int number = 1; number < threads; ++number)
        all.insert(all.end(), std::make_move_iterator(by_thread[number].begin()),
                   std::make_move_iterator(by_thread[number].end()));
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<End> ends;
    ends.reserve(all.size());
    for (auto& [task, end] : all) ends.push_back(std::move(end));
    return ends;
}

}  // namespace cubist
