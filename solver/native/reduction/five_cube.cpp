#include "reduction/five_cube.hpp"

#include <algorithm>
#include <stdexcept>

namespace cubist {

namespace {

constexpr int kSize = 5;

int edge_group(int slot) {
    const auto [first, second] = wing_faces()[slot];
    return 3 - first % 3 - second % 3;  // the axis parallel to the edge: U R F
}

}  // namespace

FiveCube::FiveCube()
    : geometry_(kSize),
      x_slots_(geometry_.centre_slots(2, 2)),
      t_slots_(geometry_.centre_slots(2, 0)),
      wing_slots_(geometry_.wing_slots(2)),
      wing_seconds_(geometry_.wing_seconds(2)),
      middle_slots_(geometry_.wing_slots(0)) {
    for (int number = 0; number < kTurns; ++number) turns_[number] = move_of(turn(number));
    find_rotations();
    find_edges();
}

FiveCube::Move FiveCube::move_of(BlockTurn turn) const {
    return {orbit_move(geometry_, turn, x_slots_), orbit_move(geometry_, turn, t_slots_),
            orbit_move(geometry_, turn, wing_slots_), orbit_move(geometry_, turn, middle_slots_)};
}

FiveState FiveCube::moved_by(const FiveState& state, const Move& move) {
    return {moved(state.x, move.x), moved(state.t, move.t), moved(state.wings, move.wings),
            moved(state.middles, move.middles)};
}

FiveState FiveCube::turned(const FiveState& state, int turn) const {
    return moved_by(state, turns_[turn]);
}

FiveState FiveCube::rotated(const FiveState& state, int axis) const {
    const Rotation& rotation = rotations_[axis];
    FiveState after = moved_by(state, rotation.move);
    for (auto* colours : {&after.x, &after.t})
        for (std::uint8_t& one : *colours) one = rotation.name[one];
    for (auto* pieces : {&after.wings, &after.middles})
        for (std::uint8_t& one : *pieces) one = rotation.pair_name[one];
    return after;
}

void FiveCube::find_rotations() {
    for (int axis = 0; axis < 3; ++axis) {
        Rotation& rotation = rotations_[axis];
        const BlockTurn turn{static_cast<std::uint8_t>(axis), 1, kSize, 1};
        rotation.move = move_of(turn);
        for (int face = 0; face < kFaces; ++face) {
            const int from = rotation.move.x[4 * face] / 4;
            rotation.shown[face] = static_cast<std::uint8_t>(from);
            rotation.name[from] = static_cast<std::uint8_t>(face);
        }
        for (int pair = 0; pair < kOrbit; ++pair) {
            const auto [first, second] = wing_faces()[pair];
            rotation.pair_name[pair] =
                static_cast<std::uint8_t>(wing_number(rotation.name[first], rotation.name[second]));
        }
    }
}

void FiveCube::find_edges() {
    const FivePhase phase = FivePhase::of(
        [](BlockTurn turn) { return turn.quarters == 2 || (turn.last == 1 && turn.axis() != R); });
    low_ = 1;
    for (Mask before = 0; before != low_;) {
        before = low_;
        for (const int number : phase.turns) low_ |= MaskMove(turns_[number].wings)(low_);
    }
    constexpr std::array<int, 3> kFirstOfGroup{8, 4, 0};  // by the axis parallel to the edges
    auto next = kFirstOfGroup;
    for (int slot = 0; slot < kOrbit; ++slot) {
        if (!is_low(slot)) continue;
        const auto [first, second] = wing_faces()[slot];
        const int other = wing_number(second, first), edge = next[edge_group(slot)]++;
        slots_[edge] = {static_cast<std::uint8_t>(slot), static_cast<std::uint8_t>(other)};
        edge_of_[slot] = edge_of_[other] = static_cast<std::uint8_t>(edge);
    }
}

FiveState FiveCube::state_of(const Colours& shown) const {
    Colours stickers = shown;
    name_by_faces(geometry_, stickers);
    const auto piece = [&](int first, int second) {
        return static_cast<std::uint8_t>(wing_number(stickers[first], stickers[second]));
    };
    FiveState state{};
    for (int slot = 0; slot < kOrbit; ++slot) {
        const auto [first, second] = wing_faces()[slot];
        state.x[slot] = stickers[x_slots_[slot]];
        state.t[slot] = stickers[t_slots_[slot]];
        state.wings[slot] = piece(wing_slots_[slot], wing_seconds_[slot]);
        state.middles[slot] = piece(middle_slots_[slot], middle_slots_[wing_number(second, first)]);
    }
    refuse_impossible(state);
    return state;
}

// Duplicate pieces, or a single flipped middle, would mislead the search.
void FiveCube::refuse_impossible(const FiveState& state) const {
    Mask wings = 0, middles = 0;
    std::array<int, kFaces> x_count{}, t_count{};
    for (int slot = 0; slot < kOrbit; ++slot) {
        wings |= Mask{1} << state.wings[slot];
        middles |= Mask{1} << state.middles[slot];
        ++x_count[state.x[slot]];
        ++t_count[state.t[slot]];
    }
    bool is_flipped = false;
    for (const auto& slots : slots_) is_flipped ^= !is_low(state.middles[slots[0]]);
    constexpr Mask kAll = (Mask{1} << kOrbit) - 1;
    const auto is_four = [](int count) { return count == 4; };
    if (wings != kAll || middles != kAll || is_flipped ||
        !std::all_of(x_count.begin(), x_count.end(), is_four) ||
        !std::all_of(t_count.begin(), t_count.end(), is_four))
        throw std::invalid_argument("not the stickers of a cube");
}

OrbitMove FiveCube::x_symmetry(const FaceMap& map) const {
    return sticker_symmetry(geometry_, map, x_slots_);
}

OrbitMove FiveCube::t_symmetry(const FaceMap& map) const {
    return sticker_symmetry(geometry_, map, t_slots_);
}

void turn_held(const FiveCube& cube, HeldFive& held, std::span<const std::uint8_t> turns) {
    for (const std::uint8_t number : turns) {
        held.state = cube.turned(held.state, number);
        BlockTurn turn = FiveCube::turn(number);
        turn.face = held.face_of[turn.face];
        held.turns.push_back(turn);
    }
}

void rotate_held(const FiveCube& cube, HeldFive& held, int axis) {
    held.state = cube.rotated(held.state, axis);
    std::array<std::uint8_t, kFaces> faces{};
    for (int face = 0; face < kFaces; ++face)
        faces[face] = held.face_of[cube.faces_after(axis)[face]];
    held.face_of = faces;
}

FivePhase::FivePhase(std::vector<std::uint8_t> all) : turns(std::move(all)) {
    const auto block = [](BlockTurn turn) { return 2 * (turn.face / 3) + turn.last; };
    for (int last = -1; last < size(); ++last) {
        auto& may_follow = followers.emplace_back();
        for (int next = 0; next < size(); ++next) {
            const BlockTurn turn = FiveCube::turn(turns[next]);
            const BlockTurn before = FiveCube::turn(turns[last < 0 ? 0 : last]);
            if (last < 0 || before.axis() != turn.axis() || block(before) < block(turn))
                may_follow.push_back(static_cast<std::uint8_t>(next));
        }
    }
}

AxisCentres::AxisCentres() : masks_(rank_.all()) {}

int AxisCentres::number_at(const FiveState& state, int axis) const {
    const auto is_first = [&](int colour) { return colour == axis; };
    return number(pair_of(mask_of(state.x, is_first), axis),
                  pair_of(mask_of(state.t, is_first), axis));
}

std::vector<std::uint16_t> AxisCentres::moves(int axis, const OrbitMove& x,
                                              const OrbitMove& t) const {
    const auto half_moves = [&](const OrbitMove& from) {
        const MaskMove move(from);
        std::array<int, kHalf> goes_to{};
        for (int half = 0; half < kHalf; ++half) {
            const Mask after = move(from_pair(masks_[half], axis));
            goes_to[half] = std::popcount(pair_of(after, axis)) == 4
                                ? rank_(pair_of(after, axis))
                                : half;  // a move that mixes the axes has no meaning here
        }
        return goes_to;
    };
    const auto x_goes_to = half_moves(x), t_goes_to = half_moves(t);
    std::vector<std::uint16_t> goes_to;
    goes_to.reserve(kCount);
    for (int number = 0; number < kCount; ++number)
        goes_to.push_back(static_cast<std::uint16_t>(x_goes_to[number / kHalf] * kHalf +
                                                     t_goes_to[number % kHalf]));
    return goes_to;
}

}  // namespace cubist
