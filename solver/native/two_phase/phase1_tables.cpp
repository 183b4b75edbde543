#include "two_phase/phase1_tables.hpp"

#include <algorithm>
#include <stdexcept>

namespace cubist {
Phase1Layout::Phase1Layout(int generators)
    : representatives(0),
      twist_moves(aligned(kFlipSliceClasses * sizeof(std::uint32_t))),
      twist_conjugates(twist_moves +
                       aligned(std::size_t{kTwists} * generators * sizeof(std::uint16_t))),
      twist_steps(twist_conjugates +
                  aligned(std::size_t{kTwists} * kSymmetries * sizeof(std::uint16_t))),
      classes(twist_steps + aligned(kTwists * sizeof(PartSteps))),
      bytes(classes + kFlipSliceClasses * ClassLayout(generators).bytes) {}

std::size_t Phase1Tables::size(const Metric& metric) {
    return Phase1Layout(static_cast<int>(metric.phase1.generators.size())).bytes;
}

Phase1Tables::Phase1Tables(const Metric& metric, std::span<const std::uint8_t> bytes)
    : generators_(static_cast<int>(metric.phase1.generators.size())),
      layout_(generators_),
      seen_(conjugate_generators(metric.phase1.generators)),
      products_(symmetries().product),
      unseen_(symmetries().inverse) {
    const Phase1Layout layout(generators_);
    if (bytes.size() != layout.bytes) throw std::invalid_argument("phase-1 table of a wrong size");
    representatives_ = part<std::uint32_t>(bytes, layout.representatives);
    twist_moves_ = part<std::uint16_t>(bytes, layout.twist_moves);
    twist_conjugates_ = part<std::uint16_t>(bytes, layout.twist_conjugates);
    twist_steps_ = part<PartSteps>(bytes, layout.twist_steps);
    classes_ = bytes.data() + layout.classes;
}

Phase1Node Phase1Tables::node_of(const CubieCube& cube) const {
    std::uint32_t least = kFlipSlices;
    int best = 0;
    for (int symmetry = 0; symmetry < kSymmetries; ++symmetry) {
        const auto image =
            static_cast<std::uint32_t>(flip_slice_of(conjugate(cube, symmetries().maps[symmetry])));
        if (image >= least) continue;
        least = image;
        best = symmetry;
    }
    const auto* end = representatives_ + kFlipSliceClasses;
    const auto* found = std::lower_bound(representatives_, end, least);
    return {static_cast<std::uint16_t>(found - representatives_),
            static_cast<std::uint16_t>(twist_of(conjugate(cube, symmetries().maps[best]))),
            static_cast<std::uint8_t>(best)};
}

int Phase1Tables::distance(Phase1Node node) const {
    int steps = 0;
    while (node.flip_slice_class != 0 || node.twist != 0) {
        const int wanted = (distance_modulo_3(node) + 2) % 3;
        int g = 0;
        while (g < generators_ && distance_modulo_3(after(node, g)) != wanted) ++g;
        if (g == generators_) throw std::logic_error("phase-1 table without a way down");
        node = after(node, g);
        ++steps;
    }
    return steps;
}

}  // namespace cubist
