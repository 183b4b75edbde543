#include "reduction/bars.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <unordered_set>

#include "cube/parallel.hpp"

namespace cubist {

namespace {

BarPart part_of(const Geometry& geometry, OrbitKind kind, int row, int column, bool is_first) {
    BarPart part{kind, row, column, std::vector<int>(kOrbit), {}};
    const auto slots = geometry.centre_slots(row, column);
    for (int slot = 0; slot < kOrbit; ++slot) {
        // If the row is the one nearer to the middle, the next slot is beside the same side.
        const int bar = is_first ? slot : slot / 4 * 4 + (slot + 3) % 4;
        part.of[slot] = bar;
        part.slots[bar] = slots[slot];
    }
    return part;
}

std::vector<BarPart> parts_of(const Geometry& geometry) {
    const int outer = geometry.coordinate(kBarLayer), inner = geometry.coordinate(kCoreWidth);
    std::vector<BarPart> parts{part_of(geometry, OrbitKind::kOblique, outer, inner, true),
                               part_of(geometry, OrbitKind::kOblique, inner, outer, false)};
    if (geometry.size() % 2 == 1)
        parts.push_back(part_of(geometry, OrbitKind::kMiddle, 0, outer, false));
    return parts;
}

}  // namespace

BarModel::BarModel(const Geometry& geometry) : geometry_(geometry), parts_(parts_of(geometry)) {}

Bars BarModel::of(const Colours& stickers) const {
    Bars bars{};
    for (std::size_t p = 0; p < parts_.size(); ++p)
        for (int bar = 0; bar < kOrbit; ++bar) bars[p][bar] = stickers[parts_[p].slots[bar]];
    return bars;
}

BarMove BarModel::move_of(BlockTurn turn) const {
    BarMove move{};
    for (std::size_t p = 0; p < parts_.size(); ++p)
        move[p] = orbit_move(geometry_, turn, parts_[p].slots);
    return move;
}

BarMove BarModel::identity() {
    BarMove move{};
    for (OrbitMove& part : move)
        for (int bar = 0; bar < kOrbit; ++bar) part[bar] = static_cast<std::uint8_t>(bar);
    return move;
}

void BarModel::apply(Bars& bars, const BarMove& move) const {
    for (std::size_t p = 0; p < parts_.size(); ++p) bars[p] = moved(bars[p], move[p]);
}

BarMove BarModel::both(const BarMove& one, const BarMove& other) const {
    BarMove result = one;
    for (std::size_t p = 0; p < parts_.size(); ++p) result[p] = moved(one[p], other[p]);
    return result;
}

int BarModel::wrong_in(const Bars& bars) const {
    int count = 0;
    for (int bar = 0; bar < kOrbit; ++bar) count += wrong_at(bars, bar);
    return count;
}

namespace {

// Scores are in tenths of a turn. Correcting a wrong centre costs about four turns in the end. But
// while the beam proceeds, later turns of layer 2 correct some of them, so positions with fewer
// turns and more wrong centres are worth keeping.
constexpr int kTurn = 10, kWrong = 16;
constexpr double kTurnsPerWrong = 4.0;

std::uint64_t hash_of(const auto& colours) {
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a
    for (const std::uint8_t one : colours) hash = (hash ^ one) * 1099511628211u;
    return hash;
}

}  // namespace

BarBeam::BarBeam(const BarModel& model, const Bars& given, const BlockTurns& core)
    : model_(model), core_(core), extras_(core.size()) {
    BarMove rest = BarModel::identity();
    for (std::size_t at = core.size(); at-- > 0;) {
        for (std::size_t extra = 0; extra < kExtras; ++extra)
            extras_[at][extra] = extra_after(extra, at, rest);
        rest = model.both(model.move_of(core[at]), rest);
    }
    Bars bars = given;
    model.apply(bars, rest);
    for (std::size_t p = 0; p < kMostBarParts; ++p)
        std::copy(bars[p].begin(), bars[p].end(), start_.colours.begin() + p * kOrbit);
    start_.wrong = model.wrong_in(bars);
}

std::vector<PairedBars> BarBeam::run(std::size_t width, std::size_t count,
                                     const Deadline& deadline) const {
    std::vector<Position> positions{start_};
    std::deque<Choice> choices(1);
    for (std::size_t at = 0; at < core_.size(); ++at) {
        if (deadline.has_passed()) return {};
        std::vector<Child> next = children(positions, at);
        positions = chosen(positions, next, at, width, choices);
    }
    const auto promise = [](const Position& one) { return one.cost + kTurnsPerWrong * one.wrong; };
    const auto last =
        positions.begin() + static_cast<std::ptrdiff_t>(std::min(count, positions.size()));
    std::partial_sort(positions.begin(), last, positions.end(),
                      [&](const auto& a, const auto& b) { return promise(a) < promise(b); });
    const int before = block_turn_count(core_, model_.geometry().size());
    std::vector<PairedBars> found;
    for (auto one = positions.begin(); one != last; ++one)
        found.push_back({turns_of(one->choice, choices), before + promise(*one)});
    return found;
}

// The turns of layer 2: each face by each number of quarters.
BlockTurn BarBeam::turn_of(std::size_t extra) {
    return {static_cast<std::uint8_t>((extra - 1) / 3), kBarLayer, kBarLayer,
            static_cast<std::uint8_t>((extra - 1) % 3 + 1)};
}

// Returns the turns that an extra turn adds: none if a face turn beside it can take layer 2 along,
// otherwise one or two.
int BarBeam::cost_of(std::size_t extra, std::size_t at) const {
    if (extra == kNoExtra) return 0;
    int cost = 2;
    const BlockTurn turn = turn_of(extra);
    for (std::size_t beside = at; beside < std::min(at + 2, core_.size()); ++beside)
        if (core_[beside].last == 1 && core_[beside].face == turn.face)
            cost = std::min(cost, core_[beside].quarters == turn.quarters ? 0 : 1);
    return cost;
}

BarBeam::Extra BarBeam::extra_after(std::size_t extra, std::size_t at, const BarMove& rest) const {
    Extra result{{}, cost_of(extra, at)};
    if (extra == kNoExtra) return result;
    const BarMove move = model_.move_of(turn_of(extra));
    std::array<std::array<std::uint8_t, kMostBarParts>, kOrbit> from{};
    std::array<bool, kOrbit> touched{};
    for (std::size_t p = 0; p < kMostBarParts; ++p) {
        const bool is_there = p < model_.parts().size();
        BarOrbit ends{};  // bars at the end, as a function of those before `rest`
        for (std::uint8_t bar = 0; bar < kOrbit; ++bar) ends[is_there ? rest[p][bar] : bar] = bar;
        for (std::uint8_t bar = 0; bar < kOrbit; ++bar) {
            const std::uint8_t source = is_there ? ends[move[p][rest[p][bar]]] : bar;
            touched[bar] = touched[bar] || source != bar;
            from[bar][p] = static_cast<std::uint8_t>(p * kOrbit + source);
        }
    }
    for (std::uint8_t bar = 0; bar < kOrbit; ++bar)
        if (touched[bar]) result.bars.push_back({bar, from[bar]});
    return result;
}

int BarBeam::wrong_at(const Position& position, const Touched& touched) const {
    const auto& colours = position.colours;
    return model_.wrong(colours[touched.from[0]], colours[touched.from[1]],
                        colours[touched.from[2]]);
}

std::vector<BarBeam::Child> BarBeam::children(const std::vector<Position>& positions,
                                              std::size_t at) const {
    std::vector<Child> result;
    result.reserve(positions.size() * kExtras);
    for (std::uint32_t parent = 0; parent < positions.size(); ++parent) {
        const Position& position = positions[parent];
        std::array<int, kOrbit> wrong_before{};
        for (std::uint8_t bar = 0; bar < kOrbit; ++bar)
            wrong_before[bar] = model_.wrong(position.colours[bar], position.colours[kOrbit + bar],
                                             position.colours[2 * kOrbit + bar]);
        for (std::uint8_t extra = 0; extra < kExtras; ++extra) {
            const Extra& one = extras_[at][extra];
            int wrong = position.wrong;
            for (const Touched& touched : one.bars)
                wrong += wrong_at(position, touched) - wrong_before[touched.bar];
            result.push_back({kTurn * (position.cost + one.cost) + kWrong * wrong, parent, extra});
        }
    }
    return result;
}

void BarBeam::follow(Position& position, const Extra& extra) const {
    const Position before = position;
    for (const Touched& touched : extra.bars)
        for (std::size_t p = 0; p < kMostBarParts; ++p)
            position.colours[p * kOrbit + touched.bar] = before.colours[touched.from[p]];
    for (const Touched& touched : extra.bars) {
        const Touched own{touched.bar,
                          {touched.bar, static_cast<std::uint8_t>(kOrbit + touched.bar),
                           static_cast<std::uint8_t>(2 * kOrbit + touched.bar)}};
        position.wrong += wrong_at(position, own) - wrong_at(before, own);
    }
    position.cost += extra.cost;
}

// Keeps the best children, each position once.
std::vector<BarBeam::Position> BarBeam::chosen(const std::vector<Position>& positions,
                                               std::vector<Child>& children, std::size_t at,
                                               std::size_t width,
                                               std::deque<Choice>& choices) const {
    const auto is_better = [](const Child& a, const Child& b) { return a.score < b.score; };
    if (const std::size_t enough = width + width / 2; children.size() > enough) {
        const auto last = children.begin() + static_cast<std::ptrdiff_t>(enough);
        std::nth_element(children.begin(), last, children.end(), is_better);
        children.resize(enough);
    }
    std::sort(children.begin(), children.end(), is_better);
    std::vector<Position> result;
    std::unordered_set<std::uint64_t> seen;
    for (const Child& child : children) {
        if (result.size() == width) break;
        Position position = positions[child.parent];
        follow(position, extras_[at][child.extra]);
        if (!seen.insert(hash_of(position.colours)).second) continue;
        if (child.extra != kNoExtra) {
            choices.push_back({position.choice, static_cast<std::uint8_t>(at), child.extra});
            position.choice = static_cast<std::uint32_t>(choices.size() - 1);
        }
        result.push_back(position);
    }
    return result;
}

BlockTurns BarBeam::turns_of(std::uint32_t choice, const std::deque<Choice>& choices) const {
    std::vector<std::uint8_t> extras(core_.size(), kNoExtra);
    for (; choice != 0; choice = choices[choice].before)
        extras[choices[choice].at] = choices[choice].extra;
    BlockTurns turns;
    for (std::size_t at = 0; at < core_.size(); ++at) {
        turns.push_back(core_[at]);
        if (extras[at] != kNoExtra) turns.push_back(turn_of(extras[at]));
    }
    return turns;
}

namespace {

// Number of promising exchanges to insert in order to count the turns they add.
constexpr std::size_t kTried = 100;
// Positions in the first beams. Each further round has wider beams for fewer cores.
constexpr std::size_t kFirstWidth = 500, kWider = 4, kWidest = 32000, kFewer = 3;
// Number of results of a wide beam to finish.
constexpr std::size_t kFinished = 10;

// Inserts exchanges of three centres until every bar has one colour.
class BarFinish {
public:
    BarFinish(const BarModel& model, const Bars& given) : model_(model), given_(given) {}

    BlockTurns run(BlockTurns turns) const {
        while (exchange(turns)) {
        }
        return joined(turns, geometry().size());
    }

private:
    const Geometry& geometry() const { return model_.geometry(); }
    const std::vector<BarPart>& parts() const { return model_.parts(); }

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

    // Inserts the exchange that gains most for its turns. Returns false if none gains anything.
    bool exchange(BlockTurns& turns) const {
        Bars bars = given_;
        for (const BlockTurn turn : turns) model_.apply(bars, model_.move_of(turn));
        const int wrongs = model_.wrong_in(bars);
        if (wrongs == 0) return false;
        Shortlist shortlist;
        BarMove rest = BarModel::identity();
        const Gains gains = gains_at(bars);
        for (std::size_t at = turns.size() + 1; at-- > 0;) {
            find_exchanges(bars, gains, rest, at, shortlist);
            if (at > 0) rest = model_.both(model_.move_of(turns[at - 1]), rest);
        }
        const int before = block_turn_count(joined(turns, geometry().size()), geometry().size());
        BlockTurns best;
        double most = -1e9;
        for (const Exchange& one : shortlist.shortened()) {
            BlockTurns with(turns.begin(), turns.begin() + static_cast<std::ptrdiff_t>(one.at));
            const BarPart& part = parts()[one.part];
            ThreeCycles::of(part.kind).append(with, *one.cycle, geometry(), part.row, part.column);
            with.insert(with.end(), turns.begin() + static_cast<std::ptrdiff_t>(one.at),
                        turns.end());
            const int added =
                block_turn_count(joined(with, geometry().size()), geometry().size()) - before;
            const double value = kExchanged * one.gain - added;
            if (value > most) most = value, best = std::move(with);
        }
        turns = std::move(best);
        return true;
    }

    // The decrease of wrong centres if a part of a bar becomes a colour, by part, bar and colour.
    using Gains = std::array<std::array<std::array<std::int8_t, kFaces>, kOrbit>, kMostBarParts>;

    Gains gains_at(const Bars& bars) const {
        Gains gains{};
        for (std::size_t p = 0; p < parts().size(); ++p)
            for (int bar = 0; bar < kOrbit; ++bar)
                for (std::uint8_t colour = 0; colour < kFaces; ++colour) {
                    Bars after = bars;
                    after[p][bar] = colour;
                    gains[p][bar][colour] = static_cast<std::int8_t>(model_.wrong_at(bars, bar) -
                                                                     model_.wrong_at(after, bar));
                }
        return gains;
    }

    // Finds exchanges before turn `at` that correct bars at the end. `rest` is the permutation by
    // the turns from `at`.
    void find_exchanges(const Bars& bars, const Gains& gains, const BarMove& rest, std::size_t at,
                        Shortlist& shortlist) const {
        for (std::size_t p = 0; p < parts().size(); ++p) {
            const BarPart& part = parts()[p];
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

    static constexpr double kExchanged = 3.0;  // turns that a corrected centre is worth

    const BarModel& model_;
    const Bars& given_;
};

// Returns the stickers of the layers, counted from 0, as those of a smaller cube.
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

namespace {

// Pairs the bars of many cores on several threads.
class BarPairing {
public:
    BarPairing(const Geometry& geometry, const Colours& stickers,
               const std::vector<BlockTurns>& cores, const BarOptions& options)
        : model_(geometry),
          given_(model_.of(stickers)),
          finish_(model_, given_),
          options_(options),
          deadline_(options.time_limit, {options.cancel}) {
        for (const BlockTurns& core : cores) wholes_.push_back(on_whole_cube(core));
    }

    std::vector<BlockTurns> run() {
        std::vector<std::size_t> left(wholes_.size());
        std::iota(left.begin(), left.end(), std::size_t{0});
        for (std::size_t width = kFirstWidth; !left.empty() && width <= kWidest; width *= kWider)
            left = promising(pair_all(left, width));
        return std::move(found_);
    }

private:
    // The outcome for a core: results, and the promise of the best of them.
    struct Paired {
        std::size_t core;
        double promise;
        std::vector<BlockTurns> results;
    };

    // Pairs the bars of these cores with beams of a width, as far as time allows.
    std::vector<Paired> pair_all(const std::vector<std::size_t>& cores, std::size_t width) {
        std::vector<std::optional<Paired>> by_core(cores.size());
        std::atomic<std::size_t> next{0};
        std::atomic<bool> has_any{!found_.empty()};
        const double left_s = deadline_.left_s();
        // Limits memory: together, the beams hold no more positions than one of the widest.
        const std::size_t beams = std::min(cores.size(), kWidest / width);
        on_each_thread(std::min<int>(options_.threads, static_cast<int>(beams)), [&](int) {
            const Deadline deadline(left_s, {options_.cancel});
            for (std::size_t at; (at = next.fetch_add(1)) < cores.size();) {
                by_core[at] = pair(cores[at], width, deadline, has_any);
                if (!by_core[at]) return;
            }
        });
        std::vector<Paired> all;
        for (auto& one : by_core) {
            if (!one) continue;
            std::move(one->results.begin(), one->results.end(), std::back_inserter(found_));
            all.push_back(std::move(*one));
        }
        return all;
    }

    // Returns nullopt if the time runs out and some result exists.
    std::optional<Paired> pair(std::size_t core, std::size_t width, const Deadline& deadline,
                               std::atomic<bool>& has_any) const {
        const Deadline none(Deadline::kForever, {options_.cancel});
        const std::size_t count = width == kFirstWidth ? 1 : kFinished;
        const auto paired =
            BarBeam(model_, given_, wholes_[core]).run(width, count, has_any ? deadline : none);
        if (paired.empty()) return std::nullopt;
        Paired result{core, paired.front().promise, {}};
        for (const PairedBars& one : paired) {
            if (has_any && deadline.has_passed()) break;
            result.results.push_back(finish_.run(one.turns));
            has_any = true;
        }
        return result;
    }

    // Returns the cores that get wider beams.
    static std::vector<std::size_t> promising(std::vector<Paired> all) {
        std::stable_sort(all.begin(), all.end(), [](const Paired& a, const Paired& b) {
            return std::pair(a.promise, a.core) < std::pair(b.promise, b.core);
        });
        std::vector<std::size_t> cores((all.size() + kFewer - 1) / kFewer);
        for (std::size_t i = 0; i < cores.size(); ++i) cores[i] = all[i].core;
        return cores;
    }

    const BarModel model_;
    const Bars given_;
    const BarFinish finish_;
    const BarOptions options_;
    const Deadline deadline_;
    std::vector<BlockTurns> wholes_, found_;
};

}  // namespace

std::vector<BlockTurns> pair_bars(const Geometry& geometry, const Colours& stickers,
                                  const std::vector<BlockTurns>& cores, const BarOptions& options) {
    std::vector<BlockTurns> found = BarPairing(geometry, stickers, cores, options).run();
    std::stable_sort(found.begin(), found.end(), [&](const BlockTurns& a, const BlockTurns& b) {
        return block_turn_count(a, geometry.size()) < block_turn_count(b, geometry.size());
    });
    if (found.size() > options.count) found.resize(options.count);
    return found;
}

}  // namespace cubist
