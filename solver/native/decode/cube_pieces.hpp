// The pieces in the slots of a cube of any size, from the cost of every colour on every sticker:
// their probabilities, and the cheapest legal cubes under other names of the colours
// (vision/decide/assignment.py describes the orbits).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cubist {

constexpr int kColours = 6;

// Slots whose pieces change places only among themselves.
struct PieceOrbit {
    enum class Rule {
        fixed,    // slot i shows pattern i
        turning,  // corners and middle edges: no twist or flip is left over, parities agree
        free,     // wings and centres
    };

    Rule rule;
    int slots, stickers, turns, copies;
    std::vector<int> facelets;  // [slots][stickers]
    std::vector<int> patterns;  // [pieces * turns][stickers], letters 0..5

    int patterns_count() const { return int(patterns.size()) / stickers; }
    int pieces() const { return patterns_count() / turns; }
    bool is_centre() const { return rule == Rule::free && stickers == 1; }
};

// The colour of every letter.
using Naming = std::array<int, kColours>;
constexpr Naming kPlainNaming = {0, 1, 2, 3, 4, 5};

class CubePieces {
public:
    // Throws std::invalid_argument for letters or counts out of range.
    explicit CubePieces(std::vector<PieceOrbit> orbits);

    // One more than the largest sticker of the orbits.
    std::size_t stickers() const { return stickers_; }

    // The probability of each letter on each sticker, [stickers][6], from costs[stickers][6]: in
    // every orbit the likelihoods of pieces in slots, scaled until every slot holds one piece and
    // every piece is used as often as it exists (Sinkhorn's iteration).
    void shares(std::span<const double> costs, double temperature, std::span<double> share) const;

    // Lower bounds on the cheapest cube under each naming, without regard to twist, flip and
    // parity, and with fixed centres in any order.
    std::vector<double> relaxed_costs(std::span<const double> costs,
                                      std::span<const Naming> namings) const;

    // `naming` is its number, -1 if no cube costs less than the limit; `solved` is the number of
    // namings whose cheapest cube was computed.
    struct Cheapest {
        int naming = -1;
        double cost = 0.0;
        int solved = 0;
    };

    // Returns the naming whose cheapest legal cube costs least, if that is less than `limit`; the
    // first of equals.
    Cheapest cheapest_naming(std::span<const double> costs, std::span<const Naming> namings,
                             double limit) const;

    // The pictures of a cube in one order: the picture and the colour that stand for each face.
    struct Order {
        std::array<int, 6> source;
        Naming colours;
    };

    static constexpr std::size_t kWays = 4096;

    // Writes lower bounds on the cost of all pieces but centres, every slot on its own, for
    // pictures in these orders and turned in all ways: [orders][4096], the turns of the last face
    // varying fastest. `shown[turns][cell]` is the cell of a picture that appears at `cell` after
    // `turns` turns.
    void turned_bounds(std::span<const double> costs, std::span<const Order> orders,
                       std::span<const std::int64_t> shown, std::span<double> bounds) const;

private:
    std::vector<PieceOrbit> orbits_;
    std::size_t stickers_ = 0;
};

}  // namespace cubist
