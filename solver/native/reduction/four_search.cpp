#include <algorithm>
#include <stdexcept>

#include "reduction/deepening.hpp"
#include "reduction/reductions.hpp"

namespace cubist {
namespace {

constexpr int kAreaOfFour = 16;
using Orbit = std::array<std::uint8_t, kOrbit>;

// A cube of 4 layers as the colours of its centres and its wings.
struct FourState {
    Orbit centres, wings;
    int corner_parity = 0;
};

// A way to hold the cube, an axis of colours, and the turns since.
struct Candidate {
    int start = 0;  // number of the start
    FourState state;
    std::vector<std::uint8_t> turns1, turns2;
    int cost = 0;   // turns so far, or their time
    int bound = 0;  // cost plus the least that the next phase needs
};

struct Start {
    std::array<int, kFaces> face_of;  // face of the given cube, by face of the held one
    int axis;                         // of the colours that go to R and L
    FourState state;
};

class FourSearch {
public:
    FourSearch(const FourTables& tables, const ReductionOptions& options)
        : tables_(tables), pairing_(tables.pairing()), options_(options) {
        if (options_.times == nullptr) return;
        for (int phase = 1; phase <= 3; ++phase)
            turn_costs_[phase - 1] = options_.times->mean(tables_.turns(phase).turns);
    }

    std::vector<Reduction> run(const Colours& stickers) {
        make_starts(stickers);
        phase1();
        phase2();
        phase3();
        if (options_.times != nullptr) sort_by_time();
        return std::move(reductions_);
    }

private:
    void make_starts(const Colours& stickers) {
        // Any of the three axes may be held as R and L.
        const std::array<BlockTurns, 3> holdings{{{}, {{U, 1, 4, 1}}, {{F, 1, 4, 1}}}};
        for (const BlockTurns& held : holdings) {
            Colours turned = stickers, solved(stickers.size());
            for (std::size_t at = 0; at < solved.size(); ++at)
                solved[at] = static_cast<std::uint8_t>(at / kAreaOfFour);
            tables_.geometry().turn(held, turned);
            tables_.geometry().turn(held, solved);
            Start start;
            for (int face = 0; face < kFaces; ++face)
                start.face_of[face] = solved[face * kAreaOfFour];
            start.state = state_of(turned);
            for (start.axis = 0; start.axis < 3; ++start.axis) starts_.push_back(start);
        }
    }

    FourState state_of(const Colours& stickers) const {
        const Geometry& geometry = tables_.geometry();
        FourState state;
        const auto centres = geometry.centre_slots(1, 1);
        const auto firsts = geometry.wing_slots(1), seconds = geometry.wing_seconds(1);
        for (int slot = 0; slot < kOrbit; ++slot) {
            state.centres[slot] = stickers[centres[slot]];
            const int wing = wing_number(stickers[firsts[slot]], stickers[seconds[slot]]);
            state.wings[slot] = static_cast<std::uint8_t>(wing);
        }
        state.corner_parity = corners_are_odd(geometry, stickers);
        return state;
    }

    void apply(FourState& state, int phase, std::span<const std::uint8_t> turns) const {
        const PhaseTurns& known = tables_.turns(phase);
        for (const std::uint8_t turn : turns) {
            state.centres = moved(state.centres, known.centres[turn]);
            state.wings = moved(state.wings, known.wings[turn]);
            state.corner_parity ^= known.corner_parity[turn];
        }
    }

    static Mask axis_mask(const Orbit& centres, int axis) {
        return mask_of(centres, [&](int colour) { return colour % 3 == axis; });
    }

    // --- Costs: turns, or time; a future turn counts as an average one ---

    int turn_cost(int phase) const { return turn_costs_[phase - 1]; }

    int cost_of(const Candidate& candidate) const {
        if (options_.times == nullptr)
            return static_cast<int>(candidate.turns1.size() + candidate.turns2.size());
        return options_.times->least(holding_of(candidate), turns_of(candidate));
    }

    BlockTurns turns_of(const Candidate& candidate) const {
        BlockTurns turns;
        for (const std::uint8_t turn : candidate.turns1)
            turns.push_back(tables_.turns(1).turns[turn]);
        for (const std::uint8_t turn : candidate.turns2)
            turns.push_back(tables_.turns(2).turns[turn]);
        return turns;
    }

    int holding_of(const Candidate& candidate) const {
        const auto& faces = starts_[candidate.start].face_of;
        return BlockTimes::holding(faces[U], faces[F]);
    }

    // The number of ends from which to choose the best.
    std::size_t choice(std::size_t turns, std::size_t time) const {
        return options_.times == nullptr ? turns : time;
    }

    EndOptions ends_wanted(std::size_t count) const {
        return {.wanted = count, .threads = options_.threads, .cancel = options_.cancel};
    }

    static int last_of(const std::vector<std::uint8_t>& path) {
        return path.empty() ? -1 : path.back();
    }

    // --- Phase 1 ---

    using Candidates = EndWalker<Candidate>;

    void phase1() {
        std::vector<MaskMove> moves;
        for (const OrbitMove& move : tables_.turns(1).centres) moves.emplace_back(move);
        const std::size_t enough = choice(kEnough1, kEnough1Timed);
        const std::size_t most = choice(kMost1, kMost1Timed);
        for (int length = 0; candidates_.size() < enough && length <= kLongest1; ++length) {
            const std::size_t room = most - candidates_.size();
            const std::size_t of_each =
                options_.times == nullptr ? room : std::max<std::size_t>(1, room / starts_.size());
            Deepening tasks(std::vector<int>(starts_.size(), length), 1, length);
            auto found = find_ends<Candidate>(
                ends_wanted(room), tasks, [&](Candidates& walker, const Deepening::Task& task) {
                    const Start& start = starts_[task.start];
                    walk1(walker, moves, axis_mask(start.state.centres, start.axis), task, length,
                          of_each);
                });
            if (found.size() > room) found.resize(room);
            std::move(found.begin(), found.end(), std::back_inserter(candidates_));
        }
        keep_best(choice(kEnds1, kEnds1Timed));
    }

    void walk1(Candidates& walker, const std::vector<MaskMove>& moves, Mask mask,
               const Deepening::Task& task, int left, std::size_t most) const {
        if (tables_.distance1(mask) > left) return;
        if (walker.must_stop() || walker.in_task() >= most) return;
        if (left == 0) return walker.add(end1(static_cast<int>(task.start), walker.path));
        const PhaseTurns& known = tables_.turns(1);
        for (std::size_t t = 0; t < known.size(); ++t) {
            if (!known.may_follow(last_of(walker.path), static_cast<int>(t))) continue;
            walker.path.push_back(static_cast<std::uint8_t>(t));
            walk1(walker, moves, moves[t](mask), task, left - 1, most);
            walker.path.pop_back();
        }
    }

    Candidate end1(int start, const std::vector<std::uint8_t>& path) const {
        Candidate candidate;
        candidate.start = start;
        candidate.state = starts_[start].state;
        candidate.turns1 = path;
        apply(candidate.state, 1, path);
        candidate.cost = cost_of(candidate);
        candidate.bound = candidate.cost + turn_cost(2) * tables_.distance2(state2(candidate));
        return candidate;
    }

    FourTables::State2 state2(const Candidate& candidate) const {
        const int axis = starts_[candidate.start].axis;
        const Orbit& centres = candidate.state.centres;
        const Mask right = mask_of(centres, [&](int colour) { return colour == axis; });
        return tables_.state2(axis_mask(centres, (axis + 1) % 3), right,
                              is_odd(candidate.state.wings));
    }

    void keep_best(std::size_t count) {
        std::stable_sort(candidates_.begin(), candidates_.end(),
                         [](const Candidate& a, const Candidate& b) { return a.bound < b.bound; });
        if (candidates_.size() > count) candidates_.resize(count);
    }

    // --- Phase 2 ---

    void phase2() {
        const std::vector<Candidate> starts = std::move(candidates_);
        EndOptions wanted = ends_wanted(choice(1, kChoice2) * options_.candidates);
        wanted.deadline = deadline2_;
        Deepening tasks(bounds_of(starts), turn_cost(2));
        candidates_ = find_ends<Candidate>(
            wanted, tasks, [&](Candidates& walker, const Deepening::Task& task) {
                const Candidate& from = starts[task.start];
                walk2(walker, from, state2(from), (task.limit - from.cost) / turn_cost(2));
            });
        if (candidates_.size() > wanted.wanted) candidates_.resize(wanted.wanted);
        for (Candidate& one : candidates_) {
            one.cost = cost_of(one);
            one.bound = one.cost + turn_cost(3) * bound3(one);
        }
        keep_best(options_.candidates);
    }

    static std::vector<int> bounds_of(const std::vector<Candidate>& starts) {
        std::vector<int> bounds;
        bounds.reserve(starts.size());
        for (const Candidate& one : starts) bounds.push_back(one.bound);
        return bounds;
    }

    void walk2(Candidates& walker, const Candidate& from, FourTables::State2 at, int left) const {
        if (tables_.distance2(at) > left || walker.must_stop()) return;
        if (left == 0) return end2(walker, from);
        const PhaseTurns& known = tables_.turns(2);
        for (std::size_t t = 0; t < known.size(); ++t) {
            if (!known.may_follow(last_of(walker.path), static_cast<int>(t))) continue;
            walker.path.push_back(static_cast<std::uint8_t>(t));
            walk2(walker, from, tables_.moved2(at, static_cast<int>(t)), left - 1);
            walker.path.pop_back();
        }
    }

    // Returns whether the two wings of every edge are in different half orbits, and an even number
    // of edges have them exchanged (flipped edges). About one end in a thousand passes.
    bool can_be_paired(const Orbit& wings) const {
        Mask low = 0;  // the wings in low slots
        for (int slot = 0; slot < kOrbit; ++slot)
            low |= (tables_.frame().low() >> slot & 1) << wings[slot];
        int flips = 0;
        for (int wing = 0; wing < kOrbit; ++wing) {
            const bool is_low = (low >> wing & 1) != 0;
            if (is_low == ((low >> mates_[wing] & 1) != 0)) return false;
            flips += is_low && (tables_.frame().low() >> wing & 1) == 0;
        }
        return flips % 2 == 0;
    }

    void end2(Candidates& walker, const Candidate& from) const {
        Orbit wings = from.state.wings;
        for (const std::uint8_t turn : walker.path)
            wings = moved(wings, tables_.turns(2).wings[turn]);
        if (!can_be_paired(wings)) return;
        Candidate candidate = from;
        apply(candidate.state, 2, walker.path);
        candidate.turns2 = walker.path;
        walker.add(std::move(candidate));
    }

    // --- Phase 3 ---

    // The rest of a candidate, named so that the centres are solved if each axis has its two
    // colours.
    struct Start3 {
        FourTables::State3 centres;
        EdgeMap sigma;
    };

    Start3 start3(const Candidate& candidate) const {
        const auto scheme = scheme_of(candidate);
        std::array<std::uint8_t, kFaces> face_of{};
        for (int face = 0; face < kFaces; ++face)
            face_of[scheme[face]] = static_cast<std::uint8_t>(face);
        std::array<Mask, 3> masks{};
        for (int axis = 0; axis < 3; ++axis)
            masks[axis] = mask_of(candidate.state.centres,
                                  [&](int colour) { return colour == scheme[axis]; });
        // The wings by the edges they belong to in that scheme.
        const auto edge_of_piece = [&](int wing) {
            const auto [first, second] = wing_faces()[wing];
            const std::array<int, 2> home{face_of[first], face_of[second]};
            const auto& edges = tables_.frame().edges();
            for (std::uint8_t edge = 0; edge < kEdges; ++edge)
                for (const int slot : edges[edge])
                    if (wing_faces()[slot] == home) return edge;
            throw std::invalid_argument("not the stickers of a cube");
        };
        EdgeMap low{}, place_of_high{};
        for (std::uint8_t edge = 0; edge < kEdges; ++edge) {
            const auto [low_slot, high_slot] = tables_.frame().edges()[edge];
            low[edge] = edge_of_piece(candidate.state.wings[low_slot]);
            place_of_high[edge_of_piece(candidate.state.wings[high_slot])] = edge;
        }
        Start3 start;
        for (int edge = 0; edge < kEdges; ++edge) start.sigma[edge] = place_of_high[low[edge]];
        const int parity = is_odd(low) ^ candidate.state.corner_parity;
        start.centres = tables_.state3(masks, parity);
        return start;
    }

    // Assigns colours to faces: on each axis, either colour may go to either face.
    std::array<int, kFaces> scheme_of(const Candidate& candidate) const {
        const Orbit& centres = candidate.state.centres;
        std::array<int, kFaces> scheme{};
        // The axes are known already; the third face follows from the sense of rotation.
        scheme[U] = centres[4 * U] % 3;
        scheme[F] = centres[4 * F] % 3;
        const Place right = cross(normal_of(scheme[U]), normal_of(scheme[F]));
        for (int face = 0; face < kFaces; ++face)
            if (normal_of(face) == right) scheme[R] = face;
        for (int face = 0; face < 3; ++face) scheme[face + 3] = opposite(scheme[face]);
        return scheme;
    }

    int bound3(const Candidate& candidate) const {
        const Start3 start = start3(candidate);
        return std::max(tables_.distance3(start.centres), pairing_.distance(start.sigma));
    }

    using Reductions = EndWalker<Reduction>;

    void phase3() {
        if (candidates_.empty()) return;
        EndOptions wanted = ends_wanted(options_.reductions);
        wanted.deadline = deadline_;
        wanted.most_hurry = kMostHurry;
        wanted.more_time = kMoreTime * options_.time_limit;
        Deepening tasks(bounds_of(candidates_), turn_cost(3));
        reductions_ = find_ends<Reduction>(
            wanted, tasks, [&](Reductions& walker, const Deepening::Task& task) {
                const Candidate& from = candidates_[task.start];
                const Start3 start = start3(from);
                walk3(walker, from, start, pairing_.distance(start.sigma),
                      (task.limit - from.cost) / turn_cost(3));
            });
        if (reductions_.size() > options_.reductions) reductions_.resize(options_.reductions);
    }

    void walk3(Reductions& walker, const Candidate& from, const Start3& at, int far,
               int left) const {
        const bool is_end = far == 0 && tables_.distance3(at.centres) == 0;
        if (left == 0) {
            if (is_end && !ends_outside(walker.path)) walker.add(end3(from, walker.path));
            return;
        }
        if (is_end || walker.must_stop()) return;
        const PhaseTurns& known = tables_.turns(3);
        for (std::size_t t = 0; t < known.size(); ++t) {
            const int turn = static_cast<int>(t);
            if (!known.may_follow(last_of(walker.path), turn)) continue;
            Start3 next;
            next.centres = tables_.moved3(at.centres, turn);
            if (tables_.distance3(next.centres) >= left) continue;
            next.sigma = tables_.frame().moved(at.sigma, turn);
            const int next_far = pairing_.distance_near(next.sigma, far);
            if (next_far + (next_far < kSure ? 0 : walker.hurry()) >= left) continue;
            walker.path.push_back(static_cast<std::uint8_t>(t));
            walk3(walker, from, next, next_far, left - 1);
            walker.path.pop_back();
        }
    }

    // Returns whether the last turns are face turns. The solution of the 3x3x3 may as well begin
    // with them.
    bool ends_outside(const std::vector<std::uint8_t>& path) const {
        const BlockTurns& turns = tables_.turns(3).turns;
        for (auto turn = path.rbegin(); turn != path.rend(); ++turn) {
            if (turns[*turn].axis() != turns[path.back()].axis()) return false;
            if (turns[*turn].last == 1) return true;
        }
        return false;
    }

    Reduction end3(const Candidate& from, const std::vector<std::uint8_t>& path) const {
        Reduction found;
        const auto add = [&](int phase, std::span<const std::uint8_t> turns) {
            BlockTurns all;
            for (const std::uint8_t turn : turns) {
                BlockTurn one = tables_.turns(phase).turns[turn];
                one.face = static_cast<std::uint8_t>(starts_[from.start].face_of[one.face]);
                all.push_back(one);
            }
            found.phases.push_back(all);
        };
        add(1, from.turns1);
        add(2, from.turns2);
        add(3, path);
        if (options_.times != nullptr) {
            BlockTurns held = turns_of(from);
            for (const std::uint8_t turn : path) held.push_back(tables_.turns(3).turns[turn]);
            found.time = options_.times->least(holding_of(from), held);
        }
        return found;
    }

    void sort_by_time() {
        std::stable_sort(reductions_.begin(), reductions_.end(),
                         [](const Reduction& a, const Reduction& b) { return a.time < b.time; });
    }

    static std::array<std::uint8_t, kOrbit> all_mates() {
        std::array<std::uint8_t, kOrbit> mates{};
        const auto& pairs = wing_faces();
        for (int wing = 0; wing < kOrbit; ++wing)
            for (int other = 0; other < kOrbit; ++other)
                if (pairs[wing][0] == pairs[other][1] && pairs[wing][1] == pairs[other][0])
                    mates[wing] = static_cast<std::uint8_t>(other);
        return mates;
    }

    static constexpr std::size_t kEnough1 = 2000, kMost1 = 10'000, kEnds1 = 500;
    // If time counts, the ends of each phase differ more, so more of them are compared.
    static constexpr std::size_t kEnough1Timed = 40'000, kMost1Timed = 100'000, kEnds1Timed = 5000;
    static constexpr std::size_t kChoice2 = 8;
    static constexpr int kLongest1 = 12;
    static constexpr int kMostHurry = 3;
    static constexpr int kSure = 5;           // turns up to which the tables are nearly exact
    static constexpr double kMoreTime = 0.2;  // until `hurry` rises, as a share of the limit
    static constexpr double kShareOfPhase2 = 0.4;

    const FourTables& tables_;
    const PairingTable& pairing_;
    ReductionOptions options_;
    Deadline deadline2_{kShareOfPhase2 * options_.time_limit, {}};
    Deadline deadline_{options_.time_limit, {}};
    const std::array<std::uint8_t, kOrbit> mates_ = all_mates();
    std::vector<Start> starts_;
    std::array<int, 3> turn_costs_{1, 1, 1};
    std::vector<Candidate> candidates_;
    std::vector<Reduction> reductions_;
};

}  // namespace

std::vector<Reduction> reduce_four(const FourTables& tables, const Colours& stickers,
                                   const ReductionOptions& options) {
    return FourSearch(tables, options).run(stickers);
}

}  // namespace cubist
