// Distances of pairs of coordinates, the first reduced by symmetries, at two bits each.
//
// Entries are distances modulo 3. Neighbours differ by at most one, so the distance of a position
// gives that of its neighbour. The first distance is found by counting along a path to the goal.
// `Pairs` describes the coordinates:
//
//   int firsts(), seconds(), turns(), symmetries();     symmetry 0 is the identity
//   Pair moved(Pair, int turn), mapped(Pair, int symmetry);
//   bool is_goal(Pair);
//
// Turns come with their inverses, and the symmetries are a group that preserves turns and goals.
// The first of a moved or mapped pair must not depend on the second.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cube/breadth_first.hpp"
#include "cube/table_bytes.hpp"

namespace cubist {

struct CoordinatePair {
    int first, second;
};

// The division of the firsts into classes.
class CoordinateClasses {
public:
    template <class Pairs>
    explicit CoordinateClasses(const Pairs& pairs) : class_of_(pairs.firsts(), kUnknown) {
        for (int first = 0; first < pairs.firsts(); ++first) {
            if (class_of_[first] != kUnknown) continue;
            const auto number = static_cast<std::uint32_t>(firsts_.size());
            firsts_.push_back(first);
            stabilisers_.emplace_back();
            for (int s = 0; s < pairs.symmetries(); ++s) {
                const int image = pairs.mapped({first, 0}, s).first;
                if (image == first && s > 0) stabilisers_.back().push_back(s);
            }
            // The index of the symmetry that takes another first of the class to this one.
            for (int s = 0; s < pairs.symmetries(); ++s) {
                const int image = pairs.mapped({first, 0}, s).first;
                if (class_of_[image] != kUnknown) continue;
                int back = 0;
                while (pairs.mapped({image, 0}, back).first != first) ++back;
                class_of_[image] = number << kBits | static_cast<std::uint32_t>(back);
            }
        }
    }

    int size() const { return static_cast<int>(firsts_.size()); }
    int class_of(int first) const { return static_cast<int>(class_of_[first] >> kBits); }
    int symmetry_of(int first) const {
        return static_cast<int>(class_of_[first] & ((1U << kBits) - 1));
    }
    int first_of(int number) const { return firsts_[number]; }
    const std::vector<int>& stabilisers(int number) const { return stabilisers_[number]; }

private:
    static constexpr int kBits = 4;
    static constexpr std::uint32_t kUnknown = 0xFFFFFFFF;

    std::vector<std::uint32_t> class_of_;
    std::vector<int> firsts_;
    std::vector<std::vector<int>> stabilisers_;
};

template <class Pairs>
class ClassTable {
public:
    explicit ClassTable(const Pairs& pairs, const CoordinateClasses& classes)
        : pairs_(pairs), classes_(classes) {}

    std::size_t entries() const {
        return static_cast<std::size_t>(classes_.size()) * pairs_.seconds();
    }
    std::size_t bytes() const { return (entries() + 3) / 4; }
    void use(std::span<const std::uint8_t> table) { table_ = table.data(); }

    int distance(CoordinatePair at) const {
        int distance = 0;
        for (int remainder = remainder_of(at); !pairs_.is_goal(at); ++distance) {
            const int wanted = (remainder + 2) % 3;
            if (remainder == kNone) return kUnreachable;
            int turn = 0;
            CoordinatePair next{};
            do next = pairs_.moved(at, turn++);
            while (remainder_of(next) != wanted);
            at = next;
            remainder = wanted;
        }
        return distance;
    }
    // Returns the distance of a neighbour of a pair at the distance `from`.
    int distance_near(CoordinatePair at, int from) const {
        const int step = (remainder_of(at) - from % 3 + 4) % 3;  // 0 nearer, 1 as far, 2 farther
        return from - 1 + step;
    }
    // The same for a class and the second in its frame, if the caller has looked them up.
    int distance_near(int number, int second, int from) const {
        const int step = (remainder_at(number, second) - from % 3 + 4) % 3;
        return from - 1 + step;
    }

    // Fills `table`, uint8[bytes()]. Returns false if `progress` stopped it.
    bool make(std::span<std::uint8_t> table, int threads, const Progress& progress) const {
        std::vector<std::uint8_t> distances(entries(), kUnknown);
        for (int number = 0; number < classes_.size(); ++number)
            for (int second = 0; second < pairs_.seconds(); ++second)
                if (pairs_.is_goal({classes_.first_of(number), second}))
                    distances[index(number, second)] = 0;
        const auto are_most_known = [&](std::size_t known, std::size_t) {
            return 2 * known > entries();
        };
        const auto expand = [&](int number, int depth, bool from_unknown) {
            const auto from = static_cast<std::uint8_t>(depth);
            return from_unknown ? look_back(distances, number, from)
                                : spread_from(distances, number, from);
        };
        const auto report = [&](std::size_t known) {
            return progress(static_cast<double>(known) / static_cast<double>(entries()));
        };
        if (!fill_by_level({classes_.size(), kBlock, threads}, 0, are_most_known, expand, report))
            return false;
        std::fill(table.begin(), table.end(), std::uint8_t{0});
        for (std::size_t at = 0; at < distances.size(); ++at) {
            const int code = distances[at] == kUnknown ? kNone : distances[at] % 3;
            table[at / 4] |= static_cast<std::uint8_t>(code << at % 4 * 2);
        }
        return true;
    }

    static constexpr int kUnreachable = 100;

private:
    static constexpr int kNone = 3;
    static constexpr std::uint8_t kUnknown = 0xFF;
    static constexpr int kBlock = 16;  // classes

    std::size_t index(int number, int second) const {
        return static_cast<std::size_t>(number) * pairs_.seconds() + second;
    }
    int remainder_at(int number, int second) const {
        const std::size_t at = index(number, second);
        return table_[at / 4] >> at % 4 * 2 & 3;
    }
    int remainder_of(CoordinatePair at) const {
        const int symmetry = classes_.symmetry_of(at.first);
        return remainder_at(classes_.class_of(at.first), pairs_.mapped(at, symmetry).second);
    }

    // Sets the unknown neighbours of a class's entries at `depth` to one more. Returns their count.
    std::size_t spread_from(std::vector<std::uint8_t>& distances, int number,
                            std::uint8_t depth) const {
        std::size_t found = 0;
        const int first = classes_.first_of(number);
        const std::uint8_t* const own = distances.data() + index(number, 0);
        for (int second = 0; second < pairs_.seconds(); ++second) {
            if (own[second] != depth) continue;
            for (int turn = 0; turn < pairs_.turns(); ++turn)
                found += set(distances, pairs_.moved({first, second}, turn), depth + 1);
        }
        return found;
    }

    std::size_t set(std::vector<std::uint8_t>& distances, CoordinatePair at, int value) const {
        const int to = classes_.class_of(at.first);
        const CoordinatePair own = pairs_.mapped(at, classes_.symmetry_of(at.first));
        std::uint8_t& entry = distances[index(to, own.second)];
        if (entry != kUnknown) return 0;
        entry = static_cast<std::uint8_t>(value);
        std::size_t found = 1;
        for (const int s : classes_.stabilisers(to)) {
            std::uint8_t& twin = distances[index(to, pairs_.mapped(own, s).second)];
            found += twin == kUnknown;
            twin = static_cast<std::uint8_t>(value);
        }
        return found;
    }

    // Sets the unknown entries of a class that have a neighbour at `depth` to one more. Returns
    // their count.
    std::size_t look_back(std::vector<std::uint8_t>& distances, int number,
                          std::uint8_t depth) const {
        std::size_t found = 0;
        const int first = classes_.first_of(number);
        for (int second = 0; second < pairs_.seconds(); ++second) {
            std::uint8_t& own = distances[index(number, second)];
            if (own != kUnknown) continue;
            for (int turn = 0; turn < pairs_.turns(); ++turn) {
                const CoordinatePair near = pairs_.moved({first, second}, turn);
                const int symmetry = classes_.symmetry_of(near.first);
                const int image = pairs_.mapped(near, symmetry).second;
                if (distances[index(classes_.class_of(near.first), image)] != depth) continue;
                own = depth + 1;
                ++found;
                break;
            }
        }
        return found;
    }

    const Pairs& pairs_;
    const CoordinateClasses& classes_;
    const std::uint8_t* table_ = nullptr;
};

}  // namespace cubist
