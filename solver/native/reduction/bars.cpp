#include "reduction/bars.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>

#include "reduction/orbit_moves.hpp"
#include "reduction/three_cycles.hpp"

namespace cubist {
namespace {

constexpr int kMostParts = 3;
constexpr int kLayer = 2;  // which the core does not notice
constexpr int kCoreWidth = 3;
// Exchanges that are put in to see what they cost.
constexpr std::size_t kTried = 300;

using Orbit = std::array<std::uint8_t, kOrbit>;
using Bars = std::array<Orbit, kMostParts>;  // by part and bar: colours
using BarMove = std::array<OrbitMove, kMostParts>;

// Centres of an orbit, numbered by the bars that they are in.
struct Part {
    OrbitKind kind;
    int row, column;             // as ThreeCycles names the orbit
    std::vector<int> slots;      // stickers by bar
    std::array<int, kOrbit> of;  // bars by the slots of ThreeCycles
};

Part part_of(const Geometry& geometry, OrbitKind kind, int row, int column, bool is_first) {
    Part part{kind, row, column, std::vector<int>(kOrbit), {}};
    const auto slots = geometry.centre_slots(row, column);
    for (int slot = 0; slot < kOrbit; ++slot) {
        // Where the row is the nearer one to the middle, the next slot is beside the same side.
        const int bar = is_first ? slot : slot / 4 * 4 + (slot + 3) % 4;
        part.of[slot] = bar;
        part.slots[bar] = slots[slot];
    }
    return part;
}

std::vector<Part> parts_of(const Geometry& geometry) {
    const int outer = geometry.coordinate(kLayer), inner = geometry.coordinate(kCoreWidth);
    std::vector<Part> parts{part_of(geometry, OrbitKind::kOblique, outer, inner, true),
                            part_of(geometry, OrbitKind::kOblique, inner, outer, false)};
    if (geometry.size() % 2 == 1)
        parts.push_back(part_of(geometry, OrbitKind::kMiddle, 0, outer, false));
    return parts;
}

// How a core's reduction becomes one that also pairs the bars of a cube.
class BarPairing {
public:
    BarPairing(const Geometry& geometry, const Colours& stickers)
        : geometry_(geometry), parts_(parts_of(geometry)) {
        for (std::size_t p = 0; p < parts_.size(); ++p)
            for (int bar = 0; bar < kOrbit; ++bar) given_[p][bar] = stickers[parts_[p].slots[bar]];
        extras_.push_back({});
        extra_moves_.push_back(identity());
        for (std::uint8_t face = 0; face < kFaces; ++face)
            for (std::uint8_t quarters = 1; quarters < 4; ++quarters) {
                extras_.push_back({face, kLayer, kLayer, quarters});
                extra_moves_.push_back(move_of(extras_.back()));
            }
    }

    BlockTurns run(const BlockTurns& core, double seconds, std::uint32_t seed) {
        BlockTurns turns = annealed(core, seconds, seed);
        while (exchange(turns)) {
        }
        return joined(turns, geometry_.size());
    }

private:
    BarMove move_of(BlockTurn turn) const {
        BarMove move{};
        for (std::size_t p = 0; p < parts_.size(); ++p)
            move[p] = orbit_move(geometry_, turn, parts_[p].slots);
        return move;
    }

    static BarMove identity() {
        BarMove move{};
        for (OrbitMove& part : move)
            for (int bar = 0; bar < kOrbit; ++bar) part[bar] = static_cast<std::uint8_t>(bar);
        return move;
    }

    void apply(Bars& bars, const BarMove& move) const {
        for (std::size_t p = 0; p < parts_.size(); ++p) bars[p] = moved(bars[p], move[p]);
    }

    // First one, then the other.
    BarMove both(const BarMove& one, const BarMove& other) const {
        BarMove result = one;
        for (std::size_t p = 0; p < parts_.size(); ++p) result[p] = moved(one[p], other[p]);
        return result;
    }

    // Centres that would have to be exchanged for the bar to have one colour.
    static int wrong(int a, int b, int c) {
        if (a == b) return a != c;
        return a == c || b == c ? 1 : 2;
    }
    int wrong_at(const Bars& bars, int bar) const {
        return parts_.size() == 2 ? bars[0][bar] != bars[1][bar]
                                  : wrong(bars[0][bar], bars[1][bar], bars[2][bar]);
    }
    int wrong_in(const Bars& bars) const {
        int count = 0;
        for (int bar = 0; bar < kOrbit; ++bar) count += wrong_at(bars, bar);
        return count;
    }
    // The same after turns of layer 2 and what follows them.
    int wrong_after(const Bars& bars, const BarMove& extra, const BarMove& rest) const {
        int count = 0;
        if (parts_.size() == 2) {
            for (int bar = 0; bar < kOrbit; ++bar)
                count += bars[0][extra[0][rest[0][bar]]] != bars[1][extra[1][rest[1][bar]]];
        } else {
            for (int bar = 0; bar < kOrbit; ++bar)
                count += wrong(bars[0][extra[0][rest[0][bar]]], bars[1][extra[1][rest[1][bar]]],
                               bars[2][extra[2][rest[2][bar]]]);
        }
        return count;
    }

    // Turns that a turn of layer 2 adds between two of the core.
    int cost_of(int extra, const BlockTurns& core, std::size_t before) const {
        if (extra == 0) return 0;
        int cost = 2;
        const BlockTurn turn = extras_[extra];
        for (std::size_t at = before; at < std::min(before + 2, core.size()); ++at)
            if (core[at].last == 1 && core[at].face == turn.face)
                cost = std::min(cost, core[at].quarters == turn.quarters ? 0 : 1);
        return cost;
    }

    // The core's turns with turns of layer 2 among them.
    BlockTurns annealed(const BlockTurns& core, double seconds, std::uint32_t seed) {
        const std::size_t count = core.size();
        std::vector<BarMove> moves;
        for (const BlockTurn turn : core) moves.push_back(move_of(turn));
        std::vector<std::vector<int>> costs(count);
        for (std::size_t at = 0; at < count; ++at)
            for (std::size_t extra = 0; extra < extras_.size(); ++extra)
                costs[at].push_back(cost_of(static_cast<int>(extra), core, at));
        std::vector<std::uint8_t> chosen(count, 0), best = chosen;
        std::vector<BarMove> rest(count + 1, identity());
        double least = 1e9;
        std::mt19937 random(seed);
        const int sweeps = std::max(20, static_cast<int>(seconds * kSweepsASecond /
                                                         (static_cast<double>(count) *
                                                          static_cast<double>(parts_.size()))));
        for (int sweep = 0; sweep < sweeps; ++sweep) {
            const double temperature =
                kHot * std::pow(kCold / kHot, static_cast<double>(sweep) / sweeps);
            for (std::size_t at = count; at-- > 1;)
                rest[at] = both(both(moves[at], extra_moves_[chosen[at]]), rest[at + 1]);
            Bars bars = given_;
            int wrongs = -1, cost = 0;
            for (std::size_t at = 0; at < count; ++at) cost += costs[at][chosen[at]];
            for (std::size_t at = 0; at < count; ++at) {
                apply(bars, moves[at]);
                const BarMove& later = rest[at + 1];
                if (wrongs < 0) wrongs = wrong_after(bars, extra_moves_[chosen[at]], later);
                for (int trial = 0; trial < kTrials; ++trial) {
                    const auto extra = static_cast<std::uint8_t>(random() % extras_.size());
                    const int more = costs[at][extra] - costs[at][chosen[at]];
                    const int after = wrong_after(bars, extra_moves_[extra], later);
                    const double loss = more + kWrong * (after - wrongs);
                    if (loss > 0 && uniform(random) >= std::exp(-loss / temperature)) continue;
                    chosen[at] = extra;
                    cost += more;
                    wrongs = after;
                    if (cost + kWrong * wrongs < least) {
                        least = cost + kWrong * wrongs;
                        best = chosen;
                    }
                }
                apply(bars, extra_moves_[chosen[at]]);
            }
        }
        BlockTurns turns;
        for (std::size_t at = 0; at < count; ++at) {
            turns.push_back(core[at]);
            if (best[at] != 0) turns.push_back(extras_[best[at]]);
        }
        return turns;
    }

    static double uniform(std::mt19937& random) {
        return static_cast<double>(random()) / 4294967296.0;
    }

    struct Exchange {
        double promise;
        std::size_t at, part;
        const ThreeCycle* cycle;
        int gain;
    };

    // The most promising exchanges so far.
    class Shortlist {
    public:
        void add(const Exchange& one) {
            if (one.promise <= least_) return;
            found_.push_back(one);
            if (found_.size() >= 2 * kTried) shorten();
        }
        const std::vector<Exchange>& shortened() {
            if (found_.size() > kTried) shorten();
            return found_;
        }

    private:
        void shorten() {
            const auto last = found_.begin() + kTried;
            std::nth_element(found_.begin(), last, found_.end(),
                             [](const auto& a, const auto& b) { return a.promise > b.promise; });
            least_ = last->promise;
            found_.resize(kTried);
        }

        std::vector<Exchange> found_;
        double least_ = -1e9;
    };

    // Puts the exchange in that gains most for its turns; false where nothing is left to gain.
    bool exchange(BlockTurns& turns) const {
        Bars bars = given_;
        for (const BlockTurn turn : turns) apply(bars, move_of(turn));
        const int wrongs = wrong_in(bars);
        if (wrongs == 0) return false;
        Shortlist shortlist;
        BarMove rest = identity();
        const Gains gains = gains_at(bars);
        for (std::size_t at = turns.size() + 1; at-- > 0;) {
            find_exchanges(bars, gains, rest, at, shortlist);
            if (at > 0) rest = both(move_of(turns[at - 1]), rest);
        }
        const int before = block_turn_count(joined(turns, geometry_.size()), geometry_.size());
        BlockTurns best;
        double most = -1e9;
        for (const Exchange& one : shortlist.shortened()) {
            BlockTurns with(turns.begin(), turns.begin() + static_cast<std::ptrdiff_t>(one.at));
            const Part& part = parts_[one.part];
            ThreeCycles::of(part.kind).append(with, *one.cycle, geometry_, part.row, part.column);
            with.insert(with.end(), turns.begin() + static_cast<std::ptrdiff_t>(one.at),
                        turns.end());
            const int added =
                block_turn_count(joined(with, geometry_.size()), geometry_.size()) - before;
            const double value = kExchanged * one.gain - added;
            if (value > most) most = value, best = std::move(with);
        }
        turns = std::move(best);
        return true;
    }

    // Wrong centres less when a part of a bar becomes a colour: by part, bar and colour.
    using Gains = std::array<std::array<std::array<std::int8_t, kFaces>, kOrbit>, kMostParts>;

    Gains gains_at(const Bars& bars) const {
        Gains gains{};
        for (std::size_t p = 0; p < parts_.size(); ++p)
            for (int bar = 0; bar < kOrbit; ++bar)
                for (std::uint8_t colour = 0; colour < kFaces; ++colour) {
                    Bars after = bars;
                    after[p][bar] = colour;
                    gains[p][bar][colour] =
                        static_cast<std::int8_t>(wrong_at(bars, bar) - wrong_at(after, bar));
                }
        return gains;
    }

    // Exchanges before turn `at` that make bars at the end right; `rest` is what turns from there
    // do.
    void find_exchanges(const Bars& bars, const Gains& gains, const BarMove& rest, std::size_t at,
                        Shortlist& shortlist) const {
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            const Part& part = parts_[p];
            std::array<int, kOrbit> goes_to{};  // bars at the end, by slot
            for (int bar = 0; bar < kOrbit; ++bar) {
                const auto slot = std::find(part.of.begin(), part.of.end(), rest[p][bar]);
                goes_to[slot - part.of.begin()] = bar;
            }
            for (const ThreeCycle& cycle : ThreeCycles::of(part.kind).all()) {
                const int a = goes_to[cycle.slots[0]], b = goes_to[cycle.slots[1]],
                          c = goes_to[cycle.slots[2]];
                const int gain =
                    gains[p][b][bars[p][a]] + gains[p][c][bars[p][b]] + gains[p][a][bars[p][c]];
                if (gain > 0) shortlist.add({kExchanged * gain - cycle.cost, at, p, &cycle, gain});
            }
        }
    }

    static constexpr double kSweepsASecond = 1e6;
    static constexpr int kTrials = 8;
    static constexpr double kHot = 3.0, kCold = 0.4;  // turns
    static constexpr double kWrong = 2.2;             // turns that a wrong centre costs in the end
    static constexpr double kExchanged = 3.0;         // and is worth when it is exchanged

    const Geometry& geometry_;
    std::vector<Part> parts_;
    Bars given_{};
    BlockTurns extras_;
    std::vector<BarMove> extra_moves_;
};

// Stickers of the layers, counted from 0, as those of a smaller cube.
Colours at_layers(const Geometry& geometry, const Colours& stickers,
                  const std::vector<int>& layers) {
    Colours chosen;
    const int size = geometry.size();
    for (int face = 0; face < kFaces; ++face)
        for (const int row : layers)
            for (const int column : layers)
                chosen.push_back(stickers[(face * size + row) * size + column]);
    return chosen;
}

}  // namespace

Colours core_of(const Geometry& geometry, const Colours& stickers) {
    const int size = geometry.size();
    std::vector<int> layers{0};
    for (int layer = kCoreWidth - 1; layer <= size - kCoreWidth; ++layer) layers.push_back(layer);
    layers.push_back(size - 1);
    return at_layers(geometry, stickers, layers);
}

Colours outside_of(const Geometry& geometry, const Colours& stickers) {
    const int size = geometry.size();
    return at_layers(geometry, stickers, {0, 1, size / 2, size - 2, size - 1});
}

BlockTurns on_whole_cube(const BlockTurns& core) {
    BlockTurns turns = core;
    for (BlockTurn& turn : turns)
        if (turn.last > 1) turn.last = kCoreWidth;
    return turns;
}

std::vector<BlockTurns> pair_bars(const Geometry& geometry, const Colours& stickers,
                                  const std::vector<BlockTurns>& cores, const BarOptions& options) {
    BarPairing pairing(geometry, stickers);
    const Deadline deadline(options.time_limit, {options.cancel});
    const double seconds = options.time_limit / static_cast<double>(cores.size());
    std::vector<BlockTurns> found;
    std::uint32_t seed = 0;
    for (const BlockTurns& core : cores) {
        if (options.cancel != nullptr && options.cancel->is_set()) break;
        if (!found.empty() && deadline.has_passed()) break;
        found.push_back(pairing.run(on_whole_cube(core), seconds, ++seed));
    }
    std::stable_sort(found.begin(), found.end(), [&](const BlockTurns& a, const BlockTurns& b) {
        return block_turn_count(a, geometry.size()) < block_turn_count(b, geometry.size());
    });
    if (found.size() > options.count) found.resize(options.count);
    return found;
}

}  // namespace cubist
