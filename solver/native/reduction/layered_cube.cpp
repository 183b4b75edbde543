#include "reduction/layered_cube.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace cubist {

namespace {

constexpr std::array<Place, kFaces> kNormals{
    {{0, 1, 0}, {1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {-1, 0, 0}, {0, 0, -1}}};
constexpr std::array<std::array<Place, 2>, kFaces> kReading{{{{{0, 0, 1}, {1, 0, 0}}},
                                                             {{{0, -1, 0}, {0, 0, -1}}},
                                                             {{{0, -1, 0}, {1, 0, 0}}},
                                                             {{{0, 0, -1}, {1, 0, 0}}},
                                                             {{{0, -1, 0}, {0, 0, 1}}},
                                                             {{{0, -1, 0}, {-1, 0, 0}}}}};

int dot(const Place& a, const Place& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

Place sum(const Place& a, int times_a, const Place& b, int times_b) {
    return {a[0] * times_a + b[0] * times_b, a[1] * times_a + b[1] * times_b,
            a[2] * times_a + b[2] * times_b};
}

// A quarter turn clockwise about the normal of a face.
Place turned(const Place& place, const Place& normal) {
    return sum(normal, dot(place, normal), cross(place, normal), 1);
}

}  // namespace

Place normal_of(int face) { return kNormals[face]; }

Place cross(const Place& a, const Place& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

void append_inverse(BlockTurns& turns, std::span<const BlockTurn> undone) {
    for (std::size_t i = undone.size(); i-- > 0;) turns.push_back(undone[i].inverse());
}

namespace {

// Successive turns on one axis: quarters by layer from U, R or F, modulo rotations of the whole
// cube.
struct Run {
    int axis;
    std::vector<std::uint8_t> quarters;

    void add(BlockTurn turn) {
        const int size = static_cast<int>(quarters.size());
        for (int layer = turn.first; layer <= turn.last; ++layer) {
            std::uint8_t& one = quarters[turn.face < 3 ? layer - 1 : size - layer];
            one = (one + (turn.face < 3 ? turn.quarters : 4 - turn.quarters)) % 4;
        }
    }
    bool is_nothing() const {
        return std::all_of(quarters.begin(), quarters.end(), [](auto one) { return one == 0; });
    }
};

// Returns the first and last layer that stay in place while the others turn: those at rest, or
// otherwise the largest group that turns together.
std::array<int, 2> resting_layers(const std::vector<std::uint8_t>& quarters) {
    const int size = static_cast<int>(quarters.size());
    std::array<int, 2> best{0, -1};
    bool best_rests = false;
    for (int first = 0, last; first < size; first = last + 1) {
        for (last = first; last + 1 < size && quarters[last + 1] == quarters[first];) ++last;
        const bool rests = quarters[first] == 0;
        const bool is_longer = last - first > best[1] - best[0];
        if (rests == best_rests ? is_longer : rests) {
            best = {first, last};
            best_rests = rests;
        }
    }
    return best;
}

BlockTurn block(int face, int last, int quarters) {
    return {static_cast<std::uint8_t>(face), 1, static_cast<std::uint8_t>(last),
            static_cast<std::uint8_t>((quarters + 8) % 4)};
}

// Makes one outer block for each border between layers that turn differently.
void append_blocks(BlockTurns& turns, const Run& run) {
    const auto& quarters = run.quarters;
    const int size = static_cast<int>(quarters.size());
    const auto [first, last] = resting_layers(quarters);
    for (int layer = 0; layer < first; ++layer)
        if (quarters[layer] != quarters[layer + 1])
            turns.push_back(block(run.axis, layer + 1, quarters[layer] - quarters[layer + 1]));
    for (int layer = last + 1; layer < size; ++layer)
        if (quarters[layer] != quarters[layer - 1])
            turns.push_back(
                block(run.axis + 3, size - layer, quarters[layer - 1] - quarters[layer]));
    if (quarters[first] != 0) turns.push_back(block(run.axis, size, quarters[first]));
}

}  // namespace

BlockTurns joined(std::span<const BlockTurn> turns, int size) {
    std::vector<Run> runs;
    for (const BlockTurn turn : turns) {
        if (runs.empty() || runs.back().axis != turn.axis())
            runs.push_back({turn.axis(), std::vector<std::uint8_t>(size)});
        runs.back().add(turn);
        if (runs.back().is_nothing()) runs.pop_back();
    }
    BlockTurns result;
    for (const Run& run : runs) append_blocks(result, run);
    return result;
}

int block_turn_count(std::span<const BlockTurn> turns, int size) {
    int count = 0;
    for (const BlockTurn turn : turns)
        if (turn.last - turn.first + 1 < size)
            count += turn.first == 1 || turn.last == size ? 1 : 2;
    return count;
}

const std::array<std::array<int, 2>, 24>& wing_faces() {
    static const auto pairs = [] {
        std::array<std::array<int, 2>, 24> found{};
        std::size_t count = 0;
        for (int a = 0; a < kFaces; ++a)
            for (int b = 0; b < kFaces; ++b)
                if (a % 3 != b % 3) found[count++] = {a, b};
        return found;
    }();
    return pairs;
}

Geometry::Geometry(int size) : size_(size), cycles_(3 * size) {
    for (int axis = 0; axis < 3; ++axis)
        for (int sticker = 0; sticker < stickers(); ++sticker) {
            Place next = place(sticker);
            const int depth = std::clamp(dot(next, kNormals[axis]), 1 - size_, size_ - 1);
            Cycle cycle{};
            for (std::uint16_t& one : cycle) {
                one = static_cast<std::uint16_t>(sticker_at(next));
                next = turned(next, kNormals[axis]);
            }
            const bool is_middle = cycle[1] == cycle[0];
            if (!is_middle && sticker == *std::min_element(cycle.begin(), cycle.end()))
                cycles_[axis * size_ + layer_number(depth) - 1].push_back(cycle);
        }
}

Place Geometry::place(int sticker) const {
    const int area = size_ * size_;
    const int face = sticker / area, row = sticker % area / size_, column = sticker % size_;
    const auto& [down, right] = kReading[face];
    const Place across = sum(down, 2 * row - (size_ - 1), right, 2 * column - (size_ - 1));
    return sum(across, 1, kNormals[face], size_);
}

int Geometry::sticker_at(const Place& place) const {
    int face = 0;
    while (dot(place, kNormals[face]) != size_) ++face;
    const auto& [down, right] = kReading[face];
    const int row = (dot(place, down) + size_ - 1) / 2;
    const int column = (dot(place, right) + size_ - 1) / 2;
    return (face * size_ + row) * size_ + column;
}

int Geometry::wing_sticker(int offset, int first, int second) const {
    const Place a = kNormals[first], b = kNormals[second];
    const Place along = cross(a, b);
    return sticker_at(sum(sum(a, size_, b, size_ - 1), 1, along, offset));
}

std::vector<int> Geometry::wing_slots(int offset) const {
    std::vector<int> slots;
    for (const auto& [first, second] : wing_faces())
        slots.push_back(wing_sticker(offset, first, second));
    return slots;
}

std::vector<int> Geometry::wing_seconds(int offset) const {
    std::vector<int> slots;
    for (const auto& [first, second] : wing_faces())
        slots.push_back(wing_sticker(-offset, second, first));
    return slots;
}

std::vector<int> Geometry::centre_slots(int row, int column) const {
    std::vector<int> slots;
    for (int face = 0; face < kFaces; ++face) {
        int down = row, right = column;
        for (int quarter = 0; quarter < 4; ++quarter) {
            const int r = (size_ - 1 + down) / 2, c = (size_ - 1 + right) / 2;
            slots.push_back((face * size_ + r) * size_ + c);
            const int before = down;
            down = right;
            right = -before;
        }
    }
    return slots;
}

OrbitMove orbit_move(const Geometry& geometry, BlockTurn turn, const std::vector<int>& slots) {
    std::vector<std::uint16_t> stickers(geometry.stickers());
    std::iota(stickers.begin(), stickers.end(), std::uint16_t{0});
    geometry.turn(turn, stickers);
    OrbitMove from{};
    for (int slot = 0; slot < kOrbit; ++slot)
        from[slot] = static_cast<std::uint8_t>(
            std::find(slots.begin(), slots.end(), stickers[slots[slot]]) - slots.begin());
    return from;
}

int wing_number(int first, int second) {
    const auto& pairs = wing_faces();
    const auto found = std::find(pairs.begin(), pairs.end(), std::array{first, second});
    if (found == pairs.end()) throw std::invalid_argument("not the stickers of a cube");
    return static_cast<int>(found - pairs.begin());
}

std::vector<FaceMap> all_face_maps() {
    std::vector<FaceMap> maps;
    std::array<int, 3> axes{0, 1, 2};
    do
        for (int signs = 0; signs < 8; ++signs) {
            FaceMap map{};
            for (int axis = 0; axis < 3; ++axis) {
                const int image = axes[axis] + (signs >> axis & 1) * 3;
                map[axis] = static_cast<Face>(image);
                map[axis + 3] = static_cast<Face>(opposite(image));
            }
            maps.push_back(map);
        }
    while (std::next_permutation(axes.begin(), axes.end()));
    return maps;
}

OrbitMove sticker_symmetry(const Geometry& geometry, const FaceMap& map,
                           const std::vector<int>& slots) {
    OrbitMove from{};
    for (int slot = 0; slot < kOrbit; ++slot) {
        const Place place = geometry.place(slots[slot]);
        Place image{};
        for (int axis = 0; axis < 3; ++axis) {
            const Place old_normal = normal_of(axis), new_normal = normal_of(map[axis]);
            int along = 0;
            for (int k = 0; k < 3; ++k) along += place[k] * old_normal[k];
            for (int k = 0; k < 3; ++k) image[k] += along * new_normal[k];
        }
        const auto found = std::find(slots.begin(), slots.end(), geometry.sticker_at(image));
        from[found - slots.begin()] = static_cast<std::uint8_t>(slot);
    }
    return from;
}

OrbitMove wing_symmetry(const FaceMap& map) {
    OrbitMove from{};
    for (int slot = 0; slot < kOrbit; ++slot) {
        const auto [first, second] = wing_faces()[slot];
        // A reflection reverses the order of a wing's faces.
        const int image = is_reflection(map) ? wing_number(map[second], map[first])
                                             : wing_number(map[first], map[second]);
        from[image] = static_cast<std::uint8_t>(slot);
    }
    return from;
}

MaskMove::MaskMove(const OrbitMove& from) {
    for (int part = 0; part < 3; ++part)
        for (Mask bits = 0; bits < 256; ++bits)
            for (int slot = 0; slot < kOrbit; ++slot)
                if (from[slot] / 8 == part && (bits >> from[slot] % 8 & 1) != 0)
                    parts_[part][bits] |= Mask{1} << slot;
}

SubsetRank::SubsetRank(int slots, int count) : slots_(slots), count_(count) {
    const int high_slots = std::max(slots - kHalf, 0);
    low_.resize(std::size_t{1} << kHalf);
    std::array<int, kHalf + 1> of_count{};
    for (Mask low = 0; low < low_.size() && low < (Mask{1} << slots); ++low)
        low_[low] = of_count[std::popcount(low)]++;
    high_.resize(std::size_t{1} << high_slots);
    for (Mask high = 0; high < high_.size(); ++high) {
        high_[high] = size_;
        const int rest = count - std::popcount(high);
        if (rest >= 0 && rest <= kHalf) size_ += of_count[rest];
    }
}

std::vector<Mask> SubsetRank::all() const {
    std::vector<Mask> subsets(size_);
    for (Mask mask = 0; mask < (Mask{1} << slots_); ++mask)
        if (std::popcount(mask) == count_) subsets[(*this)(mask)] = mask;
    return subsets;
}

}  // namespace cubist
