// Keeps the best solutions that a search finds.
#pragma once

#include <climits>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

#include "cube/cost_model.hpp"

namespace cubist {

// Takes solutions. `offer` returns the maximum length of further ones, or kEnough. Only one thread
// calls it at a time.
class SolutionSink {
public:
    static constexpr int kEnough = -1;

    virtual ~SolutionSink() = default;
    virtual int offer(const Composites& solution, int length) = 0;
};

struct Found {
    Composites composites;
    int length;
    std::uint32_t cost;  // microseconds with a cost model, otherwise the length
};

struct CollectorOptions {
    int solutions;                     // number of solutions to keep
    int target;                        // enough once all of them are this short
    const CostModel* model = nullptr;  // if given, keep the cheapest, not the shortest
    std::function<void(const Found&)> on_better;
};

class Collector : public SolutionSink {
public:
    explicit Collector(CollectorOptions options) : options_(std::move(options)) {}

    int offer(const Composites& solution, int length) override;

    // Sorted, best first.
    const std::vector<Found>& found() const { return found_; }
    // A further solution must be cheaper than this.
    std::uint32_t worst_cost() const {
        return static_cast<int>(found_.size()) < options_.solutions ? UINT32_MAX
                                                                    : found_.back().cost;
    }
    // Rethrows the exception of `on_better`, if there was one.
    void rethrow() const;

private:
    void keep(Found found);
    void report(const Found& best);
    int max_length() const;

    CollectorOptions options_;
    std::vector<Found> found_;
    bool has_enough_ = false;
    std::exception_ptr failure_;
};

}  // namespace cubist
