#include "pocket/pocket.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "cube/breadth_first.hpp"

namespace cubist {

namespace {

constexpr std::array<int, 7> kSlots{0, 1, 2, 3, 4, 6, 7};

int perm_of(const CubieCube& cube) {
    int rank = 0;
    for (std::size_t i = 0; i < kSlots.size(); ++i) {
        int smaller = 0;
        for (std::size_t j = i + 1; j < kSlots.size(); ++j)
            smaller += cube.cp[kSlots[j]] < cube.cp[kSlots[i]];
        rank = rank * static_cast<int>(kSlots.size() - i) + smaller;
    }
    return rank;
}

void set_perm(CubieCube& cube, int rank) {
    std::array<int, kSlots.size()> digits{};
    for (std::size_t i = kSlots.size(); i-- > 0;) {
        digits[i] = rank % static_cast<int>(kSlots.size() - i);
        rank /= static_cast<int>(kSlots.size() - i);
    }
    std::vector<int> left(kSlots.begin(), kSlots.end());
    for (std::size_t i = 0; i < kSlots.size(); ++i) {
        cube.cp[kSlots[i]] = static_cast<std::uint8_t>(left[digits[i]]);
        left.erase(left.begin() + digits[i]);
    }
}

int twist_of_seven(const CubieCube& cube) {
    int twist = 0;
    for (std::size_t i = 0; i + 1 < kSlots.size(); ++i) twist = 3 * twist + cube.co[kSlots[i]];
    return twist;
}

void set_twist_of_seven(CubieCube& cube, int twist) {
    int sum = 0;
    for (std::size_t i = kSlots.size() - 1; i-- > 0; twist /= 3) {
        cube.co[kSlots[i]] = static_cast<std::uint8_t>(twist % 3);
        sum += twist % 3;
    }
    cube.co[kSlots.back()] = static_cast<std::uint8_t>((3 - sum % 3) % 3);
}

// U, R and F are the first faces of the three axes.
const CubieCube& turn_cube(int turn) {
    const auto axis = static_cast<std::uint8_t>(turn / 3);
    return composite_cube(Composite{axis, static_cast<std::uint8_t>(turn % 3 + 1), 0}.index());
}

PocketTurns make_turns() {
    PocketTurns turns;
    for (int turn = 0; turn < kPocketTurns; ++turn) {
        CubieCube cube;
        for (int perm = 0; perm < kPocketPerms; ++perm) {
            set_perm(cube, perm);
            turns.perm[perm][turn] = static_cast<std::uint16_t>(perm_of(cube * turn_cube(turn)));
        }
        for (int twist = 0; twist < kPocketTwists; ++twist) {
            set_twist_of_seven(cube, twist);
            turns.twist[twist][turn] =
                static_cast<std::uint16_t>(twist_of_seven(cube * turn_cube(turn)));
        }
    }
    return turns;
}

template <std::size_t N>
std::vector<std::uint8_t> distances(
    const std::array<std::array<std::uint16_t, kPocketTurns>, N>& after, PocketMetric metric) {
    const std::vector<int>& turns = unit_turns(metric);
    std::vector<std::uint8_t> distance(N, kUnreachable);
    distance[0] = 0;
    fill_breadth_first(distance, turns.size(), [&](std::uint32_t value, std::size_t turn) {
        return after[value][turns[turn]];
    });
    return distance;
}

}  // namespace

PocketPosition pocket_position(const CubieCube& cube) {
    return {static_cast<std::uint16_t>(perm_of(cube)),
            static_cast<std::uint16_t>(twist_of_seven(cube))};
}

const PocketTurns& pocket_turns() {
    static const PocketTurns turns = make_turns();
    return turns;
}

PocketMetric pocket_metric(std::string_view name) {
    if (name == "htm") return PocketMetric::kHalfTurn;
    if (name == "qtm") return PocketMetric::kQuarterTurn;
    throw std::invalid_argument("the 2x2x2 is counted in htm or qtm");
}

const std::vector<int>& unit_turns(PocketMetric metric) {
    static const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7, 8}, quarters{0, 2, 3, 5, 6, 8};
    return metric == PocketMetric::kHalfTurn ? all : quarters;
}

PocketBounds::PocketBounds(PocketMetric metric)
    : perm(distances(pocket_turns().perm, metric)),
      twist(distances(pocket_turns().twist, metric)) {}

namespace {

constexpr std::uint8_t kUnseen = 0xFF;

PocketPosition position_at(int index) {
    return {static_cast<std::uint16_t>(index / kPocketTwists),
            static_cast<std::uint16_t>(index % kPocketTwists)};
}

// Searches breadth-first and stores the turn by which each position was first reached.
class BreadthFirst {
public:
    BreadthFirst(PocketPosition from, PocketMetric metric, std::optional<PocketBounds> bounds)
        : from_(from),
          metric_(metric),
          bounds_(std::move(bounds)),
          by_(kPocketPositions, kUnseen) {}

    PocketResult run() {
        std::vector<std::uint32_t> level{static_cast<std::uint32_t>(from_.index())}, next;
        by_[from_.index()] = 0;
        std::size_t widest = 1;
        for (int depth = 0; by_[0] == kUnseen; ++depth) {
            next.clear();
            for (std::uint32_t index : level)
                expand(position_at(static_cast<int>(index)), depth, next);
            std::swap(level, next);
            widest = std::max(widest, level.size() + next.size());
        }
        result_.bytes =
            by_.size() + widest * sizeof(std::uint32_t) + (bounds_ ? bounds_->bytes() : 0);
        trace_back();
        return std::move(result_);
    }

private:
    void expand(PocketPosition at, int depth, std::vector<std::uint32_t>& next) {
        ++result_.nodes;
        for (int turn : unit_turns(metric_)) {
            const PocketPosition to = pocket_turns().after(at, turn);
            if (by_[to.index()] != kUnseen) continue;
            if (bounds_ && depth + 1 + (*bounds_)(to) > farthest(metric_)) continue;
            by_[to.index()] = static_cast<std::uint8_t>(turn);
            next.push_back(static_cast<std::uint32_t>(to.index()));
        }
    }

    void trace_back() {
        PocketPosition at;
        while (at.index() != from_.index()) {
            const int turn = by_[at.index()];
            result_.turns.push_back(turn);
            at = pocket_turns().after(at, undone(turn));
        }
        std::reverse(result_.turns.begin(), result_.turns.end());
    }

    PocketPosition from_;
    PocketMetric metric_;
    std::optional<PocketBounds> bounds_;
    std::vector<std::uint8_t> by_;
    PocketResult result_;
};

// A single path, deepened in place. A turn of a face never follows one of the same face.
class IterativeDeepening {
public:
    explicit IterativeDeepening(PocketMetric metric) : metric_(metric), bounds_(metric) {}

    PocketResult run(PocketPosition from) {
        constexpr int kNoFace = -1;
        int depth = bounds_(from);
        while (!descend(from, depth, kNoFace)) ++depth;
        result_.bytes = bounds_.bytes() + static_cast<std::size_t>(depth) * sizeof(int);
        return std::move(result_);
    }

private:
    bool descend(PocketPosition at, int left, int last_face) {
        if (at.is_solved()) return true;
        ++result_.nodes;
        for (int turn = 0; turn < kPocketTurns; ++turn) {
            const int rest = left - pocket_cost(metric_, turn);
            if (turn / 3 == last_face || rest < 0) continue;
            const PocketPosition to = pocket_turns().after(at, turn);
            if (bounds_(to) > rest) continue;
            result_.turns.push_back(turn);
            if (descend(to, rest, turn / 3)) return true;
            result_.turns.pop_back();
        }
        return false;
    }

    PocketMetric metric_;
    PocketBounds bounds_;
    PocketResult result_;
};

}  // namespace

PocketResult pocket_bfs(PocketPosition from, PocketMetric metric) {
    return BreadthFirst(from, metric, std::nullopt).run();
}

PocketResult pocket_bfs_pruned(PocketPosition from, PocketMetric metric) {
    return BreadthFirst(from, metric, PocketBounds(metric)).run();
}

PocketResult pocket_ida_star(PocketPosition from, PocketMetric metric) {
    return IterativeDeepening(metric).run(from);
}

PocketTable::PocketTable(PocketMetric metric, const Progress& progress)
    : metric_(metric), distance_(kPocketPositions, kUnreachable) {
    constexpr std::size_t kReportEvery = 1 << 15;
    const std::vector<int>& turns = unit_turns(metric);
    const PocketTurns& known = pocket_turns();
    distance_[0] = 0;
    const auto neighbour = [&](std::uint32_t index, std::size_t turn) {
        return known.after(position_at(static_cast<int>(index)), turns[turn]).index();
    };
    fill_breadth_first(distance_, turns.size(), neighbour, [&](std::size_t done) {
        if (done % kReportEvery == 0)
            report(progress, static_cast<double>(done) / kPocketPositions);
    });
    report(progress, 1.0);
}

std::vector<int> PocketTable::solve(PocketPosition from) const {
    std::vector<int> turns;
    while (!from.is_solved())
        for (int turn : unit_turns(metric_)) {
            const PocketPosition to = pocket_turns().after(from, turn);
            if (distance(to) >= distance(from)) continue;
            turns.push_back(turn);
            from = to;
            break;
        }
    return turns;
}

std::vector<std::uint32_t> PocketTable::counts() const {
    std::vector<std::uint32_t> counts(static_cast<std::size_t>(farthest(metric_)) + 1);
    for (std::uint8_t distance : distance_) ++counts[distance];
    return counts;
}

}  // namespace cubist
