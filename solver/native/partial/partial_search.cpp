#include "partial/partial_search.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "cube/breadth_first.hpp"

namespace cubist {
namespace {

constexpr int kMostTurns = 32;
constexpr std::uint64_t kNodesBetweenChecks = 4096;

std::vector<PieceGroup> group_pieces(const AllowedLocations& allowed, PieceKind kind) {
    const int base = kind == PieceKind::kCorner ? 0 : kCorners;
    std::vector<PieceGroup> groups;
    for (int piece = 0; piece < slots_of(kind); ++piece) {
        const std::uint32_t own = allowed[base + piece];
        if (own == PieceGroup::kAnywhere) continue;
        const auto alike = std::find_if(groups.begin(), groups.end(), [own](const PieceGroup& one) {
            return one.allowed == own;
        });
        auto& group = alike == groups.end() ? groups.emplace_back(kind, own) : *alike;
        group.pieces.push_back(static_cast<std::uint8_t>(piece));
    }
    return groups;
}

// The mask of the orientations at a slot.
std::uint32_t ways_at(PieceKind kind, int slot) {
    const int ways = ways_of(kind);
    return ((1U << ways) - 1) << slot * ways;
}

int face_turn(Face face, int quarters) { return 3 * face + quarters - 1; }

}  // namespace

bool PieceGroup::is_oriented() const {
    for (int slot = 0; slot < slots_of(kind); ++slot) {
        const std::uint32_t here = allowed & ways_at(kind, slot);
        if (here != 0 && here != ways_at(kind, slot)) return true;
    }
    return false;
}

double PieceView::count_positions(const std::vector<PieceGroup>& groups) {
    double count = 1;
    int left = slots_of(groups.front().kind);
    for (const PieceGroup& group : groups)
        for (std::size_t k = 1; k <= group.pieces.size(); ++k, --left) {
            count *= static_cast<double>(left) / static_cast<double>(k);
            if (group.is_oriented()) count *= ways_of(group.kind);
        }
    return count;
}

PieceView::PieceView(std::vector<PieceGroup> groups, const Metric& metric)
    : kind_(groups.front().kind), groups_(std::move(groups)) {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
        is_oriented_[group + 1] = groups_[group].is_oriented();
        for (const int piece : groups_[group].pieces)
            group_of_[piece] = static_cast<std::uint8_t>(group + 1);
    }
    number_positions();
    distances_.assign(keys_.size(), kUnreachable);
    for (std::uint32_t position = 0; position < size(); ++position)
        if (is_goal(keys_[position])) distances_[position] = 0;
    const auto& generators = metric.phase1.generators;
    fill_breadth_first(
        distances_, generators.size(),
        [&](std::uint32_t position, std::size_t turn) {
            return after(position, Composite::of(generators[turn]));
        },
        [&](std::size_t turn) { return metric.phase1.costs[turn]; }, [](std::size_t) {});
}

std::uint32_t PieceView::after(std::uint32_t position, Composite turn) const {
    const auto [first, second] = kAxes[turn.axis];
    if (turn.first != 0) position = after(position, face_turn(first, turn.first));
    return turn.second == 0 ? position : after(position, face_turn(second, turn.second));
}

double PieceView::mean_distance() const {
    const double sum = std::accumulate(distances_.begin(), distances_.end(), 0.0);
    return sum / static_cast<double>(distances_.size());
}

PieceView::Key PieceView::key_of(const CubieCube& cube) const {
    Key key = 0;
    for (int slot = slots_of(kind_) - 1; slot >= 0; --slot) {
        const bool is_corner = kind_ == PieceKind::kCorner;
        const int group = group_of_[is_corner ? cube.cp[slot] : cube.ep[slot]];
        const int orientation = is_corner ? cube.co[slot] : cube.eo[slot];
        const int own = is_oriented_[group] ? orientation : 0;
        key = key << kBits | static_cast<Key>(group * ways_of(kind_) + own);
    }
    return key;
}

PieceView::Key PieceView::turned(Key key, const CubieCube& turn) const {
    constexpr Key kSlot = (1U << kBits) - 1;
    const int ways = ways_of(kind_);
    Key out = 0;
    for (int slot = slots_of(kind_) - 1; slot >= 0; --slot) {
        const bool is_corner = kind_ == PieceKind::kCorner;
        const int from = is_corner ? turn.cp[slot] : turn.ep[slot];
        const int more = is_corner ? turn.co[slot] : turn.eo[slot];
        const int here = static_cast<int>(key >> from * kBits & kSlot), group = here / ways;
        const int orientation = is_oriented_[group] ? (here % ways + more) % ways : 0;
        out = out << kBits | static_cast<Key>(group * ways + orientation);
    }
    return out;
}

bool PieceView::is_goal(Key key) const {
    const int ways = ways_of(kind_);
    for (int slot = 0; slot < slots_of(kind_); ++slot, key >>= kBits) {
        const int here = static_cast<int>(key & ((1U << kBits) - 1)), group = here / ways;
        if (group > 0 && (groups_[group - 1].allowed >> (slot * ways + here % ways) & 1) == 0)
            return false;
    }
    return true;
}

// Returns where a key is in the hash table, or where it belongs.
std::size_t PieceView::place_of(Key key) const {
    const std::size_t mask = numbers_.size() - 1;
    std::size_t place = (key * 0x9E3779B97F4A7C15) >> 20 & mask;
    while (numbers_[place] != kEmpty && keys_[numbers_[place]] != key) place = (place + 1) & mask;
    return place;
}

std::uint32_t PieceView::add(Key key) {
    std::uint32_t& number = numbers_[place_of(key)];
    if (number == kEmpty) {
        number = size();
        keys_.push_back(key);
    }
    return number;
}

// Numbers all positions that quarter turns reach, and fills the table of turns.
void PieceView::number_positions() {
    const auto most = static_cast<std::size_t>(count_positions(groups_)) + 1;
    numbers_.assign(std::bit_ceil(2 * most), kEmpty);
    keys_.reserve(most);
    add(key_of(CubieCube{}));
    std::array<CubieCube, kFaces> quarter;
    for (int face = 0; face < kFaces; ++face)
        quarter[face] = face_turn_cube(face_turn(static_cast<Face>(face), 1));
    for (std::uint32_t position = 0; position < size(); ++position) {
        next_.resize(next_.size() + kFaceTurns);
        for (int face = 0; face < kFaces; ++face)
            next_[std::size_t{position} * kFaceTurns + face_turn(static_cast<Face>(face), 1)] =
                add(turned(keys_[position], quarter[face]));
    }
    for (std::uint32_t position = 0; position < size(); ++position)
        for (int face = 0; face < kFaces; ++face) {
            const int turn = face_turn(static_cast<Face>(face), 1);
            std::uint32_t* const row = next_.data() + std::size_t{position} * kFaceTurns;
            row[turn + 1] = after(row[turn], turn);
            row[turn + 2] = after(row[turn + 1], turn);
        }
}

PartialGoal::PartialGoal(const Metric& metric, const AllowedLocations& allowed) : metric_(metric) {
    const auto corners = group_pieces(allowed, PieceKind::kCorner);
    const auto edges = group_pieces(allowed, PieceKind::kEdge);
    add_views(corners);
    add_views(edges);
    complete_ = views_.size();
    std::stable_sort(views_.begin(), views_.end(), [](const auto& one, const auto& other) {
        return one->mean_distance() > other->mean_distance();
    });
    if (complete_ < 2) return;
    for (const auto& groups : {corners, edges})
        for (const PieceGroup& group : groups)
            if (groups.size() > 1)
                views_.push_back(std::make_shared<PieceView>(std::vector{group}, metric_));
}

// Adds views of all groups of a kind, as few as kMostPositions allows.
void PartialGoal::add_views(std::vector<PieceGroup> groups) {
    std::vector<PieceGroup> together;
    for (std::size_t k = 0; k < groups.size(); ++k) {
        together.push_back(groups[k]);
        const bool is_last = k + 1 == groups.size();
        if (!is_last) together.push_back(groups[k + 1]);
        const bool is_full = PieceView::count_positions(together) > PieceView::kMostPositions;
        if (!is_last) together.pop_back();
        if (!is_last && !is_full) continue;
        views_.push_back(std::make_shared<PieceView>(together, metric_));
        together.clear();
    }
}

std::unique_ptr<PartialGoal> PartialGoal::with_joint() const {
    if (joints_.size() == kMostJoints) return nullptr;
    // A larger table is worth more. It is worth less for each table that already covers one of its
    // views.
    std::optional<std::array<std::size_t, 2>> best;
    double most = 0;
    for (std::size_t first = 0; first < views_.size(); ++first)
        for (std::size_t second = first + 1; second < views_.size(); ++second) {
            double worth = static_cast<double>(views_[first]->size()) * views_[second]->size();
            if (worth > kMostInJoint) continue;
            for (const auto& known : joints_) {
                if (known->first == first && known->second == second) worth = 0;
                if (known->first == first || known->second == second) worth /= 2;
            }
            if (worth > most) best = {first, second};
            most = std::max(most, worth);
        }
    if (!best) return nullptr;
    auto more = std::make_unique<PartialGoal>(*this);
    more->joints_.push_back(std::make_shared<Joint>(make_joint((*best)[0], (*best)[1])));
    return more;
}

PartialGoal::Joint PartialGoal::make_joint(std::size_t first, std::size_t second) const {
    const PieceView &one = *views_[first], &other = *views_[second];
    const std::uint32_t width = other.size();
    Joint joint{first, second, std::vector(std::size_t{one.size()} * width, kUnreachable)};
    for (std::uint32_t at = 0; at < one.size(); ++at)
        for (std::uint32_t there = 0; there < width; ++there)
            if (one.distance(at) == 0 && other.distance(there) == 0)
                joint.distances[std::size_t{at} * width + there] = 0;
    const auto& generators = metric_.phase1.generators;
    fill_breadth_first(
        joint.distances, generators.size(),
        [&](std::uint32_t node, std::size_t turn) {
            const Composite composite = Composite::of(generators[turn]);
            return one.after(node / width, composite) * width +
                   other.after(node % width, composite);
        },
        [&](std::size_t turn) { return metric_.phase1.costs[turn]; }, [](std::size_t) {});
    return joint;
}

// A search for solutions of one length, depth first.
class PartialWalk {
public:
    PartialWalk(const PartialGoal& goal, const CubieCube& cube, int length,
                const Deadline& deadline, SolutionSink& sink)
        : goal_(goal), metric_(goal.metric_), length_(length), deadline_(deadline), sink_(sink) {
        for (std::size_t view = 0; view < goal.views_.size(); ++view)
            if (is_of_use(view)) used_.push_back(view);
        positions_.assign(kMostTurns + 1, std::vector<std::uint32_t>(goal.views_.size()));
        for (const std::size_t view : used_)
            positions_[0][view] = goal_.views_[view]->position_of(cube);
    }

    int bound_of_start() const {
        int bound = bound_of_joints(positions_[0]);
        for (const std::size_t view : used_)
            bound = std::max(bound, goal_.views_[view]->distance(positions_[0][view]));
        return bound;
    }

    PartialReport run() {
        if (length_ > 0)
            walk(0, length_, kStart);
        else if (bound_of_start() == 0)
            sink_.offer({}, 0);
        return {nodes_, !is_stopped_};
    }

private:
    bool is_of_use(std::size_t view) const {
        return view < goal_.complete_ || std::any_of(
                                             goal_.joints_.begin(), goal_.joints_.end(),
                                             [view](const auto& joint) {
                                                 return joint->first == view ||
                                                        joint->second == view;
                                             });
    }

    int bound_of_joints(const std::vector<std::uint32_t>& at) const {
        int bound = 0;
        for (const auto& joint : goal_.joints_) {
            const std::size_t width = goal_.views_[joint->second]->size();
            const std::uint8_t own = joint->distances[at[joint->first] * width + at[joint->second]];
            bound = std::max<int>(bound, own);
        }
        return bound;
    }

    // Makes a turn and returns the bound after it. Returns early with a bound above `limit`, which
    // may be too low.
    int turn(int depth, Composite turn, int limit) {
        int bound = 0;
        for (const std::size_t view : used_) {
            const PieceView& own = *goal_.views_[view];
            const std::uint32_t position = own.after(positions_[depth][view], turn);
            positions_[depth + 1][view] = position;
            bound = std::max(bound, own.distance(position));
            if (bound > limit) return bound;
        }
        return std::max(bound, bound_of_joints(positions_[depth + 1]));
    }

    // Returns false if the search is over.
    bool walk(int depth, int left, int state) {
        for (const Step step : metric_.phase1.next[state]) {
            const int rest = left - metric_.phase1.costs[step.generator];
            if (rest < 0) continue;
            if (++nodes_ % kNodesBetweenChecks == 0 && deadline_.has_passed()) {
                is_stopped_ = true;
                return false;
            }
            path_[depth] = metric_.phase1.generators[step.generator];
            const int bound = turn(depth, Composite::of(path_[depth]), rest);
            // A goal that is reached before the end belongs to a shorter solution.
            if (bound > rest || (bound == 0 && rest > 0)) continue;
            if (!(rest > 0 ? walk(depth + 1, rest, step.state) : offer(depth + 1))) return false;
        }
        return true;
    }

    bool offer(int turns) {
        const Composites solution = joined({path_.begin(), path_.begin() + turns});
        return sink_.offer(solution, length_) >= length_;
    }

    const PartialGoal& goal_;
    const Metric& metric_;
    int length_;
    const Deadline& deadline_;
    SolutionSink& sink_;
    std::vector<std::size_t> used_;  // views
    std::vector<std::vector<std::uint32_t>> positions_;
    std::array<std::uint8_t, kMostTurns> path_{};
    std::uint64_t nodes_ = 0;
    bool is_stopped_ = false;
};

int PartialGoal::bound(const CubieCube& cube) const {
    const Deadline forever(Deadline::kForever, {});
    Collector none({.solutions = 0, .target = 0, .on_better = {}});
    return PartialWalk(*this, cube, 0, forever, none).bound_of_start();
}

PartialReport PartialGoal::search(const CubieCube& cube, int length, const Deadline& deadline,
                                  SolutionSink& sink) const {
    return PartialWalk(*this, cube, std::min(length, kMostTurns), deadline, sink).run();
}

}  // namespace cubist
