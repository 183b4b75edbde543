#include "cube/corner_pairs.hpp"

#include <array>
#include <atomic>
#include <stdexcept>
#include <vector>

#include "cube/breadth_first.hpp"
#include "cube/parallel.hpp"
#include "cube/symmetry.hpp"

namespace cubist {
namespace {

constexpr std::uint32_t kUnknown = 0xFFFFFFFF;
constexpr std::uint8_t kFar = 0xFF;
constexpr int kMost = 15;
// The symmetry that turns the cube upside down, about the axis of F and B.
constexpr int kUpsideDown = 8;

CubieCube corner_cube(int corners) {
    CubieCube cube;
    set_corner_perm(cube, corners);
    return cube;
}

CubieCube outer_cube(int outer) {
    CubieCube cube;
    set_outer_edges(cube, outer, 0);
    return cube;
}

// Distances during construction: a byte each, eight to a word, so that threads may share rows.
constexpr int kRowWords = kOuterPlacements / 8;
static_assert(kRowWords * 8 == kOuterPlacements);
constexpr std::uint64_t kEach = 0x0101'0101'0101'0101;

std::uint8_t load(std::uint64_t* row, int placement) {
    const std::uint64_t word = std::atomic_ref(row[placement / 8]).load(std::memory_order_relaxed);
    return static_cast<std::uint8_t>(word >> (placement % 8 * 8));
}

// Stores this distance if it is lower than the stored one.
void lower(std::uint64_t* row, int placement, int distance) {
    const std::atomic_ref word(row[placement / 8]);
    const int shift = placement % 8 * 8;
    std::uint64_t before = word.load(std::memory_order_relaxed), after;
    do {
        if (static_cast<int>(before >> shift & 0xFF) <= distance) return;
        after = (before & ~(std::uint64_t{0xFF} << shift)) | static_cast<std::uint64_t>(distance)
                                                                 << shift;
    } while (!word.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

class Generation {
public:
    Generation(const TurnSet& turns, const std::uint16_t* corners, const std::uint16_t* outer,
               std::span<std::uint8_t> bytes, std::size_t offset, int threads)
        : turns_(turns),
          generators_(static_cast<int>(turns.generators.size())),
          corners_(corners),
          outer_(outer),
          layout_(offset),
          bytes_(bytes),
          threads_(threads),
          upright_(part<std::uint32_t>(bytes, layout_.upright)),
          conjugates_(part<std::uint16_t>(bytes, layout_.conjugates)) {}

    bool run(const Progress& progress);

private:
    static constexpr int kBlock = 64;  // rows handed to a thread at a time
    using Placements = std::array<std::uint16_t, kOuterPlacements>;

    void make_classes();
    void make_views();
    void make_placements_after();
    bool make_distances(const Progress& progress);
    int collect(int number, int depth, Placements& found);
    int spread(int number, int depth);
    void reach(std::uint32_t number, int placement, int distance);
    void store();

    std::uint64_t* row(std::uint32_t number) {
        return distances_.data() + std::size_t{number} * kRowWords;
    }

    const TurnSet& turns_;
    int generators_;
    const std::uint16_t* corners_;
    const std::uint16_t* outer_;
    CornerPairsLayout layout_;
    std::span<std::uint8_t> bytes_;
    int threads_;
    std::uint32_t* upright_;
    std::uint16_t* conjugates_;
    std::vector<int> representatives_;
    std::vector<std::uint8_t> stabilizers_;
    std::vector<std::uint16_t> placements_after_;  // by generator, symmetry, placement
    std::vector<std::uint64_t> distances_;
};

void Generation::make_classes() {
    std::fill_n(upright_, kCornerPerms, kUnknown);
    for (int corners = 0; corners < kCornerPerms; ++corners) {
        if (upright_[corners] != kUnknown) continue;
        const auto number = static_cast<std::uint32_t>(representatives_.size());
        const CubieCube cube = corner_cube(corners);
        std::uint8_t stabilizer = 0;
        for (int s = 0; s < kUprightSymmetries; ++s) {
            const int image = corner_perm_of(conjugate(cube, symmetries().maps[s]));
            if (image == corners) stabilizer |= static_cast<std::uint8_t>(1 << s);
            if (upright_[image] == kUnknown)
                upright_[image] = number * kUprightSymmetries + symmetries().inverse[s];
        }
        representatives_.push_back(corners);
        stabilizers_.push_back(stabilizer);
    }
    if (representatives_.size() != kCornerClasses)
        throw std::logic_error("corner classes miscounted");
}

void Generation::make_views() {
    for (int placement = 0; placement < kOuterPlacements; ++placement)
        for (int s = 0; s < kUprightSymmetries; ++s)
            conjugates_[s * kOuterPlacements + placement] = static_cast<std::uint16_t>(placement_of(
                conjugate(outer_cube(placement * kOrders), symmetries().maps[s]), Layer::kUp));
    const FaceMap& flip = symmetries().maps[kUpsideDown];
    auto* const upside_down = part<std::uint32_t>(bytes_, layout_.upside_down);
    auto* const down_as_up = part<std::uint16_t>(bytes_, layout_.down_as_up);
    static_assert(kCornerPerms == kOuterEdges);
    in_blocks(kCornerPerms, kBlock, threads_, [&](int first, int last) {
        for (int k = first; k < last; ++k) {
            upside_down[k] = upright_[corner_perm_of(conjugate(corner_cube(k), flip))];
            down_as_up[k] = static_cast<std::uint16_t>(
                placement_of(conjugate(outer_cube(k), flip), Layer::kUp));
        }
    });
}

// The placement of the U edges after a generator, as seen from the class that the corners move to.
void Generation::make_placements_after() {
    for (int g = 0; g < generators_; ++g)
        for (int s = 0; s < kUprightSymmetries; ++s)
            for (int placement = 0; placement < kOuterPlacements; ++placement)
                placements_after_.push_back(
                    conjugates_[s * kOuterPlacements +
                                outer_[placement * kOrders * generators_ + g] / kOrders]);
}

// Lowers the distance of a node and of its images under the symmetries that keep its
// representative.
void Generation::reach(std::uint32_t number, int placement, int distance) {
    for (int bits = stabilizers_[number], s = 0; bits != 0; bits >>= 1, ++s)
        if (bits & 1) lower(row(number), conjugates_[s * kOuterPlacements + placement], distance);
}

// Finds the placements at the depth. Returns their count.
int Generation::collect(int number, int depth, Placements& found) {
    int count = 0;
    for (int k = 0; k < kRowWords; ++k) {
        const std::uint64_t word = std::atomic_ref(row(number)[k]).load(std::memory_order_relaxed);
        const std::uint64_t differs = word ^ kEach * static_cast<std::uint64_t>(depth);
        if (((differs - kEach) & ~differs & kEach << 7) == 0) continue;  // no byte is 0
        for (int byte = 0; byte < 8; ++byte)
            if ((differs >> 8 * byte & 0xFF) == 0)
                found[count++] = static_cast<std::uint16_t>(8 * k + byte);
    }
    return count;
}

// Expands the nodes of a row that are at the depth. Returns their count.
int Generation::spread(int number, int depth) {
    Placements found, farther;
    const int count = collect(number, depth, found);
    for (int g = 0; count > 0 && g < generators_; ++g) {
        const std::uint32_t packed = upright_[corners_[representatives_[number] * generators_ + g]];
        const std::uint16_t* const after =
            placements_after_.data() +
            (g * kUprightSymmetries + packed % kUprightSymmetries) * kOuterPlacements;
        const std::uint32_t to = packed / kUprightSymmetries;
        const int distance = depth + turns_.costs[g];
        int open = 0;  // filtered first: the branch would be unpredictable
        for (int k = 0; k < count; ++k) {
            farther[open] = after[found[k]];
            open += load(row(to), farther[open]) > distance;
        }
        for (int k = 0; k < open; ++k) reach(to, farther[k], distance);
    }
    return count;
}

// Proceeds by depth on all available threads. Entries at a depth no longer change while others are
// reached from them, so the order does not matter.
bool Generation::make_distances(const Progress& progress) {
    constexpr double kNodes = double{kCornerClasses} * kOuterPlacements;
    distances_.assign(std::size_t{kCornerClasses} * kRowWords, ~std::uint64_t{0});
    static_assert(kFar == 0xFF);
    reach(upright_[0] / kUprightSymmetries, 0, 0);
    // Costs are 1 or 2, so two empty depths in a row mean the end.
    return fill_by_level(
        {.rows = kCornerClasses, .block = kBlock, .threads = threads_, .most_idle = 2},
        [this](int number, int depth) { return static_cast<std::size_t>(spread(number, depth)); },
        [&](std::size_t settled) { return progress(static_cast<double>(settled) / kNodes); });
}

void Generation::store() {
    std::uint8_t* out = part<std::uint8_t>(bytes_, layout_.distances);
    for (int number = 0; number < kCornerClasses; ++number)
        for (int k = 0; k < kOuterPlacements; k += 2)
            *out++ = static_cast<std::uint8_t>(std::min<int>(load(row(number), k), kMost) |
                                               std::min<int>(load(row(number), k + 1), kMost) << 4);
}

bool Generation::run(const Progress& progress) {
    make_classes();
    make_views();
    make_placements_after();
    if (!make_distances(progress)) return false;
    store();
    return true;
}

}  // namespace

CornerPairsLayout::CornerPairsLayout(std::size_t offset)
    : upright(offset),
      upside_down(upright + aligned(kCornerPerms * sizeof(std::uint32_t))),
      conjugates(upside_down + aligned(kCornerPerms * sizeof(std::uint32_t))),
      down_as_up(conjugates +
                 aligned(kUprightSymmetries * kOuterPlacements * sizeof(std::uint16_t))),
      distances(down_as_up + aligned(kOuterEdges * sizeof(std::uint16_t))),
      bytes(distances + aligned(std::size_t{kCornerClasses} * kOuterPlacements / 2)) {}

CornerPairs::CornerPairs(std::span<const std::uint8_t> bytes, std::size_t offset) {
    const CornerPairsLayout layout(offset);
    upright_ = part<std::uint32_t>(bytes, layout.upright);
    upside_down_ = part<std::uint32_t>(bytes, layout.upside_down);
    conjugates_ = part<std::uint16_t>(bytes, layout.conjugates);
    down_as_up_ = part<std::uint16_t>(bytes, layout.down_as_up);
    distances_ = part<std::uint8_t>(bytes, layout.distances);
}

bool CornerPairs::generate(const TurnSet& turns, const std::uint16_t* corners,
                           const std::uint16_t* outer, std::span<std::uint8_t> bytes,
                           std::size_t offset, int threads, const Progress& progress) {
    return Generation(turns, corners, outer, bytes, offset, threads).run(progress);
}

}  // namespace cubist
