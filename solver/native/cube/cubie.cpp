#include "cube/cubie.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace cubist {

namespace {

constexpr std::array<std::array<Face, 3>, kCorners> kCornerNames{
    {{U, F, R}, {U, R, B}, {U, B, L}, {U, L, F}, {D, F, L}, {D, L, B}, {D, B, R}, {D, R, F}}};
constexpr std::array<std::array<Face, 2>, kEdges> kEdgeNames{{{U, F},
                                                              {U, R},
                                                              {U, B},
                                                              {U, L},
                                                              {F, R},
                                                              {F, L},
                                                              {B, R},
                                                              {B, L},
                                                              {D, F},
                                                              {D, R},
                                                              {D, B},
                                                              {D, L}}};

// A clockwise quarter turn of a face sends each of these four faces to the next.
constexpr std::array<std::array<Face, 4>, kFaces> kQuarterCycles{
    {{F, L, B, R}, {F, U, B, D}, {U, R, D, L}, {F, R, B, L}, {F, D, B, U}, {U, L, D, R}}};

constexpr int kCornerStickers = 3 * kCorners;
constexpr int kStickers = kCornerStickers + 2 * kEdges;

// The contents of each place: stickers, numbered by their place on the solved cube.
using Stickers = std::array<std::uint8_t, kStickers>;

template <std::size_t N, std::size_t Slots>
int slot_of(const std::array<std::array<Face, N>, Slots>& names, std::array<Face, N> faces) {
    std::sort(faces.begin(), faces.end());
    for (std::size_t slot = 0; slot < Slots; ++slot) {
        auto name = names[slot];
        std::sort(name.begin(), name.end());
        if (name == faces) return static_cast<int>(slot);
    }
    return -1;
}

// The places of one kind of cubie after `map` has moved every face.
template <std::size_t N, std::size_t Slots>
void map_places(const std::array<std::array<Face, N>, Slots>& names, const FaceMap& map, int base,
                Stickers& places) {
    for (std::size_t slot = 0; slot < Slots; ++slot) {
        std::array<Face, N> faces;
        for (std::size_t k = 0; k < N; ++k) faces[k] = map[names[slot][k]];
        const int target = slot_of(names, faces);
        for (std::size_t k = 0; k < N; ++k) {
            const auto& name = names[target];
            const auto at = std::find(name.begin(), name.end(), faces[k]) - name.begin();
            places[base + N * slot + k] = static_cast<std::uint8_t>(base + N * target + at);
        }
    }
}

Stickers make_mapped_places(const FaceMap& map) {
    Stickers places;
    map_places(kCornerNames, map, 0, places);
    map_places(kEdgeNames, map, kCornerStickers, places);
    return places;
}

int map_key(const FaceMap& map) { return (map[U] * kFaces + map[R]) * kFaces + map[F]; }

Face opposite(int face) { return static_cast<Face>((face + 3) % kFaces); }

std::array<Stickers, kFaces * kFaces * kFaces> make_all_mapped_places() {
    std::array<Stickers, kFaces * kFaces * kFaces> all{};
    for (int u = 0; u < kFaces; ++u)
        for (int r = 0; r < kFaces; ++r)
            for (int f = 0; f < kFaces; ++f) {
                if (u % 3 == r % 3 || u % 3 == f % 3 || r % 3 == f % 3) continue;
                const FaceMap map{static_cast<Face>(u), static_cast<Face>(r), static_cast<Face>(f),
                                  opposite(u),          opposite(r),          opposite(f)};
                all[map_key(map)] = make_mapped_places(map);
            }
    return all;
}

const Stickers& mapped_places(const FaceMap& map) {
    static const auto all = make_all_mapped_places();
    return all[map_key(map)];
}

Stickers stickers_of(const CubieCube& cube) {
    Stickers stickers;
    for (int slot = 0; slot < kCorners; ++slot)
        for (int k = 0; k < 3; ++k)
            stickers[3 * slot + (k + cube.co[slot]) % 3] =
                static_cast<std::uint8_t>(3 * cube.cp[slot] + k);
    for (int slot = 0; slot < kEdges; ++slot)
        for (int k = 0; k < 2; ++k)
            stickers[kCornerStickers + 2 * slot + (k + cube.eo[slot]) % 2] =
                static_cast<std::uint8_t>(kCornerStickers + 2 * cube.ep[slot] + k);
    return stickers;
}

CubieCube cubies_of(const Stickers& stickers) {
    CubieCube cube;
    for (int place = 0; place < kCornerStickers; ++place)
        if (stickers[place] % 3 == 0) {
            cube.cp[place / 3] = stickers[place] / 3;
            cube.co[place / 3] = static_cast<std::uint8_t>(place % 3);
        }
    for (int place = kCornerStickers; place < kStickers; ++place)
        if (stickers[place] % 2 == 0) {
            const int slot = (place - kCornerStickers) / 2;
            cube.ep[slot] = static_cast<std::uint8_t>((stickers[place] - kCornerStickers) / 2);
            cube.eo[slot] = static_cast<std::uint8_t>(place % 2);
        }
    return cube;
}

template <std::size_t N, std::size_t Slots>
void turn_places(const std::array<std::array<Face, N>, Slots>& names, Face face,
                 const Stickers& places, int base, Stickers& stickers) {
    for (std::size_t slot = 0; slot < Slots; ++slot) {
        if (std::find(names[slot].begin(), names[slot].end(), face) == names[slot].end()) continue;
        for (std::size_t k = 0; k < N; ++k) {
            const auto from = base + N * slot + k;
            stickers[places[from]] = static_cast<std::uint8_t>(from);
        }
    }
}

// The solved cube after a quarter turn of one face, which rotates the cubies that touch it.
CubieCube quarter_turn(Face face) {
    FaceMap rotation{U, R, F, D, L, B};
    const auto& cycle = kQuarterCycles[face];
    for (int k = 0; k < 4; ++k) rotation[cycle[k]] = cycle[(k + 1) % 4];
    const Stickers places = make_mapped_places(rotation);
    Stickers stickers = stickers_of(CubieCube{});
    turn_places(kCornerNames, face, places, 0, stickers);
    turn_places(kEdgeNames, face, places, kCornerStickers, stickers);
    return cubies_of(stickers);
}

std::array<CubieCube, kComposites> make_composite_cubes() {
    std::array<CubieCube, kComposites> cubes;
    for (int index = 0; index < kComposites; ++index) {
        const Composite composite = Composite::of(index);
        const auto [first, second] = kAxes[composite.axis];
        for (int q = 0; q < composite.first; ++q) cubes[index] = cubes[index] * quarter_turn(first);
        for (int q = 0; q < composite.second; ++q)
            cubes[index] = cubes[index] * quarter_turn(second);
    }
    return cubes;
}

}  // namespace

CubieCube CubieCube::operator*(const CubieCube& move) const {
    CubieCube out;
    for (int slot = 0; slot < kCorners; ++slot) {
        const int from = move.cp[slot];
        out.cp[slot] = cp[from];
        out.co[slot] = static_cast<std::uint8_t>((co[from] + move.co[slot]) % 3);
    }
    for (int slot = 0; slot < kEdges; ++slot) {
        const int from = move.ep[slot];
        out.ep[slot] = ep[from];
        out.eo[slot] = eo[from] ^ move.eo[slot];
    }
    return out;
}

CubieCube CubieCube::inverse() const {
    CubieCube out;
    for (int slot = 0; slot < kCorners; ++slot) {
        out.cp[cp[slot]] = static_cast<std::uint8_t>(slot);
        out.co[cp[slot]] = static_cast<std::uint8_t>((3 - co[slot]) % 3);
    }
    for (int slot = 0; slot < kEdges; ++slot) {
        out.ep[ep[slot]] = static_cast<std::uint8_t>(slot);
        out.eo[ep[slot]] = eo[slot];
    }
    return out;
}

const CubieCube& composite_cube(int composite) {
    static const auto cubes = make_composite_cubes();
    return cubes[composite];
}

bool is_reflection(const FaceMap& map) {
    // U, R, F in this order turn clockwise about their corner; a reflection reverses that.
    const std::array<Face, 3> faces{map[U], map[F], map[R]};
    const auto& name = kCornerNames[slot_of(kCornerNames, faces)];
    const auto at = std::find(name.begin(), name.end(), faces[0]) - name.begin();
    return name[(at + 1) % 3] != faces[1];
}

FaceMap inverse(const FaceMap& map) {
    FaceMap out{};
    for (int face = 0; face < kFaces; ++face) out[map[face]] = static_cast<Face>(face);
    return out;
}

FaceMap compose(const FaceMap& after, const FaceMap& before) {
    FaceMap out{};
    for (int face = 0; face < kFaces; ++face) out[face] = after[before[face]];
    return out;
}

CubieCube conjugate(const CubieCube& cube, const FaceMap& map) {
    const Stickers& places = mapped_places(map);
    const Stickers before = stickers_of(cube);
    Stickers after;
    for (int place = 0; place < kStickers; ++place) after[places[place]] = places[before[place]];
    return cubies_of(after);
}

int conjugate_composite(int composite, const FaceMap& map) {
    Composite from = Composite::of(composite);
    if (is_reflection(map)) from = from.inverse();
    const Face first = map[kAxes[from.axis][0]];
    for (std::uint8_t axis = 0; axis < 3; ++axis) {
        if (kAxes[axis][0] == first) return Composite{axis, from.first, from.second}.index();
        if (kAxes[axis][1] == first) return Composite{axis, from.second, from.first}.index();
    }
    return -1;
}

CubieCube Direction::seen(const CubieCube& cube) const {
    static const std::array<FaceMap, 2> maps{kDiagonalThird, cubist::inverse(kDiagonalThird)};
    const CubieCube out = inverse ? cube.inverse() : cube;
    return thirds == 0 ? out : conjugate(out, maps[thirds - 1]);
}

Composites Direction::back(const Composites& solution) const {
    Composites out;
    for (int composite : solution) {
        for (int k = thirds; k % 3 != 0; ++k)
            composite = conjugate_composite(composite, kDiagonalThird);
        if (inverse) composite = Composite::of(composite).inverse().index();
        out.push_back(static_cast<std::uint8_t>(composite));
    }
    if (inverse) std::reverse(out.begin(), out.end());
    return out;
}

std::vector<Direction> make_directions(int count) {
    std::vector<Direction> directions;
    directions.reserve(count);
    for (int k = 0; k < count; ++k) directions.push_back({k % 3, k >= 3});
    return directions;
}

namespace {

constexpr int kMoved = 8;  // cubies that a turn moves: four corners, then four edges

// The slots that a turn changes, the slots that their cubies come from, and the changes of
// orientation.
struct Moved {
    std::array<std::uint8_t, kMoved> to, from, add;
};

Moved moved_by(int turn) {
    const CubieCube& cube = face_turn_cube(turn);
    Moved moved{};
    int k = 0;
    for (std::uint8_t slot = 0; slot < kCorners; ++slot)
        if (cube.cp[slot] != slot) {
            moved.to[k] = slot;
            moved.from[k] = cube.cp[slot];
            moved.add[k++] = cube.co[slot];
        }
    for (std::uint8_t slot = 0; slot < kEdges; ++slot)
        if (cube.ep[slot] != slot) {
            moved.to[k] = kCorners + slot;
            moved.from[k] = kCorners + cube.ep[slot];
            moved.add[k++] = cube.eo[slot];
        }
    return moved;
}

std::array<Moved, kFaceTurns> make_all() {
    std::array<Moved, kFaceTurns> all;
    for (int turn = 0; turn < kFaceTurns; ++turn) all[turn] = moved_by(turn);
    return all;
}

void turn_one(std::uint8_t* state, const Moved& moved) {
    constexpr std::array<std::uint8_t, 5> kModulo3{0, 1, 2, 0, 1};
    std::array<std::uint8_t, 2 * kMoved> before;
    for (int k = 0; k < kMoved; ++k) {
        before[2 * k] = state[2 * moved.from[k]];
        before[2 * k + 1] = state[2 * moved.from[k] + 1];
    }
    for (int k = 0; k < kMoved; ++k) {
        const std::uint8_t turned = before[2 * k + 1] + moved.add[k];
        state[2 * moved.to[k]] = before[2 * k];
        state[2 * moved.to[k] + 1] = k < kMoved / 2 ? kModulo3[turned] : turned & 1;
    }
}

}  // namespace

void turn_batch(std::uint8_t* states, const std::uint8_t* turns, std::size_t count) {
    static const auto all = make_all();
    for (std::size_t cube = 0; cube < count; ++cube)
        turn_one(states + cube * kStateBytes, all[turns[cube]]);
}

bool show_one_hot(const std::uint8_t* states, std::uint8_t* hot, std::size_t count) {
    constexpr int kSlots = kCorners + kEdges;
    for (; count > 0; --count, hot += kSlots * kHotColumns) {
        std::memset(hot, 0, kSlots * kHotColumns);
        for (int slot = 0; slot < kSlots; ++slot, states += 2) {
            const int column = states[0] + states[1] * (slot < kCorners ? kCorners : kEdges);
            if (column >= static_cast<int>(kHotColumns)) return false;
            hot[slot * kHotColumns + column] = 1;
        }
    }
    return true;
}

}  // namespace cubist
