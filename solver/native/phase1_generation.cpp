// Making the phase-1 table: breadth-first over 64430 x 2187 nodes in place, at two bits a node.
//
// The first levels spread from the nodes found last; the last levels ask every node still unknown
// whether a neighbour was found last. Both go class by class: a generator takes all twists of one
// class to one other class, so that all memory touched at a time is two rows of 547 bytes.
#include <atomic>
#include <thread>

#include "phase1_tables.hpp"

namespace cubist {
namespace {

constexpr int kUnknown = 3;
// Spreading costs each found node all its generators; asking stops at the first good neighbour.
constexpr double kAskingGain = 4.0;

class Generation {
public:
    Generation(const Metric& metric, std::span<std::uint8_t> bytes)
        : turns_(metric.phase1),
          generators_(static_cast<int>(turns_.generators.size())),
          layout_(generators_),
          class_layout_(generators_),
          bytes_(bytes) {}

    bool run(int threads, const Progress& progress);

private:
    void make_moves();
    void make_twists();
    void make_steps();
    void store_classes(const std::vector<PartSteps>& steps);
    std::size_t spread(int found);
    std::size_t ask(int found, int first_class, int last_class);
    std::size_t ask_all(int found, int threads);
    std::size_t reach(int flip_slice_class, int twist, int value);
    bool has_neighbour(int flip_slice_class, int twist, int value);

    std::uint8_t* of_class(int flip_slice_class) {
        return bytes_.data() + layout_.classes + flip_slice_class * class_layout_.bytes;
    }
    std::uint8_t* row(int flip_slice_class) { return of_class(flip_slice_class) + class_layout_.row; }
    // Other threads may write the same byte's row only as its owner; reads may be stale, not torn.
    static int get(std::uint8_t* row, int twist) {
        return std::atomic_ref(row[twist / 4]).load(std::memory_order_relaxed) >> (twist % 4 * 2) &
               3;
    }
    static void set(std::uint8_t* row, int twist, int value) {
        std::atomic_ref byte(row[twist / 4]);
        const int shift = twist % 4 * 2;
        byte.store(static_cast<std::uint8_t>(
                       (byte.load(std::memory_order_relaxed) & ~(3 << shift)) | value << shift),
                   std::memory_order_relaxed);
    }
    int twist_after(int twist, int generator, int symmetry) {
        return conjugates_[symmetry * kTwists + twist_moves_[twist * generators_ + generator]];
    }

    const TurnSet& turns_;
    int generators_;
    Phase1Layout layout_;
    ClassLayout class_layout_;
    std::span<std::uint8_t> bytes_;
    FlipSliceClasses classes_;
    std::vector<std::uint32_t> class_moves_;  // packed classes
    std::uint16_t* twist_moves_ = nullptr;
    std::uint16_t* conjugates_ = nullptr;
};

void Generation::make_moves() {
    class_moves_.resize(std::size_t{kFlipSliceClasses} * generators_);
    auto* representatives = part<std::uint32_t>(bytes_, layout_.representatives);
    for (int c = 0; c < kFlipSliceClasses; ++c) {
        representatives[c] = classes_.representatives[c];
        CubieCube cube;
        set_flip_slice(cube, static_cast<int>(classes_.representatives[c]));
        for (int g = 0; g < generators_; ++g)
            class_moves_[c * generators_ + g] =
                classes_.packed[flip_slice_of(cube * composite_cube(turns_.generators[g]))];
    }
}

void Generation::store_classes(const std::vector<PartSteps>& steps) {
    for (int c = 0; c < kFlipSliceClasses; ++c) {
        std::uint8_t* const to = of_class(c);
        std::fill_n(to, class_layout_.row, std::uint8_t{0});
        std::fill_n(row(c), class_layout_.bytes - class_layout_.row, std::uint8_t{0xFF});
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

// Breadth-first over one part of the node alone; `after(value, generator)` is its neighbour.
void fill_steps(PartSteps* steps, int size, int generators, const auto& after) {
    constexpr std::uint64_t kFar = 0xFF;
    for (int value = 0; value < size; ++value) steps[value].distance = value == 0 ? 0 : kFar;
    bool found = true;
    for (std::uint64_t depth = 0; found; ++depth) {
        found = false;
        for (int value = 0; value < size; ++value)
            for (int g = 0; steps[value].distance == depth && g < generators; ++g) {
                std::uint64_t& distance = steps[after(value, g)].distance;
                if (distance != kFar) continue;
                distance = depth + 1;
                found = true;
            }
    }
    for (int value = 0; value < size; ++value) {
        steps[value].nearer = steps[value].not_farther = 0;
        for (int g = 0; g < generators; ++g) {
            const std::uint64_t distance = steps[after(value, g)].distance,
                                bit = std::uint64_t{1} << g;
            if (distance < steps[value].distance) steps[value].nearer |= bit;
            if (distance <= steps[value].distance) steps[value].not_farther |= bit;
        }
    }
}

void Generation::make_steps() {
    std::vector<PartSteps> steps(kFlipSliceClasses);
    fill_steps(
        steps.data(), kFlipSliceClasses, generators_,
        [this](int value, int g) { return class_moves_[value * generators_ + g] / kSymmetries; });
    store_classes(steps);
    fill_steps(part<PartSteps>(bytes_, layout_.twist_steps), kTwists, generators_,
               [this](int value, int g) { return twist_moves_[value * generators_ + g]; });
}

// Marks a node and its images under the symmetries of its class's representative.
std::size_t Generation::reach(int flip_slice_class, int twist, int value) {
    std::uint8_t* const target = row(flip_slice_class);
    if (get(target, twist) != kUnknown) return 0;
    set(target, twist, value);
    std::size_t reached = 1;
    for (int bits = classes_.stabilizers[flip_slice_class] >> 1, s = 1; bits != 0;
         bits >>= 1, ++s) {
        if (!(bits & 1)) continue;
        const int image = conjugates_[s * kTwists + twist];
        if (get(target, image) != kUnknown) continue;
        set(target, image, value);
        ++reached;
    }
    return reached;
}

std::size_t Generation::spread(int found) {
    std::size_t reached = 0;
    std::vector<int> twists;
    for (int c = 0; c < kFlipSliceClasses; ++c) {
        twists.clear();
        for (int twist = 0; twist < kTwists; ++twist)
            if (get(row(c), twist) == found) twists.push_back(twist);
        if (twists.empty()) continue;
        for (int g = 0; g < generators_; ++g) {
            const std::uint32_t packed = class_moves_[c * generators_ + g];
            for (int twist : twists)
                reached += reach(static_cast<int>(packed / kSymmetries),
                                 twist_after(twist, g, static_cast<int>(packed % kSymmetries)),
                                 (found + 1) % 3);
        }
    }
    return reached;
}

bool Generation::has_neighbour(int flip_slice_class, int twist, int value) {
    for (int g = 0; g < generators_; ++g) {
        const std::uint32_t packed = class_moves_[flip_slice_class * generators_ + g];
        const int neighbour = twist_after(twist, g, static_cast<int>(packed % kSymmetries));
        if (get(row(static_cast<int>(packed / kSymmetries)), neighbour) == value) return true;
    }
    return false;
}

std::size_t Generation::ask(int found, int first_class, int last_class) {
    std::size_t reached = 0;
    for (int c = first_class; c < last_class; ++c) {
        std::uint8_t* const own = row(c);
        for (int twist = 0; twist < kTwists; ++twist) {
            if (get(own, twist) != kUnknown || !has_neighbour(c, twist, found)) continue;
            set(own, twist, (found + 1) % 3);
            ++reached;
        }
    }
    return reached;
}

std::size_t Generation::ask_all(int found, int threads) {
    std::vector<std::size_t> reached(threads);
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t)
        workers.emplace_back([&, t] {
            reached[t] =
                ask(found, kFlipSliceClasses * t / threads, kFlipSliceClasses * (t + 1) / threads);
        });
    workers.clear();
    std::size_t sum = 0;
    for (std::size_t count : reached) sum += count;
    return sum;
}

bool Generation::run(int threads, const Progress& progress) {
    constexpr std::size_t kNodes = std::size_t{kFlipSliceClasses} * kTwists;
    if (!progress(0.0)) return false;
    make_moves();
    make_twists();
    make_steps();
    std::size_t last = reach(0, 0, 0), known = last;
    for (int depth = 0; last > 0; ++depth) {
        if (!progress(0.1 + 0.9 * static_cast<double>(known) / kNodes)) return false;
        const bool few =
            static_cast<double>(last) * kAskingGain < static_cast<double>(kNodes - known);
        last = few ? spread(depth % 3) : ask_all(depth % 3, threads);
        known += last;
    }
    return progress(1.0);
}

}  // namespace

bool Phase1Tables::generate(const Metric& metric, std::span<std::uint8_t> bytes, int threads,
                            const Progress& progress) {
    return Generation(metric, bytes).run(threads, progress);
}

}  // namespace cubist
