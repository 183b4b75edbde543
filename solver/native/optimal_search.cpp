#include "optimal_search.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "optimal_nodes.hpp"

namespace cubist {
namespace {

// A start of a sequence, to be completed by one thread.
struct Task {
    OptimalNode node;
    int state = 0;
    std::vector<int> path;
};

// One depth of the search, shared by its threads.
class Iteration {
public:
    Iteration(const OptimalNodes& nodes, const CubieCube& cube, std::atomic<std::uint64_t>& counter)
        : nodes_(nodes), cube_(cube), counter_(counter) {}

    // Returns when a solution of `depth` turns is found, there is none, or `stop` was called.
    void run(int depth, int threads);
    void stop() { halted_ = true; }
    bool halted() const { return halted_; }
    const std::optional<std::vector<int>>& solution() const { return solution_; }

private:
    struct Worker {
        std::vector<int> path;
        std::uint64_t nodes = 0;
    };

    void split(const Task& task, int left, int levels, std::vector<Task>& tasks) const;
    void work(const std::vector<Task>& tasks, int left);
    void descend(const OptimalNode& node, int state, int left, Worker& worker);
    void finish(const std::vector<int>& path);

    const OptimalNodes& nodes_;
    const CubieCube& cube_;
    std::atomic<std::uint64_t>& counter_;
    std::atomic<std::size_t> next_task_{0};
    std::atomic<bool> halted_{false};
    std::mutex mutex_;
    std::optional<std::vector<int>> solution_;
};

// The sequences of `levels` turns that may be completed, or shorter ones if `left` is less.
void Iteration::split(const Task& task, int left, int levels, std::vector<Task>& tasks) const {
    if (levels == 0 || left == 0) {
        tasks.push_back(task);
        return;
    }
    OptimalChildren children;
    const int count = nodes_.children(task.node, task.state, left, children);
    for (int k = 0; k < count; ++k) {
        Task next{children[k].node, children[k].state, task.path};
        next.path.push_back(children[k].turn);
        split(next, left - 1, levels - 1, tasks);
    }
}

void Iteration::run(int depth, int threads) {
    constexpr int kSplitLevels = 2;
    std::vector<Task> tasks;
    split({nodes_.root(cube_), 0, {}}, depth, kSplitLevels, tasks);
    const int left = depth - std::min(depth, kSplitLevels);
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) workers.emplace_back([&] { work(tasks, left); });
}

void Iteration::work(const std::vector<Task>& tasks, int left) {
    for (std::size_t number; !halted_ && (number = next_task_++) < tasks.size();) {
        Worker worker{tasks[number].path, 0};
        descend(tasks[number].node, tasks[number].state, left, worker);
        counter_ += worker.nodes;
    }
}

void Iteration::descend(const OptimalNode& node, int state, int left, Worker& worker) {
    if (left == 0) return finish(worker.path);
    OptimalChildren children;
    const int count = nodes_.children(node, state, left, children);
    constexpr std::uint64_t kNodesBetweenReports = 1 << 16;
    if (++worker.nodes == kNodesBetweenReports) counter_ += std::exchange(worker.nodes, 0);
    for (int k = 0; k < count && !halted_.load(std::memory_order_relaxed); ++k) {
        if (children[k].node.bound() > left - 1) continue;
        worker.path.push_back(children[k].turn);
        descend(children[k].node, children[k].state, left - 1, worker);
        worker.path.pop_back();
    }
}

// The tables do not see everything: only now is it certain whether the cube is solved.
void Iteration::finish(const std::vector<int>& path) {
    CubieCube cube = cube_;
    for (int turn : path) cube = cube * face_turn_cube(turn);
    if (!cube.is_solved()) return;
    const std::lock_guard lock(mutex_);
    solution_ = path;
    halted_ = true;
}

// Runs iterations on other threads and keeps an eye on the clock.
class Supervisor {
public:
    Supervisor(const OptimalOptions& options,
               const std::function<void(const OptimalProgress&)>& on_progress)
        : options_(options), on_progress_(on_progress), start_ns_(wall_ns()) {}

    std::atomic<std::uint64_t>& counter() { return counter_; }
    void run(Iteration& iteration, int depth);

private:
    void report(Iteration& iteration, int depth);
    double seconds() const { return static_cast<double>(wall_ns() - start_ns_) * 1e-9; }
    bool is_over() const {
        return (options_.cancel != nullptr && options_.cancel->is_set()) ||
               (options_.time_limit > 0 && seconds() > options_.time_limit);
    }

    const OptimalOptions& options_;
    const std::function<void(const OptimalProgress&)>& on_progress_;
    std::int64_t start_ns_;
    std::atomic<std::uint64_t> counter_{0};
};

void Supervisor::report(Iteration& iteration, int depth) {
    try {
        on_progress_({depth, counter_, seconds()});
    } catch (...) {
        iteration.stop();
        throw;
    }
}

void Supervisor::run(Iteration& iteration, int depth) {
    using namespace std::chrono_literals;
    std::mutex mutex;
    std::condition_variable finished;
    bool done = false;
    std::jthread runner([&] {
        iteration.run(depth, options_.threads);
        const std::lock_guard lock(mutex);
        done = true;
        finished.notify_one();
    });
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, 20ms, [&] { return done; })) {
        if (is_over()) iteration.stop();
        lock.unlock();
        report(iteration, depth);
        lock.lock();
    }
}

}  // namespace

int optimal_bound(const OptimalTable& table, OptimalMetric metric, const CubieCube& cube) {
    return OptimalNodes(table, metric).root(cube).bound();
}

OptimalReport search_optimal(const OptimalTable& table, OptimalMetric metric, const CubieCube& cube,
                             const OptimalOptions& options,
                             const std::function<void(const OptimalProgress&)>& on_progress) {
    const OptimalNodes nodes(table, metric);
    Supervisor supervisor(options, on_progress);
    OptimalReport report;
    report.lower_bound = std::max(options.shortest, nodes.root(cube).bound());
    for (; report.lower_bound <= options.longest && !report.turns; ++report.lower_bound) {
        Iteration iteration(nodes, cube, supervisor.counter());
        supervisor.run(iteration, report.lower_bound);
        report.turns = iteration.solution();
        if (iteration.halted()) break;
    }
    report.nodes = supervisor.counter();
    return report;
}

}  // namespace cubist
