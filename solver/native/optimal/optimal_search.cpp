#include "optimal/optimal_search.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "optimal/optimal_walk.hpp"

namespace cubist {
namespace {

// One depth of the search, shared by its threads.
class Iteration {
public:
    Iteration(const OptimalNodes& nodes, const CubieCube& cube, std::atomic<std::uint64_t>& counter)
        : nodes_(nodes), cube_(cube), counter_(counter) {}

    // Returns once a solution of `depth` turns is found, none exists, or `stop` was called.
    void run(int depth, int threads);
    void stop() { halted_ = true; }
    bool halted() const { return halted_; }
    const std::optional<std::vector<int>>& solution() const { return solution_; }

private:
    void split(const OptimalStart& start, int depth, int levels, std::vector<OptimalStart>& starts);
    void work(const std::vector<OptimalStart>& starts, int depth);
    void finish(const std::vector<int>& turns);

    const OptimalNodes& nodes_;
    const CubieCube& cube_;
    std::atomic<std::uint64_t>& counter_;
    std::atomic<std::size_t> next_start_{0};
    std::atomic<bool> halted_{false};
    std::mutex mutex_;
    std::optional<std::vector<int>> solution_;
};

// The sequences of `levels` turns, or of `depth` if that is fewer.
void Iteration::split(const OptimalStart& start, int depth, int levels,
                      std::vector<OptimalStart>& starts) {
    if (levels == 0 || depth == static_cast<int>(start.turns.size())) {
        starts.push_back(start);
        return;
    }
    for (const OptimalStart& next : nodes_.next(start)) split(next, depth, levels - 1, starts);
}

void Iteration::run(int depth, int threads) {
    constexpr int kSplitLevels = 2;
    std::vector<OptimalStart> starts;
    split(nodes_.root(cube_), depth, kSplitLevels, starts);
    std::vector<std::jthread> workers;
    workers.reserve(threads);
    for (int t = 0; t < threads; ++t) workers.emplace_back([&] { work(starts, depth); });
}

void Iteration::work(const std::vector<OptimalStart>& starts, int depth) {
    OptimalWalk walk(nodes_, depth, halted_, counter_,
                     [this](const std::vector<int>& turns) { finish(turns); });
    for (std::size_t number; !halted_ && (number = next_start_++) < starts.size();)
        walk.add(starts[number]);
    walk.run_out();
}

// The tables distinguish less than the whole cube, so check whether the cube is really solved.
void Iteration::finish(const std::vector<int>& turns) {
    CubieCube cube = cube_;
    for (int turn : turns) cube = cube * face_turn_cube(turn);
    if (!cube.is_solved()) return;
    const std::lock_guard lock(mutex_);
    solution_ = turns;
    halted_ = true;
}

// Runs iterations on other threads and watches the clock.
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
    return OptimalNodes(table, metric).bound(cube);
}

OptimalReport search_optimal(const OptimalTable& table, OptimalMetric metric, const CubieCube& cube,
                             const OptimalOptions& options,
                             const std::function<void(const OptimalProgress&)>& on_progress) {
    const OptimalNodes nodes(table, metric);
    Supervisor supervisor(options, on_progress);
    OptimalReport report;
    report.lower_bound = std::max(options.shortest, nodes.bound(cube));
    const int longest = std::min(options.longest, kLongestSolution);
    for (; report.lower_bound <= longest && !report.turns; ++report.lower_bound) {
        Iteration iteration(nodes, cube, supervisor.counter());
        supervisor.run(iteration, report.lower_bound);
        report.turns = iteration.solution();
        if (iteration.halted()) break;
    }
    report.nodes = supervisor.counter();
    return report;
}

}  // namespace cubist
