#include "pocket/pocket_ball.hpp"

#include <algorithm>
#include <utility>

namespace cubist {
namespace {

using Units = PocketBall::Units;

// Times are handled in steps of this many buckets over their whole range.
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

// Small enough to lose little, large enough for the longest solutions to fit.
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

// Blocks wait in the bucket of their least time that changed. When all that wait are at least as far
// as a bucket, whatever is nearer than it is final.
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

// The least time that the turn from one block to another improves, kNone if it improves none.
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

// Nothing farther than `radius` is known for certain: it is taken to be just there.
void PocketBall::close(Units radius) {
    for (Units& time : least_) time = std::min(time, radius);
    outside_.assign(states_, radius);
    pending_ = {};
    next_ = {};
}

}  // namespace cubist
