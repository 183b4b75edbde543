#include "reduction/four_tables.hpp"

#include <algorithm>
#include <bit>

#include "cube/breadth_first.hpp"

namespace cubist {

namespace {

constexpr int kRaws = 12 * 12 * 12 * 12;
constexpr int kRestSlots = 6;  // of eight values; the last two follow from them

BlockTurn turn(int face, int layers, int quarters) {
    return {static_cast<std::uint8_t>(face), 1, static_cast<std::uint8_t>(layers),
            static_cast<std::uint8_t>(quarters)};
}

BlockTurns all_turns() {
    BlockTurns turns;
    for (const int face : {U, D, F, B})
        for (int quarters = 1; quarters < 4; ++quarters) turns.push_back(turn(face, 1, quarters));
    for (const int face : {R, L}) turns.push_back(turn(face, 1, 2));
    for (const int face : {U, R, F}) turns.push_back(turn(face, 2, 2));
    return turns;
}

int mate_of(int wing) { return wing_number(wing_faces()[wing][1], wing_faces()[wing][0]); }

}  // namespace

PairingFrame::PairingFrame(const Geometry& geometry) : turns_(all_turns()) {
    std::vector<OrbitMove> moves;
    for (const BlockTurn one : turns_)
        moves.push_back(orbit_move(geometry, one, geometry.wing_slots(1)));
    find_edges(moves);
    for (const OrbitMove& from : moves) {
        EdgeMap low{}, high{};
        for (int edge = 0; edge < kEdges; ++edge) {
            low[edge_of_[from[edges_[edge][0]]]] = static_cast<std::uint8_t>(edge);
            high[edge_of_[from[edges_[edge][1]]]] = static_cast<std::uint8_t>(edge);
        }
        low_moves_.push_back(low);
        high_moves_.push_back(high);
    }
    find_symmetries();
}

void PairingFrame::find_edges(const std::vector<OrbitMove>& moves) {
    low_ = 1;
    for (Mask before = 0; before != low_;) {
        before = low_;
        for (const OrbitMove& from : moves) low_ |= MaskMove(from)(low_);
    }
    int between = 0, beside = 4;
    for (int wing = 0; wing < kOrbit; ++wing) {
        if ((low_ >> wing & 1) == 0) continue;
        const auto [first, second] = wing_faces()[wing];
        int& next = first % 3 != R && second % 3 != R ? between : beside;
        edges_[next] = {static_cast<std::uint8_t>(wing), static_cast<std::uint8_t>(mate_of(wing))};
        edge_of_[wing] = edge_of_[mate_of(wing)] = static_cast<std::uint8_t>(next);
        ++next;
    }
}

void PairingFrame::find_symmetries() {
    for (const FaceMap& map : all_face_maps()) {
        if (map[R] % 3 != R) continue;
        bool keeps_low = true;
        EdgeMap renamed{};
        for (int edge = 0; edge < kEdges; ++edge) {
            const auto [first, second] = wing_faces()[edges_[edge][0]];
            // A reflection reverses the order of a wing's faces.
            const int image = is_reflection(map) ? wing_number(map[second], map[first])
                                                 : wing_number(map[first], map[second]);
            keeps_low = keeps_low && (low_ >> image & 1) != 0;
            renamed[edge] = edge_of_[image];
        }
        if (!keeps_low) continue;
        symmetries_.push_back(renamed);
        const bool is_identity = std::is_sorted(renamed.begin(), renamed.end());
        if (is_identity) std::swap(symmetries_.front(), symmetries_.back());
    }
}

PairingTable::PairingTable(const PairingFrame& frame) : frame_(frame), classes_(kRaws) {
    find_classes();
}

int PairingTable::raw(const EdgeMap& sigma) const {
    return ((sigma[0] * 12 + sigma[1]) * 12 + sigma[2]) * 12 + sigma[3];
}

void PairingTable::find_classes() {
    std::vector<bool> is_known(kRaws);
    for (int first = 0; first < kRaws; ++first) {
        EdgeMap sigma{};
        unsigned used = 0;
        for (int place = 3, rest = first; place >= 0; --place, rest /= 12) {
            sigma[place] = static_cast<std::uint8_t>(rest % 12);
            used |= 1U << rest % 12;
        }
        if (std::popcount(used) != 4 || is_known[first]) continue;
        const auto number = static_cast<std::uint16_t>(representatives_.size());
        representatives_.push_back({sigma[0], sigma[1], sigma[2], sigma[3]});
        stabilisers_.emplace_back();
        const auto& symmetries = frame_.symmetries();
        for (std::size_t s = 0; s < symmetries.size(); ++s) {
            // sigma = s' tau s for the representative sigma and its image tau.
            const EdgeMap& rename = symmetries[s];
            EdgeMap tau{};
            for (int edge = 0; edge < 4; ++edge) {
                const auto from =
                    std::find(rename.begin(), rename.end(), sigma[rename[edge]]) - rename.begin();
                tau[edge] = static_cast<std::uint8_t>(from);
            }
            if (raw(tau) == first) stabilisers_.back().push_back(static_cast<std::uint8_t>(s));
            if (is_known[raw(tau)]) continue;
            is_known[raw(tau)] = true;
            classes_[raw(tau)] = {number, static_cast<std::uint8_t>(s)};
        }
    }
}

namespace {

// s sigma s'.
EdgeMap renamed(const EdgeMap& sigma, const EdgeMap& rename) {
    EdgeMap after;
    for (int edge = 0; edge < kEdges; ++edge) after[rename[edge]] = rename[sigma[edge]];
    return after;
}

// The digits of the six values after the first four, among the remaining ones.
int rest_number(const EdgeMap& sigma) {
    unsigned left = 0xFFF;
    for (int edge = 0; edge < 4; ++edge) left &= ~(1U << sigma[edge]);
    int number = 0;
    for (int edge = 4; edge < 4 + kRestSlots; ++edge) {
        const unsigned bit = 1U << sigma[edge];
        number = number * (kEdges - edge) + std::popcount(left & (bit - 1));
        left &= ~bit;
    }
    return number;
}

}  // namespace

int PairingTable::number(const EdgeMap& sigma) const {
    const Class found = classes_[raw(sigma)];
    if (found.symmetry == 0) return found.number * kRest + rest_number(sigma);
    return found.number * kRest + rest_number(renamed(sigma, frame_.symmetries()[found.symmetry]));
}

EdgeMap PairingTable::sigma(int number) const {
    EdgeMap sigma{};
    std::array<int, kEdges> digits{};
    int rest = number % kRest;
    for (int edge = 3 + kRestSlots; edge >= 4; --edge) {
        digits[edge] = rest % (kEdges - edge);
        rest /= kEdges - edge;
    }
    const auto& first = representatives_[number / kRest];
    unsigned left = 0xFFF;
    int sum = 0;  // of the digits: the parity
    for (int edge = 0; edge < kEdges; ++edge) {
        if (edge < 4) {
            sigma[edge] = first[edge];
        } else {
            const int digit = edge == kEdges - 2 ? sum % 2 : edge == kEdges - 1 ? 0 : digits[edge];
            unsigned values = left;
            for (int k = 0; k < digit; ++k) values &= values - 1;
            sigma[edge] = static_cast<std::uint8_t>(std::countr_zero(values));
        }
        const unsigned bit = 1U << sigma[edge];
        sum += std::popcount(left & (bit - 1));
        left &= ~bit;
    }
    return sigma;
}

void PairingTable::set(std::vector<std::uint8_t>& distances, const EdgeMap& sigma,
                       std::uint8_t value) const {
    const Class found = classes_[raw(sigma)];
    const EdgeMap own = renamed(sigma, frame_.symmetries()[found.symmetry]);
    const std::size_t start = std::size_t{found.number} * kRest;
    std::uint8_t& entry = distances[start + rest_number(own)];
    if (entry != 0xFF) return;
    entry = value;
    for (const std::uint8_t s : stabilisers_[found.number])
        distances[start + rest_number(renamed(own, frame_.symmetries()[s]))] = value;
}

bool PairingTable::make(std::span<std::uint8_t> table, int threads,
                        const Progress& progress) const {
    constexpr int kBlock = 4;
    std::vector<std::uint8_t> distances(kPositions, 0xFF);
    EdgeMap solved;
    for (int edge = 0; edge < kEdges; ++edge) solved[edge] = static_cast<std::uint8_t>(edge);
    set(distances, solved, 0);
    const auto expand = [&](int number, int depth) {
        std::size_t expanded = 0;
        for (int position = number * kRest; position < (number + 1) * kRest; ++position) {
            if (distances[position] != depth) continue;
            const EdgeMap at = sigma(position);
            for (std::size_t t = 0; t < frame_.turns().size(); ++t)
                set(distances, frame_.moved(at, static_cast<int>(t)),
                    static_cast<std::uint8_t>(depth + 1));
            ++expanded;
        }
        return expanded;
    };
    const auto report = [&](std::size_t expanded) {
        return progress(static_cast<double>(expanded) / kPositions);
    };
    const LevelOptions levels{
        .rows = kClasses, .block = kBlock, .threads = threads, .deepest = kDeepest};
    if (!fill_by_level(levels, expand, report)) return false;
    std::fill(table.begin(), table.end(), std::uint8_t{0});
    for (int position = 0; position < kPositions; ++position) {
        const int code = distances[position] == 0xFF ? kFar : distances[position] % 3;
        table[position / 4] |= static_cast<std::uint8_t>(code << position % 4 * 2);
    }
    return progress(1.0);
}

int PairingTable::distance(const EdgeMap& sigma) const {
    EdgeMap at = sigma;
    int distance = 0;
    for (int remainder = remainder_of(number(at)); number(at) != 0; ++distance) {
        if (remainder == kFar) return kDeepest + 1;
        int t = 0;
        for (;; ++t) {
            const EdgeMap next = frame_.moved(at, t);
            if (remainder_of(number(next)) == (remainder + 2) % 3) {
                at = next;
                break;
            }
        }
        remainder = (remainder + 2) % 3;
    }
    return distance;
}

namespace {

// All face turns, and block turns of two layers from U, R and F. Those from the other side differ
// by a rotation of the cube.
BlockTurns block_turns(bool only_half_beside_right) {
    BlockTurns turns;
    for (int face = 0; face < kFaces; ++face)
        for (int quarters = 1; quarters < 4; ++quarters) turns.push_back(turn(face, 1, quarters));
    for (int face = 0; face < 3; ++face)
        for (int quarters = 1; quarters < 4; ++quarters)
            if (quarters == 2 || face == R || !only_half_beside_right)
                turns.push_back(turn(face, 2, quarters));
    return turns;
}

}  // namespace

PhaseTurns::PhaseTurns(const Geometry& geometry, BlockTurns all) : turns(std::move(all)) {
    const auto centre_slots = geometry.centre_slots(1, 1), wing_slots = geometry.wing_slots(1);
    for (const BlockTurn one : turns) {
        block.push_back(static_cast<std::uint8_t>(one.last == 2 ? 2 : one.face / 3));
        centres.push_back(orbit_move(geometry, one, centre_slots));
        wings.push_back(orbit_move(geometry, one, wing_slots));
        corner_parity.push_back(one.quarters % 2);
    }
}

std::size_t FourTables::bytes() { return kSizes[0] + kSizes[1] + kSizes[2] + PairingTable::kBytes; }

bool FourTables::make(std::span<std::uint8_t> table, int threads, const Progress& progress) {
    const FourTables empty(table);
    std::fill(table.begin(), table.end(), kUnreachable);
    empty.fill1(table.subspan(0, kSizes[0]));
    empty.fill2(table.subspan(kSizes[0], kSizes[1]));
    empty.fill3(table.subspan(kSizes[0] + kSizes[1], kSizes[2]));
    return empty.pairing_.make(table.subspan(table.size() - PairingTable::kBytes), threads,
                               progress);
}

FourTables::FourTables(std::span<const std::uint8_t> table)
    : geometry_(4),
      frame_(geometry_),
      phases_{PhaseTurns(geometry_, block_turns(false)), PhaseTurns(geometry_, block_turns(true)),
              PhaseTurns(geometry_, frame_.turns())},
      rank24_(24, 8),
      rank16_(16, 8),
      rank8_(8, 4),
      distances1_(table.subspan(0, kSizes[0])),
      distances2_(table.subspan(kSizes[0], kSizes[1])),
      distances3_(table.subspan(kSizes[0] + kSizes[1], kSizes[2])),
      pairing_(frame_) {
    pairing_.use(table.subspan(table.size() - PairingTable::kBytes));
    make_moves();
}

void FourTables::fill1(Distances distances) const {
    std::vector<MaskMove> moves;
    for (const OrbitMove& move : phases_[0].centres) moves.emplace_back(move);
    const std::vector<Mask> masks = rank24_.all();
    distances[rank24_(kRightLeft)] = 0;
    fill_breadth_first(distances, moves.size(), [&](std::uint32_t at, std::size_t t) {
        return static_cast<std::uint32_t>(rank24_(moves[t](masks[at])));
    });
}

// The arrangements of R and L that phase 3 can finish.
std::vector<bool> FourTables::pairs_in_reach() const {
    const auto found =
        reached_from({rank8_(0xF), rank8_(0xF0)}, kPair, moves3_[R].size(),
                     [this](int at, std::size_t turn) { return moves3_[R][turn][at]; });
    std::vector<bool> reached(kPair);
    for (const int at : found) reached[at] = true;
    return reached;
}

void FourTables::make_moves() {
    const std::vector<Mask> bands = rank16_.all(), pairs = rank8_.all();
    const auto number_of_pair = [&](const MaskMove& move, int at, int axis) {
        return rank8_(pair_of(move(from_pair(pairs[at], axis)), axis));
    };
    for (const OrbitMove& from : phases_[1].centres) {
        const MaskMove move(from);
        auto& band_goes_to = band_moves_.emplace_back();
        for (const Mask band : bands)
            band_goes_to.push_back(
                static_cast<std::uint16_t>(rank16_(band_of(move(from_band(band))))));
        auto& pair_goes_to = pair_moves_.emplace_back();
        for (int at = 0; at < kPair; ++at)
            pair_goes_to.push_back(static_cast<std::uint16_t>(number_of_pair(move, at, R)));
    }
    for (const OrbitMove& from : phases_[1].wings) wing_parity_.push_back(is_odd(from));
    for (int axis = 0; axis < 3; ++axis)
        for (const OrbitMove& from : phases_[2].centres) {
            const MaskMove move(from);
            auto& goes_to = moves3_[axis].emplace_back();
            for (int at = 0; at < kPair; ++at)
                goes_to[at] = static_cast<std::uint8_t>(number_of_pair(move, at, axis));
        }
    for (std::size_t t = 0; t < phases_[2].size(); ++t)
        parity3_.push_back(static_cast<std::uint8_t>(is_odd(frame_.low_move(static_cast<int>(t))) ^
                                                     phases_[2].corner_parity[t]));
}

void FourTables::fill2(Distances distances) const {
    const auto in_reach = pairs_in_reach();
    for (const Mask band : {Mask{0x0F0F}, Mask{0xF0F0}})
        for (int pair = 0; pair < kPair; ++pair)
            if (in_reach[pair]) distances[(rank16_(band) * kPair + pair) * 2] = 0;
    fill_breadth_first(distances, phases_[1].size(), [&](std::uint32_t at, std::size_t t) {
        const auto [band, pair, parity] =
            moved2({static_cast<std::uint16_t>(at / 2 / kPair),
                    static_cast<std::uint16_t>(at / 2 % kPair), static_cast<std::uint8_t>(at % 2)},
                   static_cast<int>(t));
        return static_cast<std::uint32_t>((band * kPair + pair) * 2 + parity);
    });
}

void FourTables::fill3(Distances distances) const {
    // Two reversed axes mean a cube held differently; one or three would mean its mirror image.
    for (int flipped = 0; flipped < 4; ++flipped) {
        const auto side = [&](bool is_flipped) {
            return static_cast<std::uint8_t>(rank8_(is_flipped ? 0xF0 : 0xF));
        };
        const bool first = flipped % 2 == 1, second = flipped / 2 == 1;
        distances[number3({{side(first), side(second), side(first != second)}, 0})] = 0;
    }
    fill_breadth_first(distances, phases_[2].size(), [&](std::uint32_t at, std::size_t t) {
        const State3 state{{static_cast<std::uint8_t>(at / 2 / kPair / kPair),
                            static_cast<std::uint8_t>(at / 2 / kPair % kPair),
                            static_cast<std::uint8_t>(at / 2 % kPair)},
                           static_cast<std::uint8_t>(at % 2)};
        return static_cast<std::uint32_t>(number3(moved3(state, static_cast<int>(t))));
    });
}

FourTables::State2 FourTables::state2(Mask band, Mask right, int parity) const {
    return {static_cast<std::uint16_t>(rank16_(band_of(band))),
            static_cast<std::uint16_t>(rank8_(pair_of(right, R))),
            static_cast<std::uint8_t>(parity)};
}

FourTables::State3 FourTables::state3(const std::array<Mask, 3>& masks, int parity) const {
    State3 state{{}, static_cast<std::uint8_t>(parity)};
    for (int axis = 0; axis < 3; ++axis)
        state.pairs[axis] = static_cast<std::uint8_t>(rank8_(pair_of(masks[axis], axis)));
    return state;
}

}  // namespace cubist
