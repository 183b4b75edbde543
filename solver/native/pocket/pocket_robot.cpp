#include "pocket/pocket_robot.hpp"

#include <algorithm>
#include <utility>

namespace cubist {
namespace {

using Units = PocketBall::Units;

// The range of times is divided into this many buckets.
constexpr int kBuckets = 256;

int values_of(PocketPart part) {
    switch (part) {
        case PocketPart::kPerm: return kPocketPerms;
        case PocketPart::kTwist: return kPocketTwists;
        default: return kPocketPositions;
    }
}

}  // namespace

PocketBall::PocketBall(const PocketCosts& costs, PocketPart part, std::size_t table_bytes,
                       const Progress& progress)
    : part_(part), states_(costs.states), block_(values_of(part), kOutside) {
    choose_unit(costs);
    keep_matrices(costs);
    const std::int32_t solved = block_of({});
    const auto owed = in_units(costs.final);
    std::copy(owed.begin(), owed.end(), &least_[block_start(solved, 0)]);
    grow(table_bytes / (kPocketAxes * states_ * sizeof(Units)), progress);
}

PocketPosition PocketBall::position_at(int index) const {
    const auto number = static_cast<std::uint16_t>(index);
    switch (part_) {
        case PocketPart::kPerm: return {number, 0};
        case PocketPart::kTwist: return {0, number};
        default:
            return {static_cast<std::uint16_t>(index / kPocketTwists),
                    static_cast<std::uint16_t>(index % kPocketTwists)};
    }
}

// Chooses a unit small enough to lose little accuracy, and large enough for the longest solutions
// to fit.
void PocketBall::choose_unit(const PocketCosts& costs) {
    std::uint64_t longest = 1;
    for (const auto times : {costs.next, costs.final})
        for (std::uint32_t time : times)
            if (time != kNever) longest = std::max<std::uint64_t>(longest, time);
    const std::uint64_t total = longest * (farthest(PocketMetric::kHalfTurn) + 1);
    unit_ = static_cast<std::uint32_t>(total / (kNone - 1) + 1);
    width_ = static_cast<int>(total / unit_) / kBuckets + 1;
}

void PocketBall::keep_matrices(const PocketCosts& costs) {
    const std::size_t entries = std::size_t(states_) * states_;
    for (int last = 0; last < kPocketAxes; ++last)
        for (int turn = 0; turn < kPocketTurns; ++turn) {
            const auto units = in_units({costs.matrix(last, turn), entries});
            next_.insert(next_.end(), units.begin(), units.end());
        }
}

std::vector<Units> PocketBall::in_units(std::span<const std::uint32_t> times) const {
    std::vector<Units> units;
    for (std::uint32_t time : times)
        units.push_back(time == kNever ? kNone : static_cast<Units>(time / unit_));
    return units;
}

std::int32_t PocketBall::block_of(PocketPosition at) {
    std::int32_t& block = block_[index_of(at)];
    if (block == kOutside) {
        block = static_cast<std::int32_t>(positions_.size());
        positions_.push_back(index_of(at));
        pending_.push_back(kNotPending);
        least_.resize(least_.size() + std::size_t(kPocketAxes) * states_, kNone);
    }
    return block;
}

// A block waits in the bucket of its least time that changed. Once all waiting blocks are at least
// as far as a bucket, everything nearer than it is final.
void PocketBall::grow(std::size_t most, const Progress& progress) {
    report(progress, 0.0);
    Buckets buckets(kBuckets + 1);
    wait(0, 0, buckets);
    for (int bucket = 0; bucket <= kBuckets; ++bucket) {
        report(progress, std::min(1.0, double(positions_.size()) / double(most)));
        std::vector<std::int32_t> waiting;
        while (!(waiting = std::exchange(buckets[bucket], {})).empty())
            for (std::int32_t block : waiting) {
                if (pending_[block] != bucket) continue;
                if (positions_.size() > most) return close(static_cast<Units>(bucket * width_));
                pending_[block] = kNotPending;
                relax_before(block, buckets);
            }
    }
    close(kNone);
}

void PocketBall::wait(std::int32_t block, Units time, Buckets& buckets) {
    const auto bucket = static_cast<std::int16_t>(std::min(time / width_, kBuckets));
    if (pending_[block] <= bucket) return;
    pending_[block] = bucket;
    buckets[bucket].push_back(block);
}

void PocketBall::relax_before(std::int32_t block, Buckets& buckets) {
    const PocketPosition at = position_at(positions_[block]);
    for (int turn = 0; turn < kPocketTurns; ++turn) {
        const std::int32_t from = block_of(pocket_turns().after(at, undone(turn)));
        const Units improved = relax(from, block, turn);
        if (improved != kNone) wait(from, improved, buckets);
    }
}

// Returns the least time improved by the turn from one block to another, kNone if it improves none.
Units PocketBall::relax(std::int32_t from, std::int32_t onward, int turn) {
    const Units* rest = &least_[block_start(onward, turn / 3)];
    Units improved = kNone;
    for (int last = 0; last < kPocketAxes; ++last) {
        if (last == turn / 3) continue;
        const Units* matrix = &next_[std::size_t(last * kPocketTurns + turn) * states_ * states_];
        Units* known = &least_[block_start(from, last)];
        for (int state = 0; state < states_; ++state, matrix += states_) {
            Units least = kNone;
            for (int k = 0; k < states_; ++k)
                least = std::min(least, static_cast<Units>(matrix[k] + rest[k]));
            if (least >= known[state]) continue;
            known[state] = least;
            improved = std::min(improved, least);
        }
    }
    return improved;
}

// Times beyond `radius` are not known, so the table stores `radius` for them.
void PocketBall::close(Units radius) {
    for (Units& time : least_) time = std::min(time, radius);
    outside_.assign(states_, radius);
    pending_ = {};
    next_ = {};
}

namespace {

// The share of the work that the largest of the three balls takes.
constexpr double kWholeShare = 0.95;

using Times = std::vector<std::uint32_t>;

// min over k of (a[k] + b[k]).
std::uint32_t meet(const std::uint32_t* a, const std::uint32_t* b, int states) {
    std::uint32_t least = kNever;
    for (int k = 0; k < states; ++k) least = std::min(least, sum(a[k], b[k]));
    return least;
}

class FastestSearch {
public:
    FastestSearch(const PocketRobot& robot, std::span<const std::uint32_t> first,
                  const Deadline& deadline)
        : robot_(robot), costs_(robot.costs()), first_(first), deadline_(deadline) {}

    // Searches with limits that grow step by step, because a search without a limit might not end.
    FastestResult run(PocketPosition from) {
        limit_ = 0;
        while (result_.cost == kNever && !stopped_ && limit_ != kNever) {
            limit_ = next_limit(from);
            std::vector<Child> children = openings(from);
            visit(children);
        }
        result_.proven = !stopped_ && result_.cost != kNever;
        return std::move(result_);
    }

private:
    struct Child {
        PocketPosition at;
        int turn;
        std::uint32_t bound;
        Times times;  // least, by mechanism state
    };

    std::uint32_t next_limit(PocketPosition from);
    std::vector<Child> openings(PocketPosition from) const;
    void consider(PocketPosition from, int turn, Times times, std::vector<Child>& children) const;
    void visit(std::vector<Child>& children);
    void expand(const Child& parent);
    void take(const Child& child);
    Times after(const Child& parent, int turn) const;

    const PocketRobot& robot_;
    const PocketCosts& costs_;
    std::span<const std::uint32_t> first_;
    const Deadline& deadline_;
    std::vector<int> path_;
    FastestResult result_;
    std::uint32_t limit_ = kNever;  // only solutions below this count
    bool stopped_ = false;
};

std::uint32_t FastestSearch::next_limit(PocketPosition from) {
    constexpr std::uint32_t kGrowth = 16;  // the limit grows by a sixteenth
    if (limit_ != 0) return sum(limit_, limit_ / kGrowth + 1);
    limit_ = kNever;
    std::uint32_t least = kNever;
    for (const Child& child : openings(from)) least = std::min(least, child.bound);
    return least == kNever ? kNever : sum(least, least / kGrowth + 1);
}

std::vector<FastestSearch::Child> FastestSearch::openings(PocketPosition from) const {
    std::vector<Child> children;
    for (int turn = 0; turn < kPocketTurns; ++turn) {
        const std::uint32_t* row = PocketCosts::row(first_, turn, costs_.states);
        consider(from, turn, Times(row, row + costs_.states), children);
    }
    return children;
}

void FastestSearch::consider(PocketPosition from, int turn, Times times,
                             std::vector<Child>& children) const {
    const PocketPosition at = pocket_turns().after(from, turn);
    const std::uint32_t least = robot_.bound(at, turn / 3, times);
    if (least < std::min(limit_, result_.cost))
        children.push_back({at, turn, least, std::move(times)});
}

// Visits the most promising turns first, because a good solution soon prunes the rest.
void FastestSearch::visit(std::vector<Child>& children) {
    std::sort(children.begin(), children.end(),
              [](const Child& a, const Child& b) { return a.bound < b.bound; });
    for (const Child& child : children) {
        if (stopped_ || child.bound >= result_.cost) return;
        path_.push_back(child.turn);
        if (child.at.is_solved()) take(child);
        expand(child);
        path_.pop_back();
    }
}

void FastestSearch::take(const Child& child) {
    const std::uint32_t cost =
        meet(child.times.data(), costs_.final_row(child.turn / 3), costs_.states);
    if (cost >= result_.cost) return;
    result_.cost = cost;
    result_.turns = path_;
}

void FastestSearch::expand(const Child& parent) {
    constexpr std::uint64_t kNodesBetweenLooks = 1 << 10;
    if (++result_.nodes % kNodesBetweenLooks == 0) stopped_ = deadline_.has_passed();
    std::vector<Child> children;
    for (int turn = 0; turn < kPocketTurns && !stopped_; ++turn)
        if (turn / 3 != parent.turn / 3) consider(parent.at, turn, after(parent, turn), children);
    visit(children);
}

// Entry k is the least over j of (times[j] + matrix[j][k]).
Times FastestSearch::after(const Child& parent, int turn) const {
    Times times(costs_.states, kNever);
    const std::uint32_t* matrix = costs_.matrix(parent.turn / 3, turn);
    for (int j = 0; j < costs_.states; ++j, matrix += costs_.states) {
        if (parent.times[j] == kNever) continue;
        for (int k = 0; k < costs_.states; ++k)
            times[k] = std::min(times[k], sum(parent.times[j], matrix[k]));
    }
    return times;
}

}  // namespace

PocketRobot::PocketRobot(const PocketCosts& costs, std::size_t table_bytes,
                         const Progress& progress)
    : costs_(costs),
      ball_(costs, PocketPart::kWhole, table_bytes,
            [&progress](double done) { return progress(kWholeShare * done); }),
      perm_(costs, PocketPart::kPerm, table_bytes,
            [&progress](double) { return progress(kWholeShare); }),
      twist_(costs, PocketPart::kTwist, table_bytes,
             [&progress](double) { return progress(kWholeShare); }) {
    report(progress, 1.0);
}

std::uint32_t PocketRobot::bound(PocketPosition at, int axis, const Times& times) const {
    const PocketBall::Units* whole = ball_.row(at, axis);
    const PocketBall::Units* perm = perm_.row(at, axis);
    const PocketBall::Units* twist = twist_.row(at, axis);
    std::uint32_t least = kNever;
    for (int k = 0; k < costs_->states; ++k) {
        const PocketBall::Units rest = std::max({whole[k], perm[k], twist[k]});
        if (rest == PocketBall::kNone) continue;
        least = std::min(least, sum(times[k], ball_.unit() * static_cast<std::uint32_t>(rest)));
    }
    return least;
}

FastestResult PocketRobot::solve(PocketPosition from, std::span<const std::uint32_t> first,
                                 const Deadline& deadline) const {
    if (from.is_solved()) return {.turns = {}, .cost = 0, .proven = true, .nodes = 0};
    return FastestSearch(*this, first, deadline).run(from);
}

}  // namespace cubist
