#include "reduction/bar_model.hpp"

namespace cubist {
namespace {

BarPart part_of(const Geometry& geometry, OrbitKind kind, int row, int column, bool is_first) {
    BarPart part{kind, row, column, std::vector<int>(kOrbit), {}};
    const auto slots = geometry.centre_slots(row, column);
    for (int slot = 0; slot < kOrbit; ++slot) {
        // Where the row is the nearer one to the middle, the next slot is beside the same side.
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

}  // namespace cubist
