#include "cube/collector.hpp"

#include <algorithm>

namespace cubist {

int Collector::offer(const Composites& solution, int length) {
    const auto cost =
        options_.model ? options_.model->cost(solution) : static_cast<std::uint32_t>(length);
    if (cost != CostModel::kImpossible) keep({solution, length, cost});
    return has_enough_ || failure_ ? kEnough : max_length();
}

void Collector::keep(Found found) {
    const auto at = std::find_if(found_.begin(), found_.end(),
                                 [&](const Found& other) { return found.cost < other.cost; });
    const bool is_best = at == found_.begin();
    if (std::any_of(found_.begin(), at,
                    [&](const Found& other) { return other.composites == found.composites; }))
        return;
    found_.insert(at, std::move(found));
    if (static_cast<int>(found_.size()) > options_.solutions) found_.pop_back();
    if (is_best) report(found_.front());
    has_enough_ = static_cast<int>(found_.size()) == options_.solutions &&
                  found_.back().length <= options_.target;
}

void Collector::report(const Found& best) {
    if (!options_.on_better || failure_) return;
    try {
        options_.on_better(best);
    } catch (...) {
        failure_ = std::current_exception();
    }
}

int Collector::max_length() const {
    if (static_cast<int>(found_.size()) < options_.solutions) return INT_MAX / 2;
    return found_.back().length - 1;
}

void Collector::rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
}

}  // namespace cubist
