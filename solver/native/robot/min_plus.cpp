// The inner loops of the time search, compiled for the widest vectors the processor has.
#include <algorithm>

#include "robot/time_model.hpp"

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define CUBIST_VECTORISED __attribute__((target_clones("avx2", "default")))
#else
#define CUBIST_VECTORISED
#endif

namespace cubist {
namespace {

typedef Time Vector __attribute__((vector_size(kLanes * sizeof(Time)), aligned(2)));
typedef std::int64_t Words __attribute__((vector_size(kLanes * sizeof(Time)), aligned(2)));

}  // namespace

CUBIST_VECTORISED
void min_plus(const Time* from, const Time* matrix, int rows, int size, Time* out) {
    for (int block = 0; block < size; block += kLanes) {
        Vector best = Vector{} + kNever;
        const Time* row = matrix + block;
        for (int i = 0; i < rows; ++i, row += size) {
            if (from[i] == kNever) continue;
            const Vector sum = *reinterpret_cast<const Vector*>(row) + from[i];
            best = sum < best ? sum : best;
        }
        *reinterpret_cast<Vector*>(out + block) = best;
    }
}

CUBIST_VECTORISED
bool any_below(const Time* from, const Time* more, int size, int limit) {
    const Time highest = static_cast<Time>(std::min<int>(limit, kNever));
    Words below{};
    for (int block = 0; block < size; block += kLanes) {
        const Vector sum = *reinterpret_cast<const Vector*>(from + block) +
                           *reinterpret_cast<const Vector*>(more + block);
        below |= reinterpret_cast<Words>(sum < highest);
    }
    return (below[0] | below[1] | below[2] | below[3]) != 0;
}

CUBIST_VECTORISED
int least_sum(const Time* from, const Time* more, int size) {
    Vector best = Vector{} + kNever;
    for (int block = 0; block < size; block += kLanes) {
        const Vector sum = *reinterpret_cast<const Vector*>(from + block) +
                           *reinterpret_cast<const Vector*>(more + block);
        best = sum < best ? sum : best;
    }
    Time least = best[0];
    for (int lane = 1; lane < kLanes; ++lane)
        least = std::min(least, static_cast<Time>(best[lane]));
    return least;
}

}  // namespace cubist
