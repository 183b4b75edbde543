#include "reduction/opening.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <unordered_set>

#include "reduction/orbit_moves.hpp"
#include "reduction/three_cycles.hpp"

namespace cubist {
namespace {

// What a centre or a wing out of place counts, and a slice that has to be turned because its wings
// are an odd exchange. Exchanges need about two thirds as many block turns; counting more makes the
// beam go on for longer before they take over, which is shorter. Measured.
constexpr float kCentre = 7.0F, kWing = 5.0F, kOddWings = 40.0F;
constexpr float kExchangeShare = 0.65F;

using Bytes = std::vector<std::uint8_t>;

// A sequence that is added as a whole: its turns, and what it does to all slots of all orbits.
struct Step {
    BlockTurns turns;
    int cost = 0;
    std::vector<std::uint16_t> from;         // by slot
    std::vector<std::uint16_t> moved;        // slots of centres whose piece changes
    std::vector<std::uint16_t> moved_wings;  // and of wings, or of what they are compared with
    std::uint32_t parities = 0;              // wing orbits whose parity changes
};

struct Position {
    Bytes pieces;
    float left = 0;              // turns, as estimated
    std::uint32_t odd = 0;       // wing orbits that are an odd exchange
    int parent = -1, step = -1;  // how it came about: a position of all, a step
    int cost = 0;
};

class Opening {
public:
    Opening(const Geometry& geometry, const OpeningOptions& options,
            const std::function<bool(double)>& progress)
        : geometry_(geometry), size_(geometry.size()), options_(options), progress_(progress) {
        find_slots();
        find_steps();
    }

    std::vector<OpenedReduction> run(const Colours& stickers) {
        layers_.resize(kLongest);
        Colours renamed = stickers;
        name_by_faces(geometry_, renamed);
        Position start;
        start.pieces = pieces_of(renamed);
        start.odd = odd_orbits(start.pieces);
        start.left = estimate(start);
        layers_[0].push_back(std::move(start));
        search();
        return finished(stickers);
    }

private:
    // Slots are numbered centre orbits first, then wings, then middle edges of odd cubes.
    void find_slots() {
        const int first = size_ % 2 == 0 ? 1 : 0;
        for (int row = first; row <= size_ - 3; row += 2)
            for (int column = first == 0 ? 2 : 1; column <= size_ - 3; column += 2)
                add_slots(geometry_.centre_slots(row, column));
        centres_ = firsts_.size();
        for (int offset = size_ - 3; offset >= 0; offset -= 2) {
            add_slots(geometry_.wing_slots(offset));
            const auto seconds = geometry_.wing_seconds(offset);
            seconds_.insert(seconds_.end(), seconds.begin(), seconds.end());
        }
        // Wings are compared with middle edges, or with the innermost wings.
        reference_ = firsts_.size() - kOrbit;
        for (int wing = 0; wing < kOrbit; ++wing)
            mates_[wing] = static_cast<std::uint8_t>(mate(wing));
    }

    void add_slots(const std::vector<int>& slots) {
        firsts_.insert(firsts_.end(), slots.begin(), slots.end());
    }

    void find_steps() {
        BlockTurns blocks, faces;
        for (int face = 0; face < kFaces; ++face)
            for (int last = 1; last <= size_ / 2; ++last)
                for (int quarters = 1; quarters < 4; ++quarters) {
                    if (2 * last == size_ && face >= 3) continue;  // the other half turned back
                    const BlockTurn turn{static_cast<std::uint8_t>(face), 1,
                                         static_cast<std::uint8_t>(last),
                                         static_cast<std::uint8_t>(quarters)};
                    blocks.push_back(turn);
                    if (last == 1) faces.push_back(turn);
                }
        for (const BlockTurn block : blocks) add_step({block});
        for (const BlockTurn a : blocks)
            for (const BlockTurn b : faces) {
                if (a.axis() == b.axis()) continue;
                if (a.last > 1) {
                    add_step({a, b, a.inverse()});
                    add_step({b, a, b.inverse()});
                    add_step({a, b, a.inverse(), b.inverse()});
                }
            }
        for (const BlockTurn a : blocks)  // an inner slice through a face, and the other way round
            if (a.last > 1)
                for (const BlockTurn b : faces)
                    if (a.axis() != b.axis()) {
                        BlockTurn outer = a.inverse();
                        outer.last = static_cast<std::uint8_t>(a.last - 1);
                        add_step({a, outer, b, outer.inverse(), a.inverse()});
                    }
        add_exchanges();
    }

    // Exchanges of three, the cheaper ones: towards the end there is nothing shorter.
    void add_exchanges() {
        const int first = size_ % 2 == 0 ? 1 : 0;
        for (int row = first; row <= size_ - 3; row += 2)
            for (int column = first == 0 ? 2 : 1; column <= size_ - 3; column += 2)
                add_exchanges(ThreeCycles::of(row == column ? OrbitKind::kDiagonal
                                              : row == 0    ? OrbitKind::kMiddle
                                                            : OrbitKind::kOblique),
                              row, column);
        for (int offset = size_ - 3; offset > 0; offset -= 2)
            add_exchanges(ThreeCycles::of(OrbitKind::kWing), offset, 0);
    }

    void add_exchanges(const ThreeCycles& cycles, int row, int column) {
        for (const ThreeCycle& cycle : cycles.all()) {
            if (cycle.cost > kMostCost) continue;
            BlockTurns turns;
            cycles.append(turns, cycle, geometry_, row, column);
            add_step(turns);
        }
    }

    void add_step(const BlockTurns& turns) {
        Step step;
        step.turns = turns;
        step.cost = block_turn_count(joined(turns, size_), size_);
        std::vector<std::uint16_t> stickers(geometry_.stickers());
        for (std::size_t at = 0; at < stickers.size(); ++at)
            stickers[at] = static_cast<std::uint16_t>(at);
        geometry_.turn(turns, stickers);
        std::vector<std::uint16_t> slot_of(stickers.size());
        for (std::size_t slot = 0; slot < firsts_.size(); ++slot)
            slot_of[firsts_[slot]] = static_cast<std::uint16_t>(slot);
        for (const int first : firsts_) step.from.push_back(slot_of[stickers[first]]);
        for (std::size_t slot = 0; slot < centres_; ++slot)
            if (step.from[slot] / 4 != slot / 4)
                step.moved.push_back(static_cast<std::uint16_t>(slot));
        for (std::size_t slot = centres_; slot < firsts_.size(); ++slot)
            if (step.from[slot] != slot || step.from[compared(slot)] != compared(slot))
                step.moved_wings.push_back(static_cast<std::uint16_t>(slot));
        for (std::size_t orbit = centres_ / kOrbit; orbit < firsts_.size() / kOrbit; ++orbit) {
            std::array<std::uint8_t, kOrbit> own{};
            for (int k = 0; k < kOrbit; ++k)
                own[k] = static_cast<std::uint8_t>(step.from[orbit * kOrbit + k] - orbit * kOrbit);
            if (is_odd(own)) step.parities |= 1U << orbit;
        }
        steps_.push_back(std::move(step));
    }

    static int mate(int wing) {
        const auto& pairs = wing_faces();
        int other = 0;
        while (pairs[other][0] != pairs[wing][1] || pairs[other][1] != pairs[wing][0]) ++other;
        return other;
    }

    // With which slot a wing's is compared: the same place nearer to the middle, or its mate's.
    std::size_t compared(std::size_t slot) const {
        const std::size_t place = slot % kOrbit;
        return reference_ + (slot >= reference_ && size_ % 2 == 0 ? mates_[place] : place);
    }

    // Whether a wing agrees with what it is compared with; `piece` and `other` stand there.
    bool agrees(std::size_t slot, std::uint8_t piece, std::uint8_t other) const {
        return slot >= reference_ && size_ % 2 == 0 ? piece == mates_[other] : piece == other;
    }

    Bytes pieces_of(const Colours& stickers) const {
        std::array<std::array<std::uint8_t, kFaces>, kFaces> number{};
        for (int wing = 0; wing < kOrbit; ++wing)
            number[wing_faces()[wing][0]][wing_faces()[wing][1]] = static_cast<std::uint8_t>(wing);
        Bytes pieces;
        for (std::size_t slot = 0; slot < firsts_.size(); ++slot)
            pieces.push_back(
                slot < centres_
                    ? stickers[firsts_[slot]]
                    : number[stickers[firsts_[slot]]][stickers[seconds_[slot - centres_]]]);
        return pieces;
    }

    std::uint32_t odd_orbits(const Bytes& pieces) const {
        std::uint32_t odd = 0;
        for (std::size_t orbit = centres_ / kOrbit; orbit < firsts_.size() / kOrbit; ++orbit) {
            std::array<std::uint8_t, kOrbit> own{};
            std::copy_n(pieces.begin() + static_cast<std::ptrdiff_t>(orbit * kOrbit), kOrbit,
                        own.begin());
            if (is_odd(own)) odd |= 1U << orbit;
        }
        return odd;
    }

    float estimate(const Position& at) const {
        float left = kOddWings * static_cast<float>(std::popcount(at.odd));
        for (std::size_t slot = 0; slot < centres_; ++slot)
            left += at.pieces[slot] == slot % kOrbit / 4 ? 0 : kCentre;
        for (std::size_t slot = centres_; slot < firsts_.size(); ++slot)
            left += agrees(slot, at.pieces[slot], at.pieces[compared(slot)]) ? 0 : kWing;
        return left;
    }

    float estimate_after(const Position& at, const Step& step) const {
        int centres = 0, wings = 0;
        const std::uint8_t* const pieces = at.pieces.data();
        for (const std::uint16_t slot : step.moved) {
            const auto wanted = static_cast<std::uint8_t>(slot % kOrbit / 4);
            centres += (pieces[slot] == wanted) - (pieces[step.from[slot]] == wanted);
        }
        for (const std::uint16_t slot : step.moved_wings) {
            const std::size_t other = compared(slot);
            wings += agrees(slot, pieces[slot], pieces[other]) -
                     agrees(slot, pieces[step.from[slot]], pieces[step.from[other]]);
        }
        const int odd = std::popcount(at.odd ^ step.parities) - std::popcount(at.odd);
        return at.left + kCentre * static_cast<float>(centres) + kWing * static_cast<float>(wings) +
               kOddWings * static_cast<float>(odd);
    }

    static std::uint64_t hash(const Bytes& pieces) {
        std::uint64_t hash = 0xCBF29CE484222325;
        for (const std::uint8_t piece : pieces) hash = (hash ^ piece) * 0x100000001B3;
        return hash;
    }

    // --- The beam ---

    struct Child {
        float left;
        int parent, step;
    };

    void search() {
        const Deadline deadline(options_.time_limit, {options_.cancel});
        float best = layers_[0].front().left;
        std::vector<std::vector<Child>> children(kLongest);
        for (int cost = 0, last = 0; cost <= last && cost < kLongest - kMostCost; ++cost) {
            if (cost > 0) settle(cost, children[cost]);
            for (const Position& at : layers_[cost]) {
                all_.push_back(&at);
                best = std::min(best, at.left + static_cast<float>(cost));
                const int number = static_cast<int>(all_.size()) - 1;
                for (std::size_t s = 0; s < steps_.size(); ++s) {
                    const float left = estimate_after(at, steps_[s]);
                    const int then = cost + steps_[s].cost;
                    if (left + static_cast<float>(then) > best + kSlack) continue;
                    children[then].push_back({left, number, static_cast<int>(s)});
                    if (children[then].size() > 64 * options_.width) cut(children[then]);
                    last = std::max(last, then);
                }
            }
            const double share = static_cast<double>(cost) / (last + 1);
            if (deadline.has_passed() || !progress_(share)) break;
        }
    }

    void cut(std::vector<Child>& children) const {
        const auto keep = static_cast<std::ptrdiff_t>(8 * options_.width);
        std::nth_element(children.begin(), children.begin() + keep, children.end(),
                         [](const Child& a, const Child& b) { return a.left < b.left; });
        children.resize(static_cast<std::size_t>(keep));
    }

    // The best different positions among the children.
    void settle(int cost, std::vector<Child>& children) {
        std::sort(children.begin(), children.end(),
                  [](const Child& a, const Child& b) { return a.left < b.left; });
        std::unordered_set<std::uint64_t> known;
        for (const Child& child : children) {
            if (layers_[cost].size() >= options_.width) break;
            const Position& from = *all_[child.parent];
            const Step& step = steps_[child.step];
            Position next;
            next.pieces.resize(from.pieces.size());
            for (std::size_t slot = 0; slot < next.pieces.size(); ++slot)
                next.pieces[slot] = from.pieces[step.from[slot]];
            if (!known.insert(hash(next.pieces)).second) continue;
            next.left = child.left;
            next.odd = from.odd ^ step.parities;
            next.parent = child.parent;
            next.step = child.step;
            next.cost = cost;
            layers_[cost].push_back(std::move(next));
        }
        std::vector<Child>().swap(children);
    }

    // --- What is left, by exchanges ---

    std::vector<OpenedReduction> finished(const Colours& stickers) const {
        // Half of them as if exchanges were as long as they count, half for what they are at best.
        std::vector<const Position*> ends;
        for (const float share : {1.0F, kExchangeShare}) {
            std::vector<const Position*> ranked = all_;
            const auto total = [&](const Position* at) {
                return static_cast<float>(at->cost) + share * at->left;
            };
            std::stable_sort(
                ranked.begin(), ranked.end(),
                [&](const Position* a, const Position* b) { return total(a) < total(b); });
            const std::size_t count = std::min(ranked.size(), options_.count / 2 + 1);
            ends.insert(ends.end(), ranked.begin(),
                        ranked.begin() + static_cast<std::ptrdiff_t>(count));
        }
        std::vector<OpenedReduction> found;
        for (const Position* end : ends) {
            OpenedReduction one;
            one.opening = turns_to(*end);
            Colours after = stickers;
            geometry_.turn(one.opening, after);
            if (!finish_reduction(geometry_, after, [](double) { return true; }, one.finish)) break;
            for (const BlockTurns* part :
                 {&one.opening, &one.finish.parity, &one.finish.centres, &one.finish.edges})
                one.length += block_turn_count(*part, size_);
            found.push_back(std::move(one));
        }
        std::stable_sort(
            found.begin(), found.end(),
            [](const OpenedReduction& a, const OpenedReduction& b) { return a.length < b.length; });
        return found;
    }

    BlockTurns turns_to(const Position& end) const {
        std::vector<int> steps;
        for (const Position* at = &end; at->parent >= 0; at = all_[at->parent])
            steps.push_back(at->step);
        BlockTurns turns;
        for (std::size_t i = steps.size(); i-- > 0;)
            turns.insert(turns.end(), steps_[steps[i]].turns.begin(), steps_[steps[i]].turns.end());
        return joined(turns, size_);
    }

    static constexpr int kLongest = 1000, kMostCost = 14;
    static constexpr float kSlack = 60.0F;

    const Geometry& geometry_;
    int size_;
    OpeningOptions options_;
    const std::function<bool(double)>& progress_;
    std::vector<int> firsts_, seconds_;
    std::size_t centres_ = 0, reference_ = 0;
    std::array<std::uint8_t, kOrbit> mates_{};
    std::vector<Step> steps_;
    std::vector<std::vector<Position>> layers_;  // by cost
    std::vector<const Position*> all_;
};

}  // namespace

std::vector<OpenedReduction> reduce_by_opening(const Geometry& geometry, const Colours& stickers,
                                               const OpeningOptions& options,
                                               const std::function<bool(double)>& progress) {
    return Opening(geometry, options, progress).run(stickers);
}

}  // namespace cubist
