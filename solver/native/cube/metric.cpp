#include "cube/metric.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace cubist {
namespace {

constexpr int kNone = -1;

constexpr int quarters(int q) { return q == 3 ? 1 : q; }

int cost_in(MetricKind kind, Composite c) {
    switch (kind) {
        case MetricKind::kHalfTurn: return (c.first != 0) + (c.second != 0);
        case MetricKind::kQuarterTurn: return quarters(c.first) + quarters(c.second);
        case MetricKind::kAxial: return 1;
        case MetricKind::kAxialQuarter: return std::max(quarters(c.first), quarters(c.second));
    }
    return 0;
}

// By composite of a set: the cheaper composite and the generator that make it. Generators have no
// predecessor.
struct Split {
    std::array<int, kComposites> predecessor, generator;
};

std::vector<int> by_cost(const Metric& metric, bool phase2) {
    std::vector<int> members;
    for (int c = 0; c < kComposites; ++c)
        if (!phase2 || !leaves_phase2(Composite::of(c))) members.push_back(c);
    std::stable_sort(members.begin(), members.end(),
                     [&](int a, int b) { return metric.cost[a] < metric.cost[b]; });
    return members;
}

// Finds the first way to build composite `c` from a cheaper one and a generator, if there is one.
void split_composite(const Metric& metric, const std::vector<int>& cheaper, int c, Split& split) {
    const Composite whole = Composite::of(c);
    for (int before : cheaper) {
        if (Composite::of(before).axis != whole.axis) continue;
        for (int g : cheaper) {
            if (split.predecessor[g] != kNone || Composite::of(g).axis != whole.axis) continue;
            if (metric.cost[before] + metric.cost[g] != metric.cost[c]) continue;
            const Composite made = Composite::of(before).then(Composite::of(g));
            if (made.is_nothing() || made.index() != c) continue;
            split.predecessor[c] = before;
            split.generator[c] = g;
            return;
        }
    }
}

Split split_all(const Metric& metric, const std::vector<int>& members) {
    Split split;
    split.predecessor.fill(kNone);
    split.generator.fill(kNone);
    std::vector<int> cheaper;
    for (int c : members) {
        split_composite(metric, cheaper, c, split);
        cheaper.push_back(c);
    }
    return split;
}

TurnSet make_turn_set(const Metric& metric, bool phase2) {
    const std::vector<int> members = by_cost(metric, phase2);
    const Split split = split_all(metric, members);
    TurnSet set;
    std::array<int, kComposites> number;
    for (int c : members)
        if (split.predecessor[c] == kNone) {
            number[c] = static_cast<int>(set.generators.size());
            set.generators.push_back(static_cast<std::uint8_t>(c));
            set.costs.push_back(metric.cost[c]);
        }
    for (int state = 0; state < kStates; ++state)
        for (int c : members) {
            const bool other_axis =
                state == kStart || Composite::of(state).axis != Composite::of(c).axis;
            const int g = split.predecessor[c] == kNone ? c : split.generator[c];
            if (split.predecessor[c] == kNone ? !other_axis : split.predecessor[c] != state)
                continue;
            set.next[state].push_back(
                {static_cast<std::uint8_t>(number[g]), static_cast<std::uint8_t>(c)});
            set.state_after[state][number[g]] = static_cast<std::uint8_t>(c);
        }
    return set;
}

// A turn on the same axis may follow across the border between the phases if it adds its full cost
// and phase 1 cannot make the same composite alone.
bool may_cross(const Metric& metric, int state, int generator, int made) {
    if (metric.cost[made] != metric.cost[state] + metric.cost[generator]) return false;
    const auto& own = metric.phase1.generators;
    if (std::find(own.begin(), own.end(), generator) == own.end()) return true;
    const auto& next = metric.phase1.next[state];
    return std::any_of(next.begin(), next.end(), [made](Step step) { return step.state == made; });
}

// The generators that may begin phase 2 after `state`.
std::vector<Step> make_junction(const Metric& metric, int state) {
    std::vector<Step> steps;
    for (Step step : metric.phase2.next[kStart]) {
        const Composite turn = Composite::of(step.state);
        if (state != kStart && Composite::of(state).axis == turn.axis) {
            const Composite made = Composite::of(state).then(turn);
            if (made.is_nothing() || !may_cross(metric, state, step.state, made.index())) continue;
            step.state = static_cast<std::uint8_t>(made.index());
        }
        steps.push_back(step);
    }
    return steps;
}

// R and R' differ by half turns, which belong to phase 2; so do R L2 and R' L2 if they are
// generators.
std::uint64_t kin_of(const Metric& metric, int generator) {
    const auto& generators = metric.phase1.generators;
    const Composite own = Composite::of(generators[generator]);
    std::uint64_t kin = 0;
    for (std::size_t g = 0; g < generators.size(); ++g) {
        const Composite other = Composite::of(generators[g]);
        if (other.axis != own.axis) continue;
        const Composite between = own.inverse().then(other);
        if (between.is_nothing() || leaves_phase2(between) ||
            metric.cost[between.index()] > metric.kin_cost)
            continue;
        kin |= std::uint64_t{1} << g;
    }
    return kin;
}

Metric make_metric(MetricKind kind) {
    Metric metric{};
    metric.kind = kind;
    metric.step = kind == MetricKind::kQuarterTurn ? 2 : 1;
    for (int c = 0; c < kComposites; ++c)
        metric.cost[c] = static_cast<std::uint8_t>(cost_in(kind, Composite::of(c)));
    metric.phase1 = make_turn_set(metric, false);
    metric.phase2 = make_turn_set(metric, true);
    for (int state = 0; state < kStates; ++state)
        metric.junction[state] = make_junction(metric, state);
    metric.kin_cost = metric.cost[Composite{1, 2, 0}.index()];
    for (std::size_t g = 0; g < metric.phase1.generators.size(); ++g)
        metric.kin[g] = kin_of(metric, static_cast<int>(g));
    return metric;
}

constexpr std::array<std::string_view, 4> kNames{"htm", "qtm", "axial", "axial-qtm"};

}  // namespace

int Metric::length(const Composites& composites) const {
    return std::accumulate(composites.begin(), composites.end(), 0,
                           [this](int sum, int c) { return sum + cost[c]; });
}

const Metric& metric(MetricKind kind) {
    static const std::array<Metric, 4> metrics{
        make_metric(MetricKind::kHalfTurn), make_metric(MetricKind::kQuarterTurn),
        make_metric(MetricKind::kAxial), make_metric(MetricKind::kAxialQuarter)};
    return metrics[static_cast<int>(kind)];
}

MetricKind metric_kind(std::string_view name) {
    const auto at = std::find(kNames.begin(), kNames.end(), name);
    if (at == kNames.end()) throw std::invalid_argument("no metric is called " + std::string(name));
    return static_cast<MetricKind>(at - kNames.begin());
}

Composites joined(const Composites& composites) {
    Composites out;
    for (std::uint8_t c : composites) {
        if (out.empty() || Composite::of(out.back()).axis != Composite::of(c).axis) {
            out.push_back(c);
            continue;
        }
        const Composite both = Composite::of(out.back()).then(Composite::of(c));
        out.pop_back();
        if (!both.is_nothing()) out.push_back(static_cast<std::uint8_t>(both.index()));
    }
    return out;
}

}  // namespace cubist
