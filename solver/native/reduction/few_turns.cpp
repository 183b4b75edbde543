#include "reduction/few_turns.hpp"

#include <array>
#include <unordered_map>

namespace cubist {
namespace {

constexpr int kEach = kFewTurns / 2;  // from either end

using Few = std::array<BlockTurn, kEach>;

// Blocks of up to half of the layers, and single layers in them. Others are the same on the other
// side, with the whole cube rotated.
BlockTurns turns_to_try(int size) {
    const auto half = static_cast<std::uint8_t>(size / 2);
    BlockTurns turns;
    for (std::uint8_t face = 0; face < kFaces; ++face)
        for (std::uint8_t quarters = 1; quarters < 4; ++quarters)
            for (std::uint8_t layer = 1; layer <= half; ++layer) {
                turns.push_back({face, 1, layer, quarters});
                if (layer > 1) turns.push_back({face, layer, layer, quarters});
            }
    return turns;
}

// Calls `visit` with every position up to kEach turns away; turns that are not needed are of no
// quarters.
template <class Visit>
void walk(const Geometry& geometry, const BlockTurns& turns, const Colours& from, Visit visit) {
    Few few{BlockTurn{0, 1, 1, 0}, BlockTurn{0, 1, 1, 0}};
    visit(from, few);
    for (const BlockTurn first : turns) {
        few = {first, BlockTurn{0, 1, 1, 0}};
        Colours after = from;
        geometry.turn(first, after);
        visit(after, few);
        for (const BlockTurn second : turns) {
            few[1] = second;
            Colours end = after;
            geometry.turn(second, end);
            visit(end, few);
        }
    }
}

// Of the colours, named as they come: however the cube is held, and whatever faces they belong on.
std::size_t hash_of(const Colours& stickers) {
    std::array<std::uint8_t, kFaces> names{};
    std::uint8_t count = 0;
    std::size_t hash = 14695981039346656037u;  // FNV-1a
    for (const std::uint8_t colour : stickers) {
        if (names[colour] == 0) names[colour] = ++count;
        hash = (hash ^ names[colour]) * 1099511628211u;
    }
    return hash;
}

void append(BlockTurns& turns, BlockTurn turn) {
    if (turn.quarters % 4 != 0) turns.push_back(turn);
}

}  // namespace

std::optional<BlockTurns> few_turns(const Geometry& geometry, const Colours& stickers) {
    const int size = geometry.size();
    Colours solved(stickers.size());
    for (std::size_t k = 0; k < solved.size(); ++k)
        solved[k] = static_cast<std::uint8_t>(k / (solved.size() / kFaces));
    const BlockTurns turns = turns_to_try(size);
    std::unordered_multimap<std::size_t, Few> near;
    walk(geometry, turns, solved,
         [&](const Colours& at, const Few& few) { near.emplace(hash_of(at), few); });
    std::optional<BlockTurns> best;
    int least = 0;
    walk(geometry, turns, stickers, [&](const Colours& at, const Few& few) {
        const auto [from, to] = near.equal_range(hash_of(at));
        for (auto met = from; met != to; ++met) {
            BlockTurns whole;
            for (const BlockTurn turn : few) append(whole, turn);
            for (int k = kEach; k-- > 0;) append(whole, met->second[k].inverse());
            whole = joined(whole, size);
            const int count = block_turn_count(whole, size);
            if (best && count >= least) continue;
            Colours end = stickers;
            geometry.turn(whole, end);
            bool is_solved = true;  // perhaps only the hashes are equal
            for (std::size_t k = 0; k < end.size(); ++k)
                is_solved = is_solved && end[k] == end[k / (end.size() / kFaces) * size * size];
            if (is_solved) best = whole, least = count;
        }
    });
    return best;
}

}  // namespace cubist
