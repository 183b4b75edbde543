#include "reduction/three_cycles.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <numeric>
#include <optional>

namespace cubist {
namespace {

constexpr int kSlots = 24;

struct Model {
    int size, row, column;
};

Model model_of(OrbitKind kind) {
    switch (kind) {
        case OrbitKind::kWing: return {4, 1, 0};
        case OrbitKind::kDiagonal: return {4, 1, 1};
        case OrbitKind::kMiddle: return {5, 0, 2};
        default: return {6, 1, 3};
    }
}

BlockTurn slice(const Geometry& geometry, int face, int coordinate, int quarters) {
    const auto layer = static_cast<std::uint8_t>(geometry.layer_number(coordinate));
    return {static_cast<std::uint8_t>(face), layer, layer, static_cast<std::uint8_t>(quarters)};
}

BlockTurn face_turn(int face, int quarters) {
    return {static_cast<std::uint8_t>(face), 1, 1, static_cast<std::uint8_t>(quarters)};
}

// X Y X' Y'.
BlockTurns commutator(const BlockTurns& x, const BlockTurns& y) {
    BlockTurns turns = x;
    turns.insert(turns.end(), y.begin(), y.end());
    append_inverse(turns, x);
    append_inverse(turns, y);
    return turns;
}

// The origin of every sticker after the turns.
std::vector<std::uint16_t> origins_after(const Geometry& geometry, const BlockTurns& turns) {
    std::vector<std::uint16_t> stickers(geometry.stickers());
    std::iota(stickers.begin(), stickers.end(), std::uint16_t{0});
    geometry.turn(turns, stickers);
    return stickers;
}

// The slot that each slot's piece came from.
std::vector<std::uint8_t> slots_after(const Geometry& geometry, const BlockTurns& turns,
                                      const std::vector<int>& slots) {
    const auto origins = origins_after(geometry, turns);
    std::vector<std::uint8_t> from;
    from.reserve(slots.size());
    for (const int slot : slots)
        from.push_back(static_cast<std::uint8_t>(
            std::find(slots.begin(), slots.end(), origins[slot]) - slots.begin()));
    return from;
}

// Returns the three slots that the turns exchange, if they touch only `stickers` stickers in all.
std::optional<std::array<std::uint8_t, 3>> exchanged(const Geometry& geometry,
                                                     const BlockTurns& turns,
                                                     const std::vector<int>& slots, int stickers) {
    const auto origins = origins_after(geometry, turns);
    int moved = 0;
    for (int at = 0; at < geometry.stickers(); ++at) moved += origins[at] != at;
    if (moved != stickers) return std::nullopt;
    for (std::size_t second = 0; second < slots.size(); ++second) {
        if (origins[slots[second]] == slots[second]) continue;
        const auto slot_of = [&](int sticker) {
            return std::find(slots.begin(), slots.end(), sticker) - slots.begin();
        };
        const auto first = slot_of(origins[slots[second]]);
        if (first == kSlots) return std::nullopt;
        const auto third = slot_of(origins[slots[first]]);
        return std::array{static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(second),
                          static_cast<std::uint8_t>(third)};
    }
    return std::nullopt;
}

// Every turn of one layer.
BlockTurns single_turns(int size) {
    BlockTurns turns;
    for (std::uint8_t axis = 0; axis < 3; ++axis)
        for (int layer = 1; layer <= size; ++layer)
            for (std::uint8_t quarters = 1; quarters < 4; ++quarters)
                turns.push_back({axis, static_cast<std::uint8_t>(layer),
                                 static_cast<std::uint8_t>(layer), quarters});
    return turns;
}

int triple_number(std::array<std::uint8_t, 3> slots) {
    std::rotate(slots.begin(), std::min_element(slots.begin(), slots.end()), slots.end());
    return (slots[0] * kSlots + slots[1]) * kSlots + slots[2];
}

}  // namespace

const ThreeCycles& ThreeCycles::of(OrbitKind kind) {
    static const std::array<ThreeCycles, 4> tables{
        ThreeCycles(OrbitKind::kWing), ThreeCycles(OrbitKind::kDiagonal),
        ThreeCycles(OrbitKind::kMiddle), ThreeCycles(OrbitKind::kOblique)};
    return tables[static_cast<std::size_t>(kind)];
}

ThreeCycles::ThreeCycles(OrbitKind kind)
    : model_(model_of(kind).size),
      row_(model_of(kind).row),
      column_(model_of(kind).column),
      slots_(kind == OrbitKind::kWing ? model_.wing_slots(row_)
                                      : model_.centre_slots(row_, column_)),
      is_wing_(kind == OrbitKind::kWing),
      number_(kSlots * kSlots * kSlots, -1) {
    find_cycles();
}

void ThreeCycles::find_cycles() {
    std::vector<int> coordinates{row_, -row_};
    if (!is_wing_) coordinates.insert(coordinates.end(), {column_, -column_});
    std::sort(coordinates.begin(), coordinates.end());
    coordinates.erase(std::unique(coordinates.begin(), coordinates.end()), coordinates.end());
    for (int axis = 0; axis < 3; ++axis)
        for (const int coordinate : coordinates)
            for (int quarters = 1; quarters < 4; ++quarters)
                for (int face = 0; face < kFaces; ++face)
                    if (face % 3 != axis)
                        find_with({slice(model_, axis, coordinate, quarters)}, face, coordinates);
    add_conjugates();
}

// Tries the commutators of the slice turn `x` with each turn that a turn of `face` brings into its
// path: of another slice for centres, of a face beside the slice for wings.
void ThreeCycles::find_with(const BlockTurns& x, int face, std::span<const int> coordinates) {
    const int axis = x.front().axis();
    BlockTurns others;
    for (std::uint8_t quarters = 1; quarters < 4; ++quarters)
        if (is_wing_)
            others.insert(others.end(), {face_turn(axis, quarters), face_turn(axis + 3, quarters)});
        else
            for (const int coordinate : coordinates)
                others.push_back(slice(model_, axis, coordinate, quarters));
    for (const BlockTurn other : others)
        for (const int away : {1, 3}) {
            const BlockTurns y{face_turn(face, away), other, face_turn(face, 4 - away)};
            ThreeCycle found;
            found.turns = commutator(x, y);
            const auto slots = exchanged(model_, found.turns, slots_, is_wing_ ? 6 : 3);
            if (!slots) continue;
            found.slots = *slots;
            found.cost = static_cast<std::uint8_t>(block_turn_count(found.turns, model_.size()));
            keep(std::move(found));
        }
}

// Conjugates known cycles by one turn until every cheapest one is known.
void ThreeCycles::add_conjugates() {
    const BlockTurns turns = single_turns(model_.size());
    std::vector<std::vector<std::uint8_t>> origins;
    for (const BlockTurn turn : turns) origins.push_back(slots_after(model_, {turn}, slots_));
    bool is_better = true;
    while (is_better) {
        is_better = false;
        for (std::size_t known = 0; known < cycles_.size(); ++known)
            for (std::size_t i = 0; i < turns.size(); ++i) {
                ThreeCycle cycle;
                for (int k = 0; k < 3; ++k) cycle.slots[k] = origins[i][cycles_[known].slots[k]];
                const BlockTurns one{turns[i]};
                cycle.cost = static_cast<std::uint8_t>(cycles_[known].cost +
                                                       2 * block_turn_count(one, model_.size()));
                if (cost_of(cycle.slots) <= cycle.cost) continue;
                cycle.turns = one;
                cycle.turns.insert(cycle.turns.end(), cycles_[known].turns.begin(),
                                   cycles_[known].turns.end());
                cycle.turns.push_back(turns[i].inverse());
                keep(std::move(cycle));
                is_better = true;
            }
    }
}

int ThreeCycles::cost_of(const std::array<std::uint8_t, 3>& slots) const {
    const int number = number_[triple_number(slots)];
    return number < 0 ? INT_MAX : cycles_[number].cost;
}

void ThreeCycles::keep(ThreeCycle cycle) {
    if (cost_of(cycle.slots) <= cycle.cost) return;
    int& number = number_[triple_number(cycle.slots)];
    if (number < 0) {
        number = static_cast<int>(cycles_.size());
        cycles_.push_back(std::move(cycle));
    } else {
        cycles_[number] = std::move(cycle);
    }
}

void ThreeCycles::append(BlockTurns& turns, const ThreeCycle& cycle, const Geometry& geometry,
                         int row, int column) const {
    for (BlockTurn turn : cycle.turns) {
        const int coordinate = model_.coordinate(turn.first), distance = std::abs(coordinate);
        const int real = distance == model_.coordinate(1) ? geometry.coordinate(1)
                         : distance == row_               ? row
                                                          : column;
        turn.first = turn.last =
            static_cast<std::uint8_t>(geometry.layer_number(coordinate < 0 ? -real : real));
        turns.push_back(turn);
    }
}

}  // namespace cubist
