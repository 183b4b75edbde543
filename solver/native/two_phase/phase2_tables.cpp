#include "two_phase/phase2_tables.hpp"

#include <bit>
#include <stdexcept>
#include <vector>

#include "cube/breadth_first.hpp"
#include "cube/parallel.hpp"

namespace cubist {
namespace {

// moves[coordinate][generator], computed by turning a cube that has the coordinate.
template <class T>
void fill_moves(T* moves, int size, const std::vector<std::uint8_t>& generators, int threads,
                const auto& make, const auto& read) {
    constexpr int kBlock = 512;
    in_blocks(size, kBlock, threads, [&](int first, int last) {
        T* to = moves + first * generators.size();
        for (int value = first; value < last; ++value) {
            CubieCube cube;
            make(cube, value);
            for (std::uint8_t generator : generators)
                *to++ = static_cast<T>(read(cube * composite_cube(generator)));
        }
    });
}

// Distances over pairs (coordinate, middle order), cheapest first.
void fill_distances(std::uint8_t* distances, const std::uint16_t* moves, const std::uint8_t* middle,
                    int size, const std::vector<std::uint8_t>& costs) {
    const std::span<std::uint8_t> pairs(distances, std::size_t(size) * kOrders);
    const std::size_t generators = costs.size();
    std::fill(pairs.begin(), pairs.end(), kUnreachable);
    pairs[0] = 0;
    const auto neighbour = [&](std::uint32_t pair, std::size_t g) {
        return moves[pair / kOrders * generators + g] * kOrders +
               middle[pair % kOrders * generators + g];
    };
    fill_breadth_first(
        pairs, generators, neighbour, [&](std::size_t g) { return costs[g]; }, [](std::size_t) {});
}

int outer_of(const CubieCube& cube) {
    return outer_edges(placement_of(cube, Layer::kUp), placement_of(cube, Layer::kDown));
}

int middle_of(const CubieCube& cube) { return placement_of(cube, Layer::kMiddle) % kOrders; }

}  // namespace

Phase2Layout::Phase2Layout(int generators1, int generators2)
    : corners_in_phase1(0),
      placements(aligned(std::size_t{kCornerPerms} * generators1 * 2)),
      corners(placements + aligned(std::size_t{kPlacements} * generators1 * 2)),
      outer(corners + aligned(std::size_t{kCornerPerms} * generators2 * 2)),
      middle(outer + aligned(std::size_t{kOuterEdges} * generators2 * 2)),
      corner_distances(middle + aligned(std::size_t{kOrders} * generators2)),
      outer_distances(corner_distances + aligned(std::size_t{kCornerPerms} * kOrders)),
      pairs(outer_distances + aligned(std::size_t{kOuterEdges} * kOrders)),
      bytes(CornerPairsLayout(pairs).bytes) {}

Phase2Node phase2_node_of(const CubieCube& cube) {
    return {static_cast<std::uint16_t>(corner_perm_of(cube)),
            static_cast<std::uint16_t>(outer_of(cube)), static_cast<std::uint8_t>(middle_of(cube))};
}

Phase2Tables::Phase2Tables(const Metric& metric, std::span<const std::uint8_t> bytes)
    : generators1_(static_cast<int>(metric.phase1.generators.size())),
      generators2_(static_cast<int>(metric.phase2.generators.size())) {
    const Phase2Layout layout(generators1_, generators2_);
    if (bytes.size() != layout.bytes) throw std::invalid_argument("phase-2 table: wrong size");
    corners_in_phase1_ = part<std::uint16_t>(bytes, layout.corners_in_phase1);
    placements_ = part<std::uint16_t>(bytes, layout.placements);
    corners_ = part<std::uint16_t>(bytes, layout.corners);
    outer_ = part<std::uint16_t>(bytes, layout.outer);
    middle_ = part<std::uint8_t>(bytes, layout.middle);
    corner_distances_ = part<std::uint8_t>(bytes, layout.corner_distances);
    outer_distances_ = part<std::uint8_t>(bytes, layout.outer_distances);
    pairs_ = CornerPairs(bytes, layout.pairs);
}

std::size_t Phase2Tables::size(const Metric& metric) {
    return Phase2Layout(static_cast<int>(metric.phase1.generators.size()),
                        static_cast<int>(metric.phase2.generators.size()))
        .bytes;
}

bool Phase2Tables::generate(const Metric& metric, std::span<std::uint8_t> bytes, int threads,
                            const Progress& progress) {
    constexpr double kMovesDone = 0.1, kDistancesDone = 0.2;
    const TurnSet& phase1 = metric.phase1;
    const TurnSet& phase2 = metric.phase2;
    const Phase2Layout layout(static_cast<int>(phase1.generators.size()),
                              static_cast<int>(phase2.generators.size()));
    auto* corners = part<std::uint16_t>(bytes, layout.corners);
    auto* outer = part<std::uint16_t>(bytes, layout.outer);
    auto* middle = part<std::uint8_t>(bytes, layout.middle);
    if (!progress(0.0)) return false;
    fill_moves(part<std::uint16_t>(bytes, layout.corners_in_phase1), kCornerPerms,
               phase1.generators, threads, set_corner_perm, corner_perm_of);
    fill_moves(
        part<std::uint16_t>(bytes, layout.placements), kPlacements, phase1.generators, threads,
        [](CubieCube& cube, int value) { set_placement(cube, Layer::kUp, value); },
        [](const CubieCube& cube) { return placement_of(cube, Layer::kUp); });
    fill_moves(corners, kCornerPerms, phase2.generators, threads, set_corner_perm, corner_perm_of);
    fill_moves(
        outer, kOuterEdges, phase2.generators, threads,
        [](CubieCube& cube, int value) { set_outer_edges(cube, value, 0); }, outer_of);
    fill_moves(
        middle, kOrders, phase2.generators, threads,
        [](CubieCube& cube, int value) { set_outer_edges(cube, 0, value); }, middle_of);
    if (!progress(kMovesDone)) return false;
    in_blocks(2, 1, threads, [&](int first, int) {
        if (first == 0)
            fill_distances(part<std::uint8_t>(bytes, layout.corner_distances), corners, middle,
                           kCornerPerms, phase2.costs);
        else
            fill_distances(part<std::uint8_t>(bytes, layout.outer_distances), outer, middle,
                           kOuterEdges, phase2.costs);
    });
    const auto pairs_done = [&progress](double done) {
        return progress(kDistancesDone + (1.0 - kDistancesDone) * done);
    };
    return CornerPairs::generate(phase2, corners, outer, bytes, layout.pairs, threads,
                                 pairs_done) &&
           progress(1.0);
}

CentreTable::CentreTable(const Metric& metric, std::span<const std::uint8_t> bytes)
    : after_(moves_of(metric)), distances_(bytes.data()) {
    if (bytes.size() != kBytes) throw std::invalid_argument("centre table: wrong size");
}

CentreTable::Moves CentreTable::moves_of(const Metric& metric) {
    Moves moves;
    for (const std::uint8_t generator : metric.phase2.generators) {
        const Composite turn = Composite::of(generator);
        const int half = 4 + turn.axis - 1;  // R or F; L and B follow two bits later
        auto& after = moves.emplace_back();
        for (int from = 0; from < 256; ++from) {
            const int up = from - turn.first & 3, down = (from >> 2) - turn.second & 3;
            const int halves = (turn.first / 2) << half | (turn.second / 2) << (half + 2);
            after[from] = static_cast<std::uint8_t>(turn.axis == 0 ? (from & 0xF0) | down << 2 | up
                                                                   : from ^ halves);
        }
    }
    return moves;
}

// `after(pieces, generator)` returns the pieces after a generator of phase 2. `is_odd(pieces,
// halves)` returns whether U and D must make an odd number of quarters together with those half
// turns of the sides.
void CentreTable::fill(std::span<std::uint8_t> distances, const Metric& metric, const auto& after,
                       const auto& is_odd, const auto& settled) {
    const Moves moves = moves_of(metric);
    std::fill(distances.begin(), distances.end(), kUnreachable);
    distances[0] = 0;
    const auto neighbour = [&](std::uint32_t node, std::size_t g) {
        const int whole = static_cast<int>(node);
        const int pieces = whole / 128, up = whole & 3, halves = whole % 128 >> 3;
        const int down = (node >> 1 & 2) | (is_odd(pieces, halves) ^ (up & 1));
        const int centres = halves << 4 | down << 2 | up;
        return index(after(pieces, static_cast<int>(g)), moves[g][centres]);
    };
    fill_breadth_first(
        distances, moves.size(), neighbour, [&](std::size_t g) { return metric.phase2.costs[g]; },
        settled);
}

bool CentreTable::generate(const Metric& metric, const Phase2Tables& phase2,
                           std::span<std::uint8_t> bytes, const Progress& progress) try {
    const auto report_from = [&progress](std::size_t before) {
        return [&progress, before](std::size_t settled) {
            constexpr std::size_t kReportEvery = 1 << 16;
            if (settled % kReportEvery == 0)
                report(progress, static_cast<double>(before + settled) / kBytes);
        };
    };
    std::vector<std::uint8_t> corners_odd(kCornerPerms), edges_odd(kOuterEdges);
    const auto parity_of = [](const std::array<std::uint8_t, 8>& perm) {
        int odd = 0;
        for (int k = 0; k < 8; ++k)
            for (int later = k + 1; later < 8; ++later) odd ^= perm[k] > perm[later];
        return static_cast<std::uint8_t>(odd);
    };
    for (int pieces = 0; pieces < kCornerPerms; ++pieces) {
        CubieCube cube;
        set_corner_perm(cube, pieces);
        set_outer_edges(cube, pieces, 0);
        corners_odd[pieces] = parity_of(cube.cp);
        edges_odd[pieces] = parity_of({cube.ep[0], cube.ep[1], cube.ep[2], cube.ep[3], cube.ep[8],
                                       cube.ep[9], cube.ep[10], cube.ep[11]});
    }
    fill(
        bytes.first(kPart), metric,
        [&](int corners, int g) {
            return phase2.after({static_cast<std::uint16_t>(corners), 0, 0}, g).corners;
        },
        [&](int corners, int) { return corners_odd[corners]; }, report_from(0));
    fill(
        bytes.subspan(kPart), metric,
        [&](int outer, int g) {
            return phase2.after({0, static_cast<std::uint16_t>(outer), 0}, g).outer;
        },
        [&](int outer, int halves) {
            return edges_odd[outer] ^ (std::popcount(static_cast<unsigned>(halves)) & 1);
        },
        report_from(kPart));
    return progress(1.0);
} catch (const Stopped&) {
    return false;
}

}  // namespace cubist
