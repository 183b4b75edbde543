#include "reduction/bar_beam.hpp"

#include <algorithm>
#include <unordered_set>

namespace cubist {
namespace {

// A score is in tenths of a turn. What a wrong centre costs in the end is about four turns; but
// while the beam goes on, later turns of layer 2 put some right, so positions with fewer turns and
// more wrong centres are worth keeping.
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

// The turns of layer 2: each face, by each number of quarters.
BlockTurn BarBeam::turn_of(std::size_t extra) {
    return {static_cast<std::uint8_t>((extra - 1) / 3), kBarLayer, kBarLayer,
            static_cast<std::uint8_t>((extra - 1) % 3 + 1)};
}

// Turns that it adds between two of the core: none where a face turn takes layer 2 along.
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
        BarOrbit ends{};  // bars at the end, by those before `rest`
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

// The best children, each position once.
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

}  // namespace cubist
