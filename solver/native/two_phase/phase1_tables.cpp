#include "two_phase/phase1_tables.hpp"

#include <algorithm>
#include <stdexcept>

#include "cube/breadth_first.hpp"
#include "cube/twist_rows.hpp"

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
    if (bytes.size() != layout.bytes) throw std::invalid_argument("phase-1 table: wrong size");
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

// Builds the phase-1 table: first the tables of twists and of classes, then the distances of all
// 64430 x 2187 nodes (cube/twist_rows.hpp).

namespace {

// The share of the work that precedes the distances.
constexpr double kPrepared = 0.05;

class Generation {
public:
    Generation(const Metric& metric, std::span<std::uint8_t> bytes)
        : turns_(metric.phase1),
          generators_(static_cast<int>(turns_.generators.size())),
          layout_(generators_),
          class_layout_(generators_),
          bytes_(bytes) {
        static_assert(aligned(kDistanceRow) == twist_rows::kBytes);
        for (int twist = 0; twist < kTwists; ++twist)
            used_[twist / 32] |= std::uint64_t{1} << (twist % 32 * 2);
    }

    bool run(int threads, const Progress& progress);

    // The interface for TwistSearch.
    int rows() const { return kFlipSliceClasses; }
    int turns() const { return generators_; }
    const twist_rows::Used& used() const { return used_; }
    std::uint64_t* row(int flip_slice_class) {
        return reinterpret_cast<std::uint64_t*>(of_class(flip_slice_class) + class_layout_.row);
    }
    int twist_after(int twist, int generator) const {
        return twist_moves_[twist * generators_ + generator];
    }
    int twist_seen(int twist, int symmetry) const {
        return conjugates_[symmetry * kTwists + twist];
    }
    RowTurn row_after(int flip_slice_class, int generator) const {
        const std::uint32_t packed = class_moves_[flip_slice_class * generators_ + generator];
        return {static_cast<int>(packed / kSymmetries), static_cast<int>(packed % kSymmetries)};
    }
    void for_images(int flip_slice_class, const auto& see) const {
        for (int bits = classes_.stabilizers[flip_slice_class] >> 1, s = 1; bits != 0;
             bits >>= 1, ++s)
            if (bits & 1) see(flip_slice_class, s);
    }
    static constexpr std::uint64_t near_bit(int) { return 0; }
    static constexpr bool is_near(int) { return false; }
    static constexpr int far() { return 0; }

private:
    void make_class_moves();
    void make_twists();
    void make_steps();
    void store_classes(const std::vector<PartSteps>& steps);

    std::uint8_t* of_class(int flip_slice_class) {
        return bytes_.data() + layout_.classes + flip_slice_class * class_layout_.bytes;
    }

    const TurnSet& turns_;
    int generators_;
    Phase1Layout layout_;
    ClassLayout class_layout_;
    std::span<std::uint8_t> bytes_;
    FlipSliceClasses classes_;
    std::vector<std::uint32_t> class_moves_;  // packed classes
    twist_rows::Used used_{};
    std::uint16_t* twist_moves_ = nullptr;
    std::uint16_t* conjugates_ = nullptr;
};

// A turn changes the flips independently of the slice, and the slice independently of the flips.
void Generation::make_class_moves() {
    std::vector<std::uint16_t> flips, slices;
    for (int flip = 0; flip < kFlips; ++flip)
        for (int generator : turns_.generators) {
            CubieCube cube;
            set_flip_slice(cube, flip);
            flips.push_back(static_cast<std::uint16_t>(flip_of(cube * composite_cube(generator))));
        }
    for (int slice = 0; slice < kSlices; ++slice)
        for (int generator : turns_.generators) {
            CubieCube cube;
            set_flip_slice(cube, slice * kFlips);
            slices.push_back(
                static_cast<std::uint16_t>(slice_of(cube * composite_cube(generator))));
        }
    class_moves_.reserve(std::size_t{kFlipSliceClasses} * generators_);
    for (const std::uint32_t representative : classes_.representatives)
        for (int g = 0; g < generators_; ++g)
            class_moves_.push_back(
                classes_.packed[slices[representative / kFlips * generators_ + g] * kFlips +
                                flips[representative % kFlips * generators_ + g]]);
    std::copy(classes_.representatives.begin(), classes_.representatives.end(),
              part<std::uint32_t>(bytes_, layout_.representatives));
}

void Generation::store_classes(const std::vector<PartSteps>& steps) {
    for (int c = 0; c < kFlipSliceClasses; ++c) {
        std::uint8_t* const to = of_class(c);
        std::fill_n(to, class_layout_.row, std::uint8_t{0});
        std::fill_n(to + class_layout_.row, class_layout_.bytes - class_layout_.row,
                    std::uint8_t{0xFF});
        for (int g = 0; g < generators_; ++g) {
            const std::uint32_t packed = class_moves_[c * generators_ + g];
            const auto number = static_cast<std::uint16_t>(packed / kSymmetries);
            std::memcpy(to + 2 * g, &number, sizeof number);
            to[class_layout_.symmetries + g / 2] |=
                static_cast<std::uint8_t>(packed % kSymmetries << (g % 2 * 4));
        }
        std::memcpy(to + class_layout_.nearer, &steps[c].nearer, ClassLayout::kMaskBytes);
        std::memcpy(to + class_layout_.not_farther, &steps[c].not_farther, ClassLayout::kMaskBytes);
        to[class_layout_.distance] = static_cast<std::uint8_t>(steps[c].distance);
    }
}

void Generation::make_twists() {
    twist_moves_ = part<std::uint16_t>(bytes_, layout_.twist_moves);
    conjugates_ = part<std::uint16_t>(bytes_, layout_.twist_conjugates);
    for (int twist = 0; twist < kTwists; ++twist) {
        CubieCube cube;
        set_twist(cube, twist);
        for (int g = 0; g < generators_; ++g)
            twist_moves_[twist * generators_ + g] =
                static_cast<std::uint16_t>(twist_of(cube * composite_cube(turns_.generators[g])));
        for (int s = 0; s < kSymmetries; ++s)
            conjugates_[s * kTwists + twist] =
                static_cast<std::uint16_t>(twist_of(conjugate(cube, symmetries().maps[s])));
    }
}

// Searches one part of the node alone, breadth-first. `after(value, generator)` is its neighbour.
void fill_steps(PartSteps* steps, int size, int generators, const auto& after) {
    std::vector<std::uint8_t> distances(size, kUnreachable);
    distances[0] = 0;
    fill_breadth_first(distances, generators, [&](std::uint32_t value, std::size_t g) {
        return after(static_cast<int>(value), static_cast<int>(g));
    });
    for (int value = 0; value < size; ++value) {
        const int distance = distances[value];
        steps[value] = {};
        steps[value].distance = static_cast<std::uint64_t>(distance);
        for (int g = 0; g < generators; ++g) {
            const std::uint64_t bit = std::uint64_t{1} << g;
            const int next = distances[after(value, g)];
            if (next < distance) steps[value].nearer |= bit;
            if (next <= distance) steps[value].not_farther |= bit;
        }
    }
}

void Generation::make_steps() {
    std::vector<PartSteps> steps(kFlipSliceClasses);
    fill_steps(steps.data(), kFlipSliceClasses, generators_, [this](int value, int g) {
        return class_moves_[value * generators_ + g] / kSymmetries;
    });
    store_classes(steps);
    fill_steps(part<PartSteps>(bytes_, layout_.twist_steps), kTwists, generators_,
               [this](int value, int g) { return twist_moves_[value * generators_ + g]; });
}

bool Generation::run(int threads, const Progress& progress) {
    if (!progress(0.0)) return false;
    make_class_moves();
    make_twists();
    make_steps();
    const auto distances = [&progress](double done) {
        return progress(kPrepared + (1.0 - kPrepared) * done);
    };
    return TwistSearch(*this).run(threads, distances) && progress(1.0);
}

}  // namespace

bool Phase1Tables::generate(const Metric& metric, std::span<std::uint8_t> bytes, int threads,
                            const Progress& progress) {
    return Generation(metric, bytes).run(threads, progress);
}

}  // namespace cubist
