#include "reduction/five_pairing.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

#include "cube/breadth_first.hpp"

namespace cubist {

namespace {

// Returns the slot that the piece of a slot moves to.
int goes_to(const OrbitMove& from, int slot) {
    return static_cast<int>(std::find(from.begin(), from.end(), slot) - from.begin());
}

bool keeps_axes(const FaceMap& map) {
    return map[U] % 3 == U && map[R] % 3 == R && map[F] % 3 == F;
}

// Returns whether the low wings in U and D move to low slots.
bool keeps_low(const FiveCube& cube, const FaceMap& map) {
    return cube.is_low(goes_to(wing_symmetry(map), cube.slots()[0][0]));
}

}  // namespace

EdgeAction edge_action(const FiveCube& cube, int turn) {
    EdgeAction action{};
    for (int place = 0; place < kPlaces; ++place) {
        const auto [low, high] = cube.slots()[place];
        const auto edge = [&](const OrbitMove& from, int slot) {
            return static_cast<std::uint8_t>(cube.edge_of(goes_to(from, slot)));
        };
        action.middles[place] = edge(cube.middle_move(turn), low);
        action.low[place] = edge(cube.wing_move(turn), low);
        action.high[place] = edge(cube.wing_move(turn), high);
    }
    return action;
}

EdgeAction edge_action(const FiveCube& cube, const FaceMap& map) {
    const OrbitMove from = wing_symmetry(map);
    PlaceMap places{};
    for (int place = 0; place < kPlaces; ++place)
        places[place] =
            static_cast<std::uint8_t>(cube.edge_of(goes_to(from, cube.slots()[place][0])));
    return {places, places, places};
}

std::vector<FaceMap> symmetries_of_low(const FiveCube& cube, bool keeps_all_axes) {
    std::vector<FaceMap> found;
    for (const FaceMap& map : all_face_maps()) {
        if (map[U] % 3 != U || (keeps_all_axes && !keeps_axes(map))) continue;
        bool is_kept = true;
        for (int place = 0; place < kPlaces; ++place)
            is_kept = is_kept && cube.is_low(goes_to(wing_symmetry(map), cube.slots()[place][0]));
        if (!is_kept) continue;
        found.push_back(map);
        if (map == FaceMap{U, R, F, D, L, B}) std::swap(found.front(), found.back());
    }
    return found;
}

FaceMap mirror_of_low(const FiveCube& cube) {
    for (const FaceMap& map : all_face_maps())
        if (keeps_axes(map) && is_reflection(map) && !keeps_low(cube, map)) return map;
    throw std::logic_error("no symmetry exchanges the half orbits");
}

FourEdges::FourEdges() : masks_(rank_.all()) {
    std::array<std::uint8_t, 4> order{0, 1, 2, 3};
    do orders_.push_back(order);
    while (std::next_permutation(order.begin(), order.end()));
    for (int code = 0; code < 4096; ++code) {
        std::array<std::uint8_t, 4> places{};
        unsigned used = 0;
        for (int k = 0; k < 4; ++k) {
            places[k] = static_cast<std::uint8_t>(code >> 3 * k & 7);
            used |= 1U << places[k];
        }
        if (std::popcount(used) != 4) continue;
        number_[code] = static_cast<std::uint16_t>(places_.size());
        places_.push_back(places);
    }
    for (const auto& one : orders_) {
        auto& sorted = sorted_.emplace_back();
        for (int wings = 0; wings < kWings; ++wings) {
            std::array<std::uint8_t, 4> places{};
            for (int k = 0; k < 4; ++k) places[k] = places_[wings][one[k]];
            sorted[wings] = static_cast<std::uint16_t>(wings_of(places));
        }
    }
}

int FourEdges::wings_of(const std::array<std::uint8_t, 4>& places) const {
    return number_[places[0] | places[1] << 3 | places[2] << 6 | places[3] << 9];
}

FourEdges::Action FourEdges::action(const EdgeAction& action) const {
    Action result{};
    for (int number = 0; number < kMiddles; ++number) {
        std::array<std::uint8_t, 4> places{}, order{0, 1, 2, 3};
        Mask after = 0;
        int count = 0;
        for (int place = 0; place < kPlaces; ++place) {
            if ((masks_[number] >> place & 1) == 0) continue;
            places[count++] = action.middles[place];
            after |= Mask{1} << action.middles[place];
        }
        std::sort(order.begin(), order.end(), [&](int a, int b) { return places[a] < places[b]; });
        result.middles[number] = static_cast<std::uint8_t>(rank_(after));
        result.order[number] = static_cast<std::uint8_t>(
            std::find(orders_.begin(), orders_.end(), order) - orders_.begin());
    }
    for (int wings = 0; wings < kWings; ++wings) {
        auto low = places_[wings], high = low;
        for (std::uint8_t& place : low) place = action.low[place];
        for (std::uint8_t& place : high) place = action.high[place];
        result.low[wings] = static_cast<std::uint16_t>(wings_of(low));
        result.high[wings] = static_cast<std::uint16_t>(wings_of(high));
    }
    return result;
}

int EightEdges::number_of(const PlaceMap& wings) {
    unsigned left = 0xFF;
    int number = 0;
    for (int place = 0; place < kPlaces; ++place) {
        const unsigned bit = 1U << wings[place];
        number = number * (kPlaces - place) + std::popcount(left & (bit - 1));
        left &= ~bit;
    }
    return number;
}

PlaceMap EightEdges::wings(int number) {
    PlaceMap digits{}, wings{};
    for (int place = kPlaces - 1; place >= 0; --place) {
        digits[place] = static_cast<std::uint8_t>(number % (kPlaces - place));
        number /= kPlaces - place;
    }
    unsigned left = 0xFF;
    for (int place = 0; place < kPlaces; ++place) {
        unsigned values = left;
        for (int k = 0; k < digits[place]; ++k) values &= values - 1;
        wings[place] = static_cast<std::uint8_t>(std::countr_zero(values));
        left &= ~(1U << wings[place]);
    }
    return wings;
}

std::vector<std::uint16_t> EightEdges::moves(const PlaceMap& middles, const PlaceMap& wings) {
    std::vector<std::uint16_t> goes_to;
    goes_to.reserve(kCount);
    for (int number = 0; number < kCount; ++number) {
        const PlaceMap before = EightEdges::wings(number);
        PlaceMap after{};
        for (int place = 0; place < kPlaces; ++place) after[middles[place]] = wings[before[place]];
        goes_to.push_back(static_cast<std::uint16_t>(number_of(after)));
    }
    return goes_to;
}

namespace {

FivePhase turns_of_four_edges() {
    return FivePhase::of(
        [](BlockTurn turn) { return turn.quarters == 2 || (turn.last == 1 && turn.axis() == U); });
}

FivePhase turns_of_eight_edges() {
    return FivePhase::of(
        [](BlockTurn turn) { return turn.axis() == U ? turn.last == 1 : turn.quarters == 2; });
}

// The turns of the last phase, as named before the cube is rotated for it.
FivePhase turns_of_eight_edges_held_before() {
    return FivePhase::of(
        [](BlockTurn turn) { return turn.axis() == F ? turn.last == 1 : turn.quarters == 2; });
}

std::vector<FourEdges::Action> actions_of(const FourEdges& edges, const FiveCube& cube,
                                          const auto& moves) {
    std::vector<FourEdges::Action> actions;
    actions.reserve(moves.size());
    for (const auto& one : moves) actions.push_back(edges.action(edge_action(cube, one)));
    return actions;
}

CentreMoves centre_turns(const AxisCentres& centres, const FiveCube& cube, const FivePhase& phase,
                         int axis) {
    CentreMoves moves;
    for (const int turn : phase.turns)
        moves.push_back(centres.moves(axis, cube.x_move(turn), cube.t_move(turn)));
    return moves;
}

// If the two faces change places, so do the names of their colours.
std::vector<std::uint16_t> centre_symmetry(const AxisCentres& centres, const FiveCube& cube,
                                           const FaceMap& map, int axis) {
    auto moves = centres.moves(axis, cube.x_symmetry(map), cube.t_symmetry(map));
    if (map[axis] == opposite(axis))
        for (std::uint16_t& one : moves) one = static_cast<std::uint16_t>(centres.exchanged(one));
    return moves;
}

// The centres of two axes that the turns reach from the solved ones.
std::vector<std::array<int, 2>> reached(const AxisCentres& centres, const CentreMoves& first,
                                        const CentreMoves& second) {
    constexpr int kCount = AxisCentres::kCount;
    std::vector<std::array<int, 2>> pairs;
    for (const int at :
         reached_from({centres.solved() * kCount + centres.solved()}, std::size_t{kCount} * kCount,
                      first.size(), [&](int both, std::size_t turn) {
                          return first[turn][both / kCount] * kCount + second[turn][both % kCount];
                      }))
        pairs.push_back({at / kCount, at % kCount});
    return pairs;
}

}  // namespace

FourEdgesAnd::FourEdgesAnd(const FourEdges& edges, const std::vector<FourEdges::Action>& turns,
                           const std::vector<FourEdges::Action>& symmetries)
    : edges_(edges),
      turns_(turns),
      symmetries_(symmetries),
      paired_(first_of(edges.middles_of(0xF), edges.wings_of({0, 1, 2, 3}))) {}

// --- Phase 4 ---

FourEdgesPhase::FourEdgesPhase(const FiveCube& cube)
    : cube_(cube),
      phase_(turns_of_four_edges()),
      maps_(symmetries_of_low(cube, true)),
      mirror_map_(mirror_of_low(cube)),
      turns_(actions_of(edges_, cube, phase_.turns)),
      symmetries_(actions_of(edges_, cube, maps_)),
      mirror_(edges_.action(edge_action(cube, mirror_map_))),
      with_high_(edges_, turns_, symmetries_),
      classes_(with_high_),
      with_right_(with_high_, right_),
      with_up_(with_high_, up_),
      high_table_(with_high_, classes_),
      right_table_(with_right_, classes_),
      up_table_(with_up_, classes_) {
    find_centres();
}

void FourEdgesPhase::find_centres() {
    const FivePhase last = turns_of_eight_edges_held_before();
    const auto ends = reached(centres_, centre_turns(centres_, cube_, last, R),
                              centre_turns(centres_, cube_, last, U));
    up_.goals.resize(AxisCentres::kCount);
    right_.goals.resize(AxisCentres::kCount);
    for (const auto& [right, up] : ends) right_.goals[right] = up_.goals[up] = true;
    for (auto* axis : {&right_, &up_}) {
        const int name = axis == &right_ ? R : U;
        axis->turns = centre_turns(centres_, cube_, phase_, name);
        for (const FaceMap& map : maps_)
            axis->symmetries.push_back(centre_symmetry(centres_, cube_, map, name));
    }
    right_mirror_ = centre_symmetry(centres_, cube_, mirror_map_, R);
    up_mirror_ = centre_symmetry(centres_, cube_, mirror_map_, U);
    find_rights();
}

// Half turns reach only a few arrangements of R and L, which get new numbers.
void FourEdgesPhase::find_rights() {
    std::vector<int> goals_of_right;
    for (int right = 0; right < AxisCentres::kCount; ++right)
        if (right_.goals[right]) goals_of_right.push_back(right);
    const std::vector<int> found =
        reached_from(goals_of_right, AxisCentres::kCount, right_.turns.size(),
                     [this](int right, std::size_t turn) { return right_.turns[turn][right]; });
    right_number_.assign(AxisCentres::kCount, -1);
    for (std::size_t number = 0; number < found.size(); ++number)
        right_number_[found[number]] = static_cast<std::int16_t>(number);
    const auto renamed = [&](const std::vector<std::uint16_t>& moves) {
        std::vector<std::uint16_t> among;
        among.reserve(found.size());
        for (const int right : found)
            among.push_back(static_cast<std::uint16_t>(right_number_[moves[right]]));
        return among;
    };
    for (auto* moves : {&right_.turns, &right_.symmetries})
        for (auto& one : *moves) one = renamed(one);
    right_mirror_ = renamed(right_mirror_);
    std::vector<bool> goals(found.size());
    for (std::size_t at = 0; at < found.size(); ++at) goals[at] = right_.goals[found[at]];
    right_.goals = std::move(goals);
}

std::size_t FourEdgesPhase::bytes() const {
    return aligned(high_table_.bytes()) + aligned(right_table_.bytes()) +
           aligned(up_table_.bytes()) +
           aligned(static_cast<std::size_t>(right_.size()) * up_.size());
}

bool FourEdgesPhase::make(std::span<std::uint8_t> table, int threads, const Progress& progress) {
    // Shares of the time: the tables with high wings, with R and L, with U and D.
    constexpr double kHigh = 0.4, kRight = 0.07;
    const auto next = [&](std::size_t size) {
        const auto own = table.first(size);
        table = table.subspan(aligned(size));
        return own;
    };
    const auto from = [&](double start, double share) {
        return [&progress, start, share](double done) { return progress(start + share * done); };
    };
    if (!high_table_.make(next(high_table_.bytes()), threads, from(0, kHigh)) ||
        !right_table_.make(next(right_table_.bytes()), threads, from(kHigh, kRight)) ||
        !up_table_.make(next(up_table_.bytes()), threads, from(kHigh + kRight, 1 - kHigh - kRight)))
        return false;
    fill_centres(table);
    return progress(1.0);
}

void FourEdgesPhase::fill_centres(std::span<std::uint8_t> distances) const {
    distances = distances.first(static_cast<std::size_t>(right_.size()) * up_.size());
    std::fill(distances.begin(), distances.end(), kUnreachable);
    for (int right = 0; right < right_.size(); ++right)
        for (int up = 0; up < up_.size(); ++up)
            if (right_.goals[right] && up_.goals[up]) distances[centres_at(right, up)] = 0;
    fill_breadth_first(distances, turns_.size(), [&](std::uint32_t at, std::size_t turn) {
        return centres_at(right_.turns[turn][at / up_.size()], up_.turns[turn][at % up_.size()]);
    });
}

void FourEdgesPhase::use(std::span<const std::uint8_t> table) {
    high_table_.use(table);
    table = table.subspan(aligned(high_table_.bytes()));
    right_table_.use(table);
    table = table.subspan(aligned(right_table_.bytes()));
    up_table_.use(table);
    centre_distances_ = table.data() + aligned(up_table_.bytes());
}

FourEdgesPhase::State FourEdgesPhase::state_of(const FiveState& state, Mask chosen) const {
    const auto is_chosen = [&](int piece) { return (chosen >> cube_.edge_of(piece) & 1) != 0; };
    std::array<int, kEdges> low_place{}, high_place{};
    for (int place = 0; place < kPlaces; ++place) {
        const auto [low, high] = cube_.slots()[place];
        low_place[cube_.edge_of(state.wings[low])] = place;
        high_place[cube_.edge_of(state.wings[high])] = place;
    }
    Mask middles = 0;
    std::array<std::uint8_t, 4> lows{}, highs{};
    int count = 0;
    for (int place = 0; place < kPlaces; ++place) {
        const int middle = state.middles[cube_.slots()[place][0]];
        if (!is_chosen(middle)) continue;
        middles |= Mask{1} << place;
        lows[count] = static_cast<std::uint8_t>(low_place[cube_.edge_of(middle)]);
        highs[count++] = static_cast<std::uint8_t>(high_place[cube_.edge_of(middle)]);
    }
    State at{};
    at.right = static_cast<std::uint16_t>(right_number_[centres_.number_at(state, R)]);
    at.up = static_cast<std::uint16_t>(centres_.number_at(state, U));
    at.middles = static_cast<std::uint16_t>(edges_.middles_of(middles));
    at.low = static_cast<std::uint16_t>(edges_.wings_of(lows));
    at.high = static_cast<std::uint16_t>(edges_.wings_of(highs));
    const int first = FourEdgesAnd::first_of(at.middles, at.low);
    const int mirrored = first_mirrored(at.middles, at.high);
    const std::array<int, 5> far{
        high_table_.distance({first, at.high}), right_table_.distance({first, at.right}),
        right_table_.distance({mirrored, right_mirror_[at.right]}),
        up_table_.distance({first, at.up}), up_table_.distance({mirrored, up_mirror_[at.up]})};
    std::copy(far.begin(), far.end(), at.far.begin());
    return at;
}

bool FourEdgesPhase::move(const State& at, int turn, int left, State& next) const {
    next.right = right_.turns[turn][at.right];
    next.up = up_.turns[turn][at.up];
    if (centre_distances_[centres_at(next.right, next.up)] > left) return false;
    const FourEdges::Action& action = turns_[turn];
    next.middles = action.middles[at.middles];
    next.low = static_cast<std::uint16_t>(edges_.low(action, at.middles, at.low));
    next.high = static_cast<std::uint16_t>(edges_.high(action, at.middles, at.high));
    const int first = FourEdgesAnd::first_of(next.middles, next.low);
    int number = classes_.class_of(first), symmetry = classes_.symmetry_of(first);
    const int high = edges_.high(symmetries_[symmetry], next.middles, next.high);
    const auto look_up = [&](int k, const auto& table, int second) {
        const int far = table.distance_near(number, second, at.far[k]);
        next.far[k] = static_cast<std::uint8_t>(far);
        return far <= left;
    };
    if (!look_up(0, high_table_, high) ||
        !look_up(3, up_table_, up_.symmetries[symmetry][next.up]) ||
        !look_up(1, right_table_, right_.symmetries[symmetry][next.right]))
        return false;
    const int mirrored = first_mirrored(next.middles, next.high);
    number = classes_.class_of(mirrored);
    symmetry = classes_.symmetry_of(mirrored);
    return look_up(4, up_table_, up_.symmetries[symmetry][up_mirror_[next.up]]) &&
           look_up(2, right_table_, right_.symmetries[symmetry][right_mirror_[next.right]]);
}

// --- Phase 5 ---

EightEdgesMoves::EightEdgesMoves(const FiveCube& cube, const FivePhase& phase,
                                 const AxisCentres& centres) {
    const FaceMap mirror = mirror_of_low(cube);
    mirror_places = edge_action(cube, mirror).low;
    up.turns = centre_turns(centres, cube, phase, U);
    up.goals.resize(AxisCentres::kCount);
    up.goals[centres.solved()] = true;
    for (const FaceMap& map : symmetries_of_low(cube, false)) {
        const PlaceMap places = edge_action(cube, map).low;
        edge_symmetries.push_back(EightEdges::moves(places, places));
        up.symmetries.push_back(centre_symmetry(centres, cube, map, U));
    }
    up_mirror = centre_symmetry(centres, cube, mirror, U);
    for (const int turn : phase.turns) {
        const EdgeAction action = edge_action(cube, turn);
        edge_turns.push_back(EightEdges::moves(action.middles, action.low));
    }
    for (const int number : phase.turns) {
        BlockTurn turn = FiveCube::turn(number);
        turn.face = mirror[turn.face];
        turn.quarters = static_cast<std::uint8_t>(4 - turn.quarters);
        const auto mirrored =
            std::find(phase.turns.begin(), phase.turns.end(), FiveCube::number_of(turn));
        mirrored_turns.push_back(edge_turns[mirrored - phase.turns.begin()]);
    }
}

EightEdgesPhase::EightEdgesPhase(const FiveCube& cube)
    : cube_(cube),
      phase_(turns_of_eight_edges()),
      moves_(cube, phase_, centres_),
      with_up_(moves_.edge_turns, moves_.edge_symmetries, moves_.up),
      classes_(with_up_),
      table_(with_up_, classes_) {
    find_sides();
}

void EightEdgesPhase::find_sides() {
    const CentreMoves right = centre_turns(centres_, cube_, phase_, R),
                      front = centre_turns(centres_, cube_, phase_, F);
    sides_ = reached(centres_, right, front);
    if (sides_.size() != kSides)
        throw std::logic_error("a wrong number of arrangements at R L F B");
    for (std::size_t turn = 0; turn < right.size(); ++turn) {
        auto& goes_to = side_turns_.emplace_back();
        for (int side = 0; side < kSides; ++side) {
            const std::array<int, 2> at{right[turn][sides_[side][0]], front[turn][sides_[side][1]]};
            goes_to[side] = static_cast<std::uint8_t>(std::find(sides_.begin(), sides_.end(), at) -
                                                      sides_.begin());
        }
    }
}

std::size_t EightEdgesPhase::bytes() const {
    return aligned(table_.bytes()) + aligned(std::size_t{kSides} * AxisCentres::kCount);
}

bool EightEdgesPhase::make(std::span<std::uint8_t> table, int threads, const Progress& progress) {
    fill_centres(table.subspan(aligned(table_.bytes())));
    return table_.make(table.first(table_.bytes()), threads, progress);
}

void EightEdgesPhase::use(std::span<const std::uint8_t> table) {
    table_.use(table);
    centre_distances_ = table.data() + aligned(table_.bytes());
}

void EightEdgesPhase::fill_centres(std::span<std::uint8_t> distances) const {
    distances = distances.first(std::size_t{kSides} * AxisCentres::kCount);
    std::fill(distances.begin(), distances.end(), kUnreachable);
    distances[centres_.solved()] = 0;  // the first side is the solved one
    fill_breadth_first(distances, moves_.up.turns.size(), [&](std::uint32_t at, std::size_t turn) {
        return centres_at(side_turns_[turn][at / AxisCentres::kCount],
                          moves_.up.turns[turn][at % AxisCentres::kCount]);
    });
}

EightEdgesPhase::State EightEdgesPhase::state_of(const FiveState& state) const {
    std::array<std::uint8_t, kEdges> low_place{}, high_place{};
    for (std::uint8_t place = 0; place < kPlaces; ++place) {
        const auto [low, high] = cube_.slots()[place];
        low_place[cube_.edge_of(state.wings[low])] = place;
        high_place[cube_.edge_of(state.wings[high])] = place;
    }
    PlaceMap lows{}, highs{};
    for (int place = 0; place < kPlaces; ++place) {
        const int edge = cube_.edge_of(state.middles[cube_.slots()[place][0]]);
        lows[place] = low_place[edge];
        highs[moves_.mirror_places[place]] = moves_.mirror_places[high_place[edge]];
    }
    const std::array<int, 2> side{centres_.number_at(state, R), centres_.number_at(state, F)};
    State at{};
    at.low = static_cast<std::uint16_t>(EightEdges::number_of(lows));
    at.high = static_cast<std::uint16_t>(EightEdges::number_of(highs));
    at.up = static_cast<std::uint16_t>(centres_.number_at(state, U));
    at.side =
        static_cast<std::uint8_t>(std::find(sides_.begin(), sides_.end(), side) - sides_.begin());
    at.far = {static_cast<std::uint8_t>(table_.distance({at.low, at.up})),
              static_cast<std::uint8_t>(table_.distance({at.high, moves_.up_mirror[at.up]}))};
    return at;
}

bool EightEdgesPhase::move(const State& at, int turn, int left, State& next) const {
    next.up = moves_.up.turns[turn][at.up];
    next.side = side_turns_[turn][at.side];
    if (centre_distances_[centres_at(next.side, next.up)] > left) return false;
    const auto look_up = [&](int wings, int up, int from) {
        const int symmetry = classes_.symmetry_of(wings);
        return table_.distance_near(classes_.class_of(wings), moves_.up.symmetries[symmetry][up],
                                    from);
    };
    next.low = moves_.edge_turns[turn][at.low];
    next.far[0] = static_cast<std::uint8_t>(look_up(next.low, next.up, at.far[0]));
    if (next.far[0] > left) return false;
    next.high = moves_.mirrored_turns[turn][at.high];
    next.far[1] =
        static_cast<std::uint8_t>(look_up(next.high, moves_.up_mirror[next.up], at.far[1]));
    return next.far[1] <= left;
}

}  // namespace cubist
