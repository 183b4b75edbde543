#include "reduction/finish.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <unordered_map>

#include "reduction/layered_cube.hpp"
#include "reduction/three_cycles.hpp"

namespace cubist {

namespace {

constexpr int kSlots = 24;
using Pieces = std::array<std::uint8_t, kSlots>;  // one orbit

constexpr std::array<std::array<int, 3>, kCorners> kCornerFaces{
    {{U, F, R}, {U, R, B}, {U, B, L}, {U, L, F}, {D, F, L}, {D, L, B}, {D, B, R}, {D, R, F}}};

int mate(int wing) { return wing_number(wing_faces()[wing][1], wing_faces()[wing][0]); }

// Returns whether the first face of a wing slot comes first in the name of its edge: U D, then F B.
bool is_named_first(int wing) {
    constexpr std::array<int, 3> kRank{0, 2, 1};  // of the axes U-D, R-L, F-B
    const auto [first, second] = wing_faces()[wing];
    return kRank[first % 3] < kRank[second % 3];
}

bool is_odd(std::span<const std::uint8_t> from, std::span<const std::uint8_t> to) {
    std::array<std::uint8_t, kSlots> place{};
    for (std::size_t i = 0; i < to.size(); ++i) place[to[i]] = static_cast<std::uint8_t>(i);
    bool odd = false;
    std::array<bool, kSlots> is_done{};
    for (std::size_t start = 0; start < from.size(); ++start) {
        int length = 0;
        for (std::size_t at = start; !is_done[at]; at = place[from[at]], ++length)
            is_done[at] = true;
        odd ^= length > 0 && length % 2 == 0;
    }
    return odd;
}

class Finisher {
public:
    Finisher(const Geometry& geometry, Colours stickers,
             const std::function<bool(double)>& progress)
        : geometry_(geometry),
          size_(geometry.size()),
          stickers_(std::move(stickers)),
          progress_(progress) {}

    bool run(Finish& finish) {
        name_by_faces(geometry_, stickers_);
        const Pieces form = edges_wanted();
        turn_odd_slices(form, finish.parity);
        return build_centres(finish.centres) && pair_wings(form, finish.edges);
    }

private:
    Pieces wings(int offset) const {
        const auto firsts = geometry_.wing_slots(offset), seconds = geometry_.wing_seconds(offset);
        Pieces pieces{};
        for (int slot = 0; slot < kSlots; ++slot)
            pieces[slot] = static_cast<std::uint8_t>(
                wing_number(stickers_[firsts[slot]], stickers_[seconds[slot]]));
        return pieces;
    }

    // Returns the edges of the future 3x3x3 as wings by slot: the middle ones or, on even cubes,
    // those with which most wings of one orbit agree, adjusted so that the 3x3x3 is legal.
    Pieces edges_wanted() const {
        if (size_ % 2 == 1) return wings(0);
        Pieces form = pairs_of(wings(1));
        if (flips_of(form) % 2 == 1) std::swap(form[0], form[mate(0)]);
        if (edges_are_odd(form) != corners_are_odd(geometry_, stickers_)) {
            const int other = wing_number(U, L);
            std::swap(form[0], form[other]);
            std::swap(form[mate(0)], form[mate(other)]);
        }
        return form;
    }

    static Pieces pairs_of(const Pieces& wings) {
        constexpr std::uint8_t kNone = kSlots;
        Pieces form;
        form.fill(kNone);
        std::array<bool, kSlots> is_used{};
        const auto place = [&](int slot, int wing) {
            form[slot] = static_cast<std::uint8_t>(wing);
            form[mate(slot)] = static_cast<std::uint8_t>(mate(wing));
            is_used[wing] = is_used[mate(wing)] = true;
        };
        for (int slot = 0; slot < kSlots; ++slot)
            if (wings[mate(slot)] == mate(wings[slot])) place(slot, wings[slot]);
        for (int slot = 0; slot < kSlots; ++slot)
            if (form[slot] == kNone && !is_used[wings[slot]]) place(slot, wings[slot]);
        int unused = 0;
        for (int slot = 0; slot < kSlots; ++slot)
            if (form[slot] == kNone) {
                while (is_used[unused]) ++unused;
                place(slot, unused);
            }
        return form;
    }

    static int flips_of(const Pieces& form) {
        int flips = 0;
        for (int slot = 0; slot < kSlots; ++slot)
            flips += is_named_first(slot) && !is_named_first(form[slot]);
        return flips;
    }

    static bool edges_are_odd(const Pieces& form) {
        std::vector<std::uint8_t> edges, homes;
        std::array<std::uint8_t, kSlots> number{};
        for (int slot = 0; slot < kSlots; ++slot)
            if (is_named_first(slot)) {
                number[slot] = number[mate(slot)] = static_cast<std::uint8_t>(homes.size());
                homes.push_back(number[slot]);
            }
        for (int slot = 0; slot < kSlots; ++slot)
            if (is_named_first(slot)) edges.push_back(number[form[slot]]);
        return is_odd(edges, homes);
    }

    // A quarter turn of a slice is an odd permutation of its own wings and of no others.
    void turn_odd_slices(const Pieces& form, BlockTurns& turns) {
        for (int offset = size_ - 3; offset > 0; offset -= 2)
            if (is_odd(wings(offset), form)) {
                const auto layer = static_cast<std::uint8_t>(geometry_.layer_number(offset));
                turns.push_back({U, layer, layer, 1});
            }
        turns = joined(turns, size_);
        geometry_.turn(turns, stickers_);
    }

    bool build_centres(BlockTurns& turns) {
        Pieces wanted{};
        for (int slot = 0; slot < kSlots; ++slot)
            wanted[slot] = static_cast<std::uint8_t>(slot / 4);
        const int first = size_ % 2 == 0 ? 1 : 0;
        for (int row = first; row <= size_ - 3; row += 2) {
            for (int column = first == 0 ? 2 : 1; column <= size_ - 3; column += 2) {
                Pieces pieces{};
                const auto slots = geometry_.centre_slots(row, column);
                for (int slot = 0; slot < kSlots; ++slot) pieces[slot] = stickers_[slots[slot]];
                const auto kind = row == column ? OrbitKind::kDiagonal
                                  : row == 0    ? OrbitKind::kMiddle
                                                : OrbitKind::kOblique;
                exchange(ThreeCycles::of(kind), pieces, wanted, row, column, turns);
            }
            if (!progress_(kShareOfCentres * (row + 2) / size_)) return false;
        }
        turns = joined(turns, size_);
        return true;
    }

    bool pair_wings(const Pieces& form, BlockTurns& turns) {
        for (int offset = size_ - 3; offset > 0; offset -= 2) {
            Pieces pieces = wings(offset);
            exchange(ThreeCycles::of(OrbitKind::kWing), pieces, form, offset, 0, turns);
            if (!progress_(1.0 - (1.0 - kShareOfCentres) * offset / size_)) return false;
        }
        turns = joined(turns, size_);
        return true;
    }

    // Repeats the exchange that brings home the most pieces per turn, until all are home.
    void exchange(const ThreeCycles& cycles, Pieces& pieces, const Pieces& wanted, int row,
                  int column, BlockTurns& turns) const {
        while (pieces != wanted) {
            const ThreeCycle* best = nullptr;
            int best_gain = 0;
            for (const ThreeCycle& cycle : cycles.all()) {
                const auto [a, b, c] = cycle.slots;
                const int before =
                    (pieces[a] == wanted[a]) + (pieces[b] == wanted[b]) + (pieces[c] == wanted[c]);
                const int after =
                    (pieces[a] == wanted[b]) + (pieces[b] == wanted[c]) + (pieces[c] == wanted[a]);
                const int gain = after - before;
                if (gain <= 0) continue;
                if (best == nullptr || gain * best->cost > best_gain * cycle.cost)
                    best = &cycle, best_gain = gain;
            }
            if (best == nullptr) throw std::invalid_argument("not the stickers of a cube");
            const auto [a, b, c] = best->slots;
            const std::uint8_t last = pieces[c];
            pieces[c] = pieces[b], pieces[b] = pieces[a], pieces[a] = last;
            cycles.append(turns, *best, geometry_, row, column);
        }
    }

    static constexpr double kShareOfCentres = 0.9;

    const Geometry& geometry_;
    int size_;
    Colours stickers_;
    const std::function<bool(double)>& progress_;
};

}  // namespace

namespace {

using Scheme = std::array<int, kFaces>;

// Returns the colour of each face if the cube is held with these two colours at U and F.
Scheme scheme_of(const std::array<int, 2>& held) {
    const auto [up, front] = held;
    const Place right = cross(normal_of(up), normal_of(front));
    Scheme scheme{};
    scheme[U] = up, scheme[F] = front;
    for (int face = 0; face < kFaces; ++face)
        if (normal_of(face) == right) scheme[R] = face;
    for (int face = 0; face < 3; ++face) scheme[face + 3] = opposite(scheme[face]);
    return scheme;
}

int centres_in_place(const Geometry& geometry, const Colours& stickers, const Scheme& scheme) {
    const int size = geometry.size();
    int count = 0;
    for (int face = 0; face < kFaces; ++face)
        for (int row = 1; row < size - 1; ++row)
            for (int column = 1; column < size - 1; ++column) {
                const bool is_middle = 2 * row == size - 1 && 2 * column == size - 1;
                if (stickers[(face * size + row) * size + column] == scheme[face])
                    count += is_middle ? geometry.stickers() : 1;
            }
    return count;
}

}  // namespace

void name_by_faces(const Geometry& geometry, Colours& stickers) {
    Scheme best{};
    int most = -1;
    for (const auto& held : wing_faces()) {
        const Scheme scheme = scheme_of(held);
        const int count = centres_in_place(geometry, stickers, scheme);
        if (count > most) most = count, best = scheme;
    }
    std::array<std::uint8_t, kFaces> face_of{};
    for (int face = 0; face < kFaces; ++face) face_of[best[face]] = static_cast<std::uint8_t>(face);
    for (std::uint8_t& sticker : stickers) sticker = face_of[sticker];
}

bool corners_are_odd(const Geometry& geometry, const Colours& stickers) {
    std::array<std::uint8_t, kCorners> corners{}, homes{};
    std::array<int, 64> number{};
    for (int slot = 0; slot < kCorners; ++slot) {
        int faces = 0;
        for (const int face : kCornerFaces[slot]) faces |= 1 << face;
        number[faces] = slot;
        homes[slot] = static_cast<std::uint8_t>(slot);
    }
    for (int slot = 0; slot < kCorners; ++slot) {
        int colours = 0;
        Place corner{};
        for (const int face : kCornerFaces[slot])
            for (int i = 0; i < 3; ++i) corner[i] += (geometry.size() - 1) * normal_of(face)[i];
        for (const int face : kCornerFaces[slot]) {
            Place sticker = corner;
            for (int i = 0; i < 3; ++i) sticker[i] += normal_of(face)[i];
            colours |= 1 << stickers[geometry.sticker_at(sticker)];
        }
        corners[slot] = static_cast<std::uint8_t>(number[colours]);
    }
    return is_odd(corners, homes);
}

bool finish_reduction(const Geometry& geometry, Colours stickers,
                      const std::function<bool(double)>& progress, Finish& finish) {
    return Finisher(geometry, std::move(stickers), progress).run(finish);
}

namespace {

// IDA* over block turns for cubes a few turns from solved.
//
// Neighbouring stickers on the faces of a solved cube are alike. A block turn moves one part of the
// cube against the other, so only the N pairs across their border change on each of four faces. A
// cube with k unlike pairs therefore needs at least k / 4N block turns. A wrong turn usually adds
// nearly 4N unlike pairs, after which the turns that are left cannot suffice. So the search follows
// hardly any wrong turn, on large cubes least of all.
class BorderSearch {
public:
    BorderSearch(const Geometry& geometry, const Colours& stickers)
        : geometry_(geometry), size_(geometry.size()), around_(4 * size_), stickers_(stickers) {
        rings_.reserve(3 * size_);
        for (int axis = 0; axis < 3; ++axis)
            for (int layer = 1; layer <= size_; ++layer) rings_.push_back(ring(axis, layer));
    }

    // Returns up to `most` solutions: a shortest one first, then others of up to `longer` turns
    // more. Returns none if the shortest has more than kMostTurns turns or takes too long to find.
    std::vector<BlockTurns> run(std::size_t most, int longer) {
        most_ = most;
        int unlike = 0;
        for (int axis = 0; axis < 3; ++axis)
            for (int border = 1; border < size_; ++border) {
                read_border(axis, border);
                unlike += count_unlike(0);
            }
        const int least = (unlike + around_ - 1) / around_;
        int longest = kMostTurns;
        for (int turns = least; turns <= longest && !walk(unlike, turns, -1, 0); ++turns)
            if (!found_.empty())
                longest = std::min(kMostTurns, static_cast<int>(found_.front().size()) + longer);
        return std::move(found_);
    }

private:
    static constexpr int kMostTurns = 12;
    static constexpr int kMostWork = 100'000;  // positions times layers, a few tenths of a second

    // Returns the stickers around a layer, N of each face. A quarter turn moves each by N places.
    std::vector<int> ring(int axis, int layer) const {
        const Place normal = normal_of(axis);
        std::vector<int> stickers;
        stickers.reserve(around_);
        Place side = normal_of((axis + 1) % 3);
        for (int face = 0; face < 4; ++face) {
            const Place next = cross(side, normal);
            for (int number = 1; number <= size_; ++number) {
                Place place{};
                for (int i = 0; i < 3; ++i)
                    place[i] = size_ * side[i] + geometry_.coordinate(layer) * normal[i] +
                               geometry_.coordinate(number) * next[i];
                stickers.push_back(geometry_.sticker_at(place));
            }
            side = next;
        }
        return stickers;
    }

    // Reads the stickers on both sides of the border after `border` layers.
    void read_border(int axis, int border) {
        const std::vector<int>*const near = &rings_[axis * size_ + border - 1], *const far =
                                                                                    near + 1;
        near_.resize(2 * around_);
        far_.resize(around_);
        for (int k = 0; k < around_; ++k) {
            near_[k] = near_[k + around_] = stickers_[(*near)[k]];
            far_[k] = stickers_[(*far)[k]];
        }
    }

    // Counts the unlike pairs across the border that was read, after quarter turns of its near
    // side.
    int count_unlike(int quarters) const {
        const std::uint8_t* const turned = near_.data() + (4 - quarters) * size_;
        int count = 0;
        for (int k = 0; k < around_; ++k) count += turned[k] != far_[k] ? 1 : 0;
        return count;
    }

    // Returns the turn of the smaller part. Turning the other one is the same seen from the
    // opposite side.
    BlockTurn turn_at(int axis, int border, int quarters) const {
        const bool is_near = 2 * border <= size_;
        const int face = is_near ? axis : axis + 3, last = is_near ? border : size_ - border;
        return {static_cast<std::uint8_t>(face), 1, static_cast<std::uint8_t>(last),
                static_cast<std::uint8_t>(quarters)};
    }

    bool is_over() const { return work_ > kMostWork; }

    // Adds the solutions of exactly `left` turns. Returns whether the search is over. Successive
    // turns on one axis are in the order of their borders.
    bool walk(int unlike, int left, int last_axis, int last_border) {
        if (unlike == 0) {
            if (left == 0) found_.push_back(path_);
            return found_.size() >= most_;
        }
        if (left == 0 || is_over()) return is_over();
        work_ += size_;
        for (int axis = 0; axis < 3; ++axis)
            for (int border = axis == last_axis ? last_border + 1 : 1; border < size_; ++border) {
                read_border(axis, border);
                const int others = unlike - count_unlike(0);
                std::array<int, 4> after{};
                for (int quarters = 1; quarters < 4; ++quarters)
                    after[quarters] = others + count_unlike(quarters);
                for (int quarters = 1; quarters < 4; ++quarters) {
                    if (after[quarters] > around_ * (left - 1)) continue;
                    const BlockTurn turn = turn_at(axis, border, quarters);
                    geometry_.turn(turn, stickers_);
                    path_.push_back(turn);
                    const bool over = walk(after[quarters], left - 1, axis, border);
                    path_.pop_back();
                    geometry_.turn(turn.inverse(), stickers_);
                    if (over) return true;
                }
            }
        return false;
    }

    const Geometry& geometry_;
    int size_, around_;
    Colours stickers_;
    std::vector<std::vector<int>> rings_;   // axis after axis, layers from U, R, F
    std::vector<std::uint8_t> near_, far_;  // around the layers at a border; near ones twice over
    BlockTurns path_;
    std::vector<BlockTurns> found_;
    std::size_t most_ = 1;
    int work_ = 0;
};

// Up to two turns from either end. An unused turn has no quarters.
using Few = std::array<BlockTurn, 2>;
constexpr BlockTurn kNoTurn{0, 1, 1, 0};
constexpr int kMostMet = 4;
constexpr int kLargestToMeet = 11;  // layers; larger cubes have too many turns and stickers

// Blocks of up to half of the layers, and single layers in them. The others are the same seen from
// the opposite side, after a rotation of the whole cube.
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

// Calls `visit` with every position up to two turns away.
template <class Visit>
void walk(const Geometry& geometry, const BlockTurns& turns, const Colours& from, Visit visit) {
    visit(from, Few{kNoTurn, kNoTurn});
    for (const BlockTurn first : turns) {
        Colours after = from;
        geometry.turn(first, after);
        visit(after, Few{first, kNoTurn});
        for (const BlockTurn second : turns) {
            Colours end = after;
            geometry.turn(second, end);
            visit(end, Few{first, second});
        }
    }
}

// Hashes the colours by order of appearance, so that it does not matter how the cube is held.
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

namespace {

// Compares all positions two turns away with those two turns away from solved.
std::optional<FewTurns> meet(const Geometry& geometry, const Colours& stickers) {
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
            for (std::size_t k = few.size(); k-- > 0;) append(whole, met->second[k].inverse());
            whole = joined(whole, size);
            const int count = block_turn_count(whole, size);
            if (best && count >= least) continue;
            Colours end = stickers;
            geometry.turn(whole, end);
            bool is_solved = true;  // equal hashes may be a coincidence
            for (std::size_t k = 0; k < end.size(); ++k)
                is_solved = is_solved && end[k] == end[k / (end.size() / kFaces) * size * size];
            if (is_solved) best = whole, least = count;
        }
    });
    if (!best) return std::nullopt;
    return FewTurns{{*best}, std::min(least, kMostMet + 1)};
}

}  // namespace

std::optional<FewTurns> few_turns(const Geometry& geometry, const Colours& stickers,
                                  std::size_t most, int longer) {
    if (auto ways = BorderSearch(geometry, stickers).run(most, longer); !ways.empty()) {
        const auto least = static_cast<int>(ways.front().size());
        return FewTurns{std::move(ways), least};
    }
    return geometry.size() <= kLargestToMeet ? meet(geometry, stickers) : std::nullopt;
}

}  // namespace cubist
