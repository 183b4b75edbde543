#include "nxn/nxn_search.hpp"

#include <algorithm>
#include <stdexcept>

namespace cubist {
namespace {

constexpr int kNothing = -1;
constexpr std::size_t kBetweenReports = 1 << 14;

Stickers solved(std::size_t count) {
    Stickers stickers(count);
    const std::size_t area = count / 6;
    for (std::size_t i = 0; i < count; ++i) stickers[i] = static_cast<std::uint8_t>(i / area);
    return stickers;
}

class Deepening {
public:
    Deepening(const NxnDatabase& database, const NxnTurns& turns, const Deadline& deadline,
              std::uint64_t& nodes)
        : positions_(database.positions()), farther_(database.depth() + 1), turns_(turns),
          deadline_(deadline), nodes_(nodes) {}

    bool run(const Stickers& from, int length) {
        paths_.assign(static_cast<std::size_t>(length) + 1, Stickers(from.size()));
        paths_[0] = from;
        return descend(0, length, kNothing);
    }
    int bound(const Stickers& stickers) const {
        const int known = positions_.distance(stickers);
        return known == kNothing ? farther_ : known;
    }
    bool stopped() const { return stopped_; }
    std::vector<int> turns() const { return taken_; }

private:
    // From a position in the database, distances fall on the way to go.
    bool descend(std::size_t level, int left, int last) {
        const Stickers& at = paths_[level];
        const int known = positions_.distance(at);
        if (known == 0) return true;
        if ((known == kNothing ? farther_ : known) > left) return false;
        if (++nodes_ % kBetweenReports == 0) stopped_ = deadline_.has_passed();
        for (std::size_t turn = 0; turn < turns_.count() && !stopped_; ++turn) {
            if (!turns_.may_follow(last, turn)) continue;
            Stickers& next = paths_[level + 1];
            turns_.apply(turn, at, next);
            turns_.rename(next);
            taken_.push_back(static_cast<int>(turn));
            if (descend(level + 1, left - 1, static_cast<int>(turn))) return true;
            taken_.pop_back();
        }
        return false;
    }

    const NxnPositions& positions_;
    int farther_;
    const NxnTurns& turns_;
    const Deadline& deadline_;
    std::uint64_t& nodes_;
    std::vector<Stickers> paths_;
    std::vector<int> taken_;
    bool stopped_ = false;
};

}  // namespace

NxnDatabase::NxnDatabase(NxnTurns turns) : turns_(std::move(turns)), positions_(turns_.stickers) {
    Stickers start = solved(turns_.stickers);
    turns_.rename(start);
    positions_.add(start, 0);
}

bool NxnDatabase::deepen(std::size_t most, const std::function<bool(std::size_t)>& progress) {
    NxnPositions deeper = positions_;
    const auto next_distance = static_cast<std::uint8_t>(depth_ + 1);
    Stickers at(turns_.stickers), next(turns_.stickers);
    for (std::size_t number = 0; number < positions_.size(); ++number) {
        if (positions_.distances()[number] != depth_) continue;
        positions_.unpack(number, at);
        for (std::size_t turn = 0; turn < turns_.count(); ++turn) {
            turns_.apply(turn, at, next);
            turns_.rename(next);
            deeper.add(next, next_distance);
        }
        if (deeper.size() > most) return false;
        if (number % kBetweenReports == 0 && !progress(deeper.size())) return false;
    }
    positions_ = std::move(deeper);
    ++depth_;
    return progress(positions_.size());
}

void NxnDatabase::restore(std::span<const std::uint64_t> keys, std::span<const std::uint8_t> distances) {
    positions_.restore(keys, distances);
    depth_ = distances.empty() ? 0 : *std::max_element(distances.begin(), distances.end());
}

NxnResult NxnDatabase::solve(Stickers stickers, int longest, const Deadline& deadline,
                             const std::function<void(int, std::uint64_t)>& progress) const {
    if (stickers.size() != turns_.stickers || !turns_.rename(stickers))
        throw std::invalid_argument("these are not the stickers of a cube");
    NxnResult result;
    Deepening search(*this, turns_, deadline, result.nodes);
    result.lower_bound = search.bound(stickers);
    for (; result.lower_bound <= longest; ++result.lower_bound) {
        progress(result.lower_bound, result.nodes);
        if (search.run(stickers, result.lower_bound)) {
            result.turns = search.turns();
            break;
        }
        if (search.stopped()) break;
    }
    return result;
}

}  // namespace cubist
