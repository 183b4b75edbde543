#include "corner_pairs.hpp"

#include <stdexcept>
#include <vector>

#include "symmetry.hpp"

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

class Generation {
public:
    Generation(const TurnSet& turns, const std::uint16_t* corners, const std::uint16_t* outer,
               std::span<std::uint8_t> bytes, std::size_t offset)
        : turns_(turns),
          corners_(corners),
          outer_(outer),
          layout_(offset),
          bytes_(bytes),
          upright_(part<std::uint32_t>(bytes, layout_.upright)),
          conjugates_(part<std::uint16_t>(bytes, layout_.conjugates)) {}

    void run();

private:
    void make_classes();
    void make_views();
    void make_distances();
    bool spread(int depth);
    void reach(std::uint32_t packed, int placement, int distance);
    void store();

    const TurnSet& turns_;
    const std::uint16_t* corners_;
    const std::uint16_t* outer_;
    CornerPairsLayout layout_;
    std::span<std::uint8_t> bytes_;
    std::uint32_t* upright_;
    std::uint16_t* conjugates_;
    std::vector<int> representatives_;
    std::vector<std::uint8_t> stabilizers_, distances_;
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
    for (int corners = 0; corners < kCornerPerms; ++corners)
        upside_down[corners] = upright_[corner_perm_of(conjugate(corner_cube(corners), flip))];
    auto* const down_as_up = part<std::uint16_t>(bytes_, layout_.down_as_up);
    for (int outer = 0; outer < kOuterEdges; ++outer)
        down_as_up[outer] = static_cast<std::uint16_t>(
            placement_of(conjugate(outer_cube(outer), flip), Layer::kUp));
}

// Lowers the distance of a node and of its images under what keeps its representative.
void Generation::reach(std::uint32_t packed, int placement, int distance) {
    const std::uint32_t number = packed / kUprightSymmetries;
    std::uint8_t* const row = distances_.data() + std::size_t{number} * kOuterPlacements;
    const int seen = conjugates_[packed % kUprightSymmetries * kOuterPlacements + placement];
    if (row[seen] <= distance) return;
    for (int bits = stabilizers_[number], s = 0; bits != 0; bits >>= 1, ++s)
        if (bits & 1)
            row[conjugates_[s * kOuterPlacements + seen]] = static_cast<std::uint8_t>(distance);
}

bool Generation::spread(int depth) {
    bool found = false;
    const int generators = static_cast<int>(turns_.generators.size());
    for (int number = 0; number < kCornerClasses; ++number) {
        const std::uint8_t* row = distances_.data() + std::size_t(number) * kOuterPlacements;
        for (int placement = 0; placement < kOuterPlacements; ++placement) {
            if (row[placement] != depth) continue;
            found = true;
            for (int g = 0; g < generators; ++g)
                reach(upright_[corners_[representatives_[number] * generators + g]],
                      outer_[placement * kOrders * generators + g] / kOrders,
                      depth + turns_.costs[g]);
        }
    }
    return found;
}

void Generation::make_distances() {
    distances_.assign(std::size_t{kCornerClasses} * kOuterPlacements, kFar);
    reach(upright_[0], 0, 0);
    // Costs are 1 or 2: two empty depths in a row are the end.
    for (int depth = 0, idle = 0; idle < 2; ++depth) idle = spread(depth) ? 0 : idle + 1;
}

void Generation::store() {
    std::uint8_t* out = part<std::uint8_t>(bytes_, layout_.distances);
    for (std::size_t k = 0; k < distances_.size(); k += 2)
        *out++ = static_cast<std::uint8_t>(std::min<int>(distances_[k], kMost) |
                                           std::min<int>(distances_[k + 1], kMost) << 4);
}

void Generation::run() {
    make_classes();
    make_views();
    make_distances();
    store();
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

void CornerPairs::generate(const TurnSet& turns, const std::uint16_t* corners,
                           const std::uint16_t* outer, std::span<std::uint8_t> bytes,
                           std::size_t offset) {
    Generation(turns, corners, outer, bytes, offset).run();
}

}  // namespace cubist
