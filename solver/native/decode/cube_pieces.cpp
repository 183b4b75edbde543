#include "decode/cube_pieces.hpp"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <limits>
#include <queue>
#include <stdexcept>
#include <utility>

#include "decode/assignments.hpp"

namespace cubist {
namespace {

using Costs = std::span<const double>;

constexpr int kBalancings = 8;
// Larger than the rounding errors of sums in a different order.
constexpr double kRounding = 1e-9;
constexpr double kLeastLikelihood = 1e-30;
// The exponent below which a power of e vanishes beside the least likelihood.
constexpr double kVanishes = -110.0;

// The cost of pattern p in slot s, [slots][patterns].
void pattern_costs(const PieceOrbit& orbit, Costs costs, const Naming& naming,
                   std::vector<double>& shown) {
    const int patterns = orbit.patterns_count();
    shown.assign(std::size_t(orbit.slots) * patterns, 0.0);
    double* out = shown.data();
    for (int slot = 0; slot < orbit.slots; ++slot) {
        const int* const facelets = &orbit.facelets[std::size_t(slot) * orbit.stickers];
        const int* letter = orbit.patterns.data();
        for (int pattern = 0; pattern < patterns; ++pattern, ++out)
            for (int j = 0; j < orbit.stickers; ++j, ++letter)
                *out += costs[std::size_t(facelets[j]) * kColours + naming[*letter]];
    }
}

// The cost of each piece in its cheapest turn, [slots][pieces].
std::vector<double> piece_costs(const PieceOrbit& orbit, const std::vector<double>& shown) {
    std::vector<double> least(shown.size() / orbit.turns);
    for (std::size_t i = 0; i < least.size(); ++i)
        least[i] =
            *std::min_element(&shown[i * orbit.turns], &shown[i * orbit.turns] + orbit.turns);
    return least;
}

double fixed_cost(const PieceOrbit& orbit, const std::vector<double>& shown) {
    double total = 0.0;
    for (int slot = 0; slot < orbit.slots; ++slot)
        total += shown[std::size_t(slot) * orbit.patterns_count() + slot];
    return total;
}

// The cost of the cheapest pieces of an orbit for any sum of turns, with fixed centres in any
// place.
double assigned_cost(const PieceOrbit& orbit, const std::vector<double>& shown) {
    const std::vector<double> least = piece_costs(orbit, shown);
    const int pieces = orbit.pieces(), columns = pieces * orbit.copies;
    std::vector<double> table;
    table.reserve(std::size_t(orbit.slots) * columns);
    for (const double cost : least) table.insert(table.end(), orbit.copies, cost);
    const std::vector<int> column = cheapest_assignment(table, orbit.slots, columns);
    double total = 0.0;
    for (int slot = 0; slot < orbit.slots; ++slot)
        total += table[std::size_t(slot) * columns + column[slot]];
    return total;
}

// Every slot on its own.
double slot_cost(const PieceOrbit& orbit, const std::vector<double>& shown) {
    if (orbit.rule == PieceOrbit::Rule::fixed) return fixed_cost(orbit, shown);
    const int patterns = orbit.patterns_count();
    double total = 0.0;
    for (auto row = shown.begin(); row != shown.end(); row += patterns)
        total += *std::min_element(row, row + patterns);
    return total;
}

using ByParity = std::array<double, 2>;

// Like assigned_cost, but with fixed centres in their places.
double placed_cost(const PieceOrbit& orbit, const std::vector<double>& shown) {
    const bool fixed = orbit.rule == PieceOrbit::Rule::fixed;
    return fixed ? fixed_cost(orbit, shown) : assigned_cost(orbit, shown);
}

// The cheapest arrangement without twist or flip, of each parity.
ByParity arranged_cost(const PieceOrbit& orbit, const std::vector<double>& shown) {
    const RankedArrangements table(shown, orbit.slots, orbit.turns, 1);
    return {table.cost(0, 0, 0), table.cost(0, 1, 0)};
}

// Costs that depend on how the pictures of two or three faces are turned.
struct FaceTable {
    std::vector<int> faces;       // in order
    std::array<double, 64> cost;  // the turns of the last face vary fastest

    // The index of the cost for the turns of the six faces.
    std::vector<std::uint8_t> places(std::size_t ways) const {
        std::vector<std::uint8_t> found(ways);
        for (std::size_t way = 0; way < ways; ++way) {
            std::size_t place = 0;
            for (const int face : faces) place = 4 * place + (way >> (2 * (5 - face)) & 3);
            found[way] = std::uint8_t(place);
        }
        return found;
    }

    bool covers(const FaceTable& other) const {
        return std::includes(faces.begin(), faces.end(), other.faces.begin(), other.faces.end());
    }

    // Adds a cost that depends on some of the faces; their turns are counted in the order of `own`.
    void add(const std::vector<int>& own, const double* costs) {
        const std::size_t count = std::size_t{1} << (2 * faces.size());
        for (std::size_t place = 0; place < count; ++place) {
            std::size_t from = 0;
            for (const int face : own) {
                const auto axis = std::find(faces.begin(), faces.end(), face) - faces.begin();
                from = 4 * from + (place >> (2 * (faces.size() - 1 - std::size_t(axis))) & 3);
            }
            cost[place] += costs[from];
        }
    }
};

FaceTable& table_of(std::vector<FaceTable>& tables, std::vector<int> faces) {
    std::sort(faces.begin(), faces.end());
    for (FaceTable& table : tables)
        if (table.faces == faces) return table;
    tables.push_back({faces, {}});
    return tables.back();
}

// The patterns that an orbit shows under a naming, as a set.
using PatternSet = std::bitset<kColours * kColours * kColours>;

PatternSet shown_patterns(const PieceOrbit& orbit, const Naming& naming) {
    PatternSet set;
    for (auto letter = orbit.patterns.begin(); letter != orbit.patterns.end();) {
        int number = 0;
        for (int j = 0; j < orbit.stickers; ++j, ++letter)
            number = number * kColours + naming[*letter];
        set.set(number);
    }
    return set;
}

// Lower bounds of an orbit's cost under some namings. Namings under which it shows the same
// patterns cost the same: edges and wings depend on which colours are opposite (15 ways), corners
// also on their order around a corner (30), fixed centres on everything.
class OrbitBounds {
public:
    OrbitBounds(const PieceOrbit& orbit, Costs costs, std::span<const Naming> namings)
        : orbit_(orbit), costs_(costs), namings_(namings) {
        group_of_.reserve(namings.size());
        for (const Naming& naming : namings) group_of_.push_back(group_of(naming));
    }

    const PieceOrbit& orbit() const { return orbit_; }

    // Every slot on its own.
    double by_slots(int naming) { return bound(naming, &Group::by_slots, slot_cost); }

    // Pieces assigned without regard to turns and parity.
    double by_pieces(int naming) { return bound(naming, &Group::by_pieces, placed_cost); }

private:
    struct Group {
        PatternSet patterns;
        double by_slots, by_pieces;  // kUnknown until computed
    };

    int group_of(const Naming& naming) {
        const PatternSet patterns = shown_patterns(orbit_, naming);
        int group = 0;
        const bool in_place = orbit_.rule == PieceOrbit::Rule::fixed;
        while (group < int(groups_.size()) && (in_place || groups_[group].patterns != patterns))
            ++group;
        if (group == int(groups_.size())) groups_.push_back({patterns, kUnknown, kUnknown});
        return group;
    }

    template <class CostOf>
    double bound(int naming, double Group::* known, CostOf cost_of) {
        double& value = groups_[group_of_[naming]].*known;
        if (value == kUnknown) {
            pattern_costs(orbit_, costs_, namings_[naming], shown_);
            value = cost_of(orbit_, shown_);
        }
        return value;
    }

    static constexpr double kUnknown = std::numeric_limits<double>::infinity();

    const PieceOrbit& orbit_;
    Costs costs_;
    std::span<const Naming> namings_;
    std::vector<Group> groups_;
    std::vector<int> group_of_;
    std::vector<double> shown_;
};

// A candidate naming, and a lower bound on the cost of its cheapest cube. The bound is from the
// pieces of every orbit if `assigned`, otherwise from every slot on its own.
struct Candidate {
    int naming;
    double bound;
    bool assigned;
};

bool dearer(const Candidate& a, const Candidate& b) {
    return a.bound > b.bound || (a.bound == b.bound && a.naming > b.naming);
}

}  // namespace

CubePieces::CubePieces(std::vector<PieceOrbit> orbits) : orbits_(std::move(orbits)) {
    for (const PieceOrbit& orbit : orbits_) {
        const bool whole = orbit.slots > 0 && orbit.stickers > 0 && orbit.turns > 0 &&
                           orbit.copies > 0 &&
                           orbit.facelets.size() == std::size_t(orbit.slots) * orbit.stickers &&
                           orbit.patterns.size() % (std::size_t(orbit.stickers) * orbit.turns) == 0;
        if (orbit.stickers > 3) throw std::invalid_argument("a piece has at most 3 stickers");
        if (!whole || orbit.slots > orbit.pieces() * orbit.copies)
            throw std::invalid_argument("an orbit needs slots, and pieces for all of them");
        const bool arranged = orbit.rule == PieceOrbit::Rule::turning;
        if (arranged &&
            (orbit.slots != orbit.pieces() || orbit.slots > RankedArrangements::kMostPieces ||
             orbit.turns > RankedArrangements::kMostTurns))
            throw std::invalid_argument("at most 12 pieces that turn, one for each slot");
        for (const int letter : orbit.patterns)
            if (letter < 0 || letter >= kColours)
                throw std::invalid_argument("letters are numbers from 0 to 5");
        for (const int facelet : orbit.facelets) {
            if (facelet < 0) throw std::invalid_argument("stickers are numbers from 0");
            stickers_ = std::max(stickers_, std::size_t(facelet) + 1);
        }
    }
}

void CubePieces::shares(Costs costs, double temperature, std::span<double> share) const {
    std::fill(share.begin(), share.end(), 0.0);
    std::vector<double> shown, likelihood, rows, columns;
    for (const PieceOrbit& orbit : orbits_) {
        const int patterns = orbit.patterns_count(), pieces = orbit.pieces();
        if (orbit.rule == PieceOrbit::Rule::fixed) {
            for (int slot = 0; slot < orbit.slots; ++slot)
                share[std::size_t(orbit.facelets[slot]) * kColours + slot] = 1.0;
            continue;
        }
        pattern_costs(orbit, costs, kPlainNaming, shown);
        likelihood.assign(std::size_t(orbit.slots) * pieces, kLeastLikelihood);
        for (int slot = 0; slot < orbit.slots; ++slot) {
            double* const row = &shown[std::size_t(slot) * patterns];
            const double least = *std::min_element(row, row + patterns);
            for (int p = 0; p < patterns; ++p) {
                const double exponent = (least - row[p]) / temperature;
                row[p] = exponent > kVanishes ? std::exp(exponent) : 0.0;
                likelihood[std::size_t(slot) * pieces + p / orbit.turns] += row[p];
            }
        }
        rows.assign(orbit.slots, 1.0);
        columns.assign(pieces, 1.0);
        for (int round = 0; round < kBalancings; ++round) {
            std::fill(columns.begin(), columns.end(), 0.0);
            for (int slot = 0; slot < orbit.slots; ++slot)
                for (int p = 0; p < pieces; ++p)
                    columns[p] += rows[slot] * likelihood[std::size_t(slot) * pieces + p];
            for (double& column : columns) column = orbit.copies / column;
            for (int slot = 0; slot < orbit.slots; ++slot) {
                double sum = 0.0;
                for (int p = 0; p < pieces; ++p)
                    sum += likelihood[std::size_t(slot) * pieces + p] * columns[p];
                rows[slot] = 1.0 / sum;
            }
        }
        for (int slot = 0; slot < orbit.slots; ++slot)
            for (int p = 0; p < patterns; ++p) {
                const double part =
                    shown[std::size_t(slot) * patterns + p] * rows[slot] * columns[p / orbit.turns];
                for (int j = 0; j < orbit.stickers; ++j) {
                    const int facelet = orbit.facelets[std::size_t(slot) * orbit.stickers + j];
                    const int letter = orbit.patterns[std::size_t(p) * orbit.stickers + j];
                    share[std::size_t(facelet) * kColours + letter] += part;
                }
            }
    }
}

std::vector<double> CubePieces::relaxed_costs(Costs costs, std::span<const Naming> namings) const {
    std::vector<double> totals(namings.size(), 0.0), shown;
    for (const PieceOrbit& orbit : orbits_) {
        // Namings under which the orbit shows the same patterns cost the same.
        std::vector<std::pair<PatternSet, double>> known;
        for (std::size_t i = 0; i < namings.size(); ++i) {
            const PatternSet patterns = shown_patterns(orbit, namings[i]);
            auto same = std::find_if(known.begin(), known.end(),
                                     [&](const auto& one) { return one.first == patterns; });
            if (same == known.end()) {
                pattern_costs(orbit, costs, namings[i], shown);
                known.emplace_back(patterns, assigned_cost(orbit, shown));
                same = known.end() - 1;
            }
            totals[i] += same->second;
        }
    }
    return totals;
}

// Rules namings out by increasingly expensive bounds: every slot on its own; then, in order of the
// bound, pieces assigned without regard to turns and parity, and the exact cost.
CubePieces::Cheapest CubePieces::cheapest_naming(Costs costs, std::span<const Naming> namings,
                                                 double limit) const {
    std::vector<double> shown;
    // Renaming the colours does not change the cost of the free centres.
    double centres = 0.0;
    for (const PieceOrbit& orbit : orbits_)
        if (orbit.is_centre()) {
            pattern_costs(orbit, costs, kPlainNaming, shown);
            centres += assigned_cost(orbit, shown);
        }
    std::vector<OrbitBounds> parts;
    for (const PieceOrbit& orbit : orbits_)
        if (!orbit.is_centre()) parts.emplace_back(orbit, costs, namings);
    const auto bounded = [&](int naming) {
        double total = centres;
        for (OrbitBounds& part : parts) total += part.by_slots(naming);
        return total;
    };
    // Stops as soon as the candidate cannot be the best.
    const auto assigned = [&](Candidate candidate, double most) {
        for (OrbitBounds& part : parts) {
            if (candidate.bound > most + kRounding) break;
            candidate.bound += part.by_pieces(candidate.naming) - part.by_slots(candidate.naming);
        }
        candidate.assigned = true;
        return candidate;
    };
    std::priority_queue<Candidate, std::vector<Candidate>, decltype(&dearer)> waiting(&dearer);
    for (int i = 0; i < int(namings.size()); ++i)
        if (const double bound = bounded(i); bound < limit) waiting.push({i, bound, false});
    Cheapest best{-1, limit, 0};
    while (!waiting.empty() && waiting.top().bound <= best.cost + kRounding) {
        const Candidate candidate = waiting.top();
        waiting.pop();
        if (!candidate.assigned) {
            waiting.push(assigned(candidate, best.cost));
            continue;
        }
        double rest = centres;
        ByParity turning{};
        for (OrbitBounds& part : parts) {
            const PieceOrbit& orbit = part.orbit();
            if (orbit.rule == PieceOrbit::Rule::turning) {
                pattern_costs(orbit, costs, namings[candidate.naming], shown);
                const ByParity own = arranged_cost(orbit, shown);
                for (int parity : {0, 1}) turning[parity] += own[parity];
            } else {
                rest += part.by_pieces(candidate.naming);
            }
        }
        ++best.solved;
        const double cost = rest + std::min(turning[0], turning[1]);
        if (cost < best.cost || (cost == best.cost && candidate.naming < best.naming)) {
            best.naming = candidate.naming;
            best.cost = cost;
        }
    }
    return best;
}

void CubePieces::turned_bounds(Costs costs, std::span<const Order> orders,
                               std::span<const std::int64_t> shown,
                               std::span<double> bounds) const {
    const std::size_t area = shown.size() / 4;
    std::vector<FaceTable> tables;
    std::vector<std::vector<std::uint8_t>> places;
    for (std::size_t number = 0; number < orders.size(); ++number) {
        const Order& order = orders[number];
        for (FaceTable& table : tables) table.cost.fill(0.0);
        for (const PieceOrbit& orbit : orbits_) {
            if (orbit.is_centre() || orbit.rule == PieceOrbit::Rule::fixed) continue;
            const std::size_t stickers = std::size_t(orbit.stickers);
            for (int slot = 0; slot < orbit.slots; ++slot) {
                const int* const facelets = &orbit.facelets[std::size_t(slot) * stickers];
                std::vector<int> faces(stickers);
                std::array<double, 64> least;
                for (std::size_t j = 0; j < stickers; ++j) faces[j] = facelets[j] / int(area);
                for (std::size_t place = 0; place < std::size_t{1} << (2 * stickers); ++place) {
                    std::array<const double*, 3> seen{};
                    for (std::size_t j = 0; j < stickers; ++j) {
                        const std::size_t turns = place >> (2 * (stickers - 1 - j)) & 3;
                        const auto cell = shown[turns * area + std::size_t(facelets[j]) % area];
                        const auto picture = std::size_t(order.source[std::size_t(faces[j])]);
                        seen[j] = &costs[(picture * area + std::size_t(cell)) * kColours];
                    }
                    least[place] = std::numeric_limits<double>::infinity();
                    const int* letter = orbit.patterns.data();
                    for (int pattern = orbit.patterns_count(); pattern > 0; --pattern) {
                        double total = 0.0;
                        for (std::size_t j = 0; j < stickers; ++j, ++letter)
                            total += seen[j][order.colours[std::size_t(*letter)]];
                        least[place] = std::min(least[place], total);
                    }
                }
                table_of(tables, faces).add(faces, least.data());
            }
        }
        const std::span<double> out = bounds.subspan(number * kWays, kWays);
        std::fill(out.begin(), out.end(), 0.0);
        for (std::size_t i = places.size(); i < tables.size(); ++i)
            places.push_back(tables[i].places(kWays));
        // Tables of two faces are merged into tables of three, so that fewer remain to add up.
        for (const FaceTable& pair : tables) {
            if (pair.faces.size() != 2) continue;
            for (FaceTable& corner : tables)
                if (corner.faces.size() == 3 && corner.covers(pair)) {
                    corner.add(pair.faces, pair.cost.data());
                    break;
                }
        }
        for (std::size_t i = 0; i < tables.size(); ++i)
            if (tables[i].faces.size() == 3)
                for (std::size_t way = 0; way < kWays; ++way)
                    out[way] += tables[i].cost[places[i][way]];
    }
}

}  // namespace cubist
