#include "pocket/pocket.hpp"

#include <stdexcept>

#include "cube/breadth_first.hpp"

namespace cubist {
namespace {

constexpr std::array<int, 7> kSlots{0, 1, 2, 3, 4, 6, 7};

int perm_of(const CubieCube& cube) {
    int rank = 0;
    for (std::size_t i = 0; i < kSlots.size(); ++i) {
        int smaller = 0;
        for (std::size_t j = i + 1; j < kSlots.size(); ++j)
            smaller += cube.cp[kSlots[j]] < cube.cp[kSlots[i]];
        rank = rank * static_cast<int>(kSlots.size() - i) + smaller;
    }
    return rank;
}

void set_perm(CubieCube& cube, int rank) {
    std::array<int, kSlots.size()> digits{};
    for (std::size_t i = kSlots.size(); i-- > 0;) {
        digits[i] = rank % static_cast<int>(kSlots.size() - i);
        rank /= static_cast<int>(kSlots.size() - i);
    }
    std::vector<int> left(kSlots.begin(), kSlots.end());
    for (std::size_t i = 0; i < kSlots.size(); ++i) {
        cube.cp[kSlots[i]] = static_cast<std::uint8_t>(left[digits[i]]);
        left.erase(left.begin() + digits[i]);
    }
}

int twist_of_seven(const CubieCube& cube) {
    int twist = 0;
    for (std::size_t i = 0; i + 1 < kSlots.size(); ++i) twist = 3 * twist + cube.co[kSlots[i]];
    return twist;
}

void set_twist_of_seven(CubieCube& cube, int twist) {
    int sum = 0;
    for (std::size_t i = kSlots.size() - 1; i-- > 0; twist /= 3) {
        cube.co[kSlots[i]] = static_cast<std::uint8_t>(twist % 3);
        sum += twist % 3;
    }
    cube.co[kSlots.back()] = static_cast<std::uint8_t>((3 - sum % 3) % 3);
}

// U, R and F are the first faces of the three axes.
const CubieCube& turn_cube(int turn) {
    const auto axis = static_cast<std::uint8_t>(turn / 3);
    return composite_cube(Composite{axis, static_cast<std::uint8_t>(turn % 3 + 1), 0}.index());
}

PocketTurns make_turns() {
    PocketTurns turns;
    for (int turn = 0; turn < kPocketTurns; ++turn) {
        CubieCube cube;
        for (int perm = 0; perm < kPocketPerms; ++perm) {
            set_perm(cube, perm);
            turns.perm[perm][turn] = static_cast<std::uint16_t>(perm_of(cube * turn_cube(turn)));
        }
        for (int twist = 0; twist < kPocketTwists; ++twist) {
            set_twist_of_seven(cube, twist);
            turns.twist[twist][turn] =
                static_cast<std::uint16_t>(twist_of_seven(cube * turn_cube(turn)));
        }
    }
    return turns;
}

template <std::size_t N>
std::vector<std::uint8_t> distances(
    const std::array<std::array<std::uint16_t, kPocketTurns>, N>& after, PocketMetric metric) {
    const std::vector<int>& turns = unit_turns(metric);
    std::vector<std::uint8_t> distance(N, kUnreachable);
    distance[0] = 0;
    fill_breadth_first(distance, turns.size(), [&](std::uint32_t value, std::size_t turn) {
        return after[value][turns[turn]];
    });
    return distance;
}

}  // namespace

PocketPosition pocket_position(const CubieCube& cube) {
    return {static_cast<std::uint16_t>(perm_of(cube)),
            static_cast<std::uint16_t>(twist_of_seven(cube))};
}

const PocketTurns& pocket_turns() {
    static const PocketTurns turns = make_turns();
    return turns;
}

PocketMetric pocket_metric(std::string_view name) {
    if (name == "htm") return PocketMetric::kHalfTurn;
    if (name == "qtm") return PocketMetric::kQuarterTurn;
    throw std::invalid_argument("the 2x2x2 is counted in htm or qtm");
}

const std::vector<int>& unit_turns(PocketMetric metric) {
    static const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7, 8}, quarters{0, 2, 3, 5, 6, 8};
    return metric == PocketMetric::kHalfTurn ? all : quarters;
}

PocketBounds::PocketBounds(PocketMetric metric)
    : perm(distances(pocket_turns().perm, metric)),
      twist(distances(pocket_turns().twist, metric)) {}

}  // namespace cubist
