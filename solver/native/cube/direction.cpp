#include "cube/direction.hpp"

#include <algorithm>

namespace cubist {

CubieCube Direction::seen(const CubieCube& cube) const {
    CubieCube out = inverse ? cube.inverse() : cube;
    for (int k = 0; k < thirds; ++k) out = conjugate(out, kDiagonalThird);
    return out;
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
    for (int k = 0; k < count; ++k) directions.push_back({k % 3, k >= 3});
    return directions;
}

}  // namespace cubist
