#include "reduction/axis_centres.hpp"

namespace cubist {

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
