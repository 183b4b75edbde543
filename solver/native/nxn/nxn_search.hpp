// Cubes of any size as stickers packed into a few words, with colours named by the corner DLB.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cube/control.hpp"

namespace cubist {

using Stickers = std::vector<std::uint8_t>;  // colours 0..5 of faces U R F D L B

// The turns of a puzzle, each as "after[i] = before[permutation[i]]".
struct NxnTurns {
    std::size_t stickers = 0;
    std::vector<std::uint16_t> permutations;   // turn after turn
    std::vector<std::uint8_t> axis;            // by turn; turns of one axis commute
    std::vector<std::uint8_t> block;           // by turn: the layers of the axis
    bool repeats = false;                      // whether a turn may occur twice in a row
    std::array<std::uint16_t, 3> reference{};  // the stickers D, L and B of the corner DLB

    std::size_t count() const { return axis.size(); }
    bool may_follow(int last, std::size_t turn) const;
    void apply(std::size_t turn, const Stickers& before, Stickers& after) const;
    // Renames the colours so that the reference corner shows D, L and B. Returns false if no
    // rotation of the cube does that.
    bool rename(Stickers& stickers) const;
};

// Positions in a hash table, each with its distance. Their colours must have been renamed.
class NxnPositions {
public:
    static constexpr int kStickersAWord = 24;  // 6^24 < 2^64

    explicit NxnPositions(std::size_t stickers);

    std::size_t words() const { return words_; }
    std::size_t size() const { return distances_.size(); }
    // Adds the position unless it is present.
    void add(const Stickers& stickers, std::uint8_t distance);
    // Returns the distance, or -1.
    int distance(const Stickers& stickers) const;
    void unpack(std::size_t number, Stickers& stickers) const;

    std::span<const std::uint64_t> keys() const { return keys_; }
    std::span<const std::uint8_t> distances() const { return distances_; }
    // Adds all positions of a stored table.
    void restore(std::span<const std::uint64_t> keys, std::span<const std::uint8_t> distances);

private:
    static constexpr std::uint32_t kEmpty = 0xFFFFFFFF;
    using Key = std::vector<std::uint64_t>;

    void pack(const Stickers& stickers, std::uint64_t* key) const;
    std::size_t slot_of(const std::uint64_t* key) const;
    void insert(const std::uint64_t* key, std::uint8_t distance);
    void grow();

    std::size_t stickers_, words_;
    std::vector<std::uint64_t> keys_;  // position after position
    std::vector<std::uint8_t> distances_;
    std::vector<std::uint32_t> slots_;  // numbers of positions by hash
};

// A database of all positions near the solved one, and IDA* with it.
//
// A position missing from a database of depth d is at least d + 1 turns away, which is an
// admissible bound. Cubes are compared after renaming the colours, so rotations of the whole cube
// do not matter.

struct NxnResult {
    std::optional<std::vector<int>> turns;
    int lower_bound = 0;
    std::uint64_t nodes = 0;
};

class NxnDatabase {
public:
    explicit NxnDatabase(NxnTurns turns);

    // Adds one more depth, up to `most` positions in all. Returns false if they do not fit, and
    // then leaves the database unchanged. `progress` receives the number of positions so far and
    // may stop it by returning false.
    bool deepen(std::size_t most, const std::function<bool(std::size_t)>& progress);
    void restore(std::span<const std::uint64_t> keys, std::span<const std::uint8_t> distances);

    // Returns the shortest solution of at most `longest` turns. Throws std::invalid_argument if the
    // stickers belong to no cube.
    NxnResult solve(Stickers stickers, int longest, const Deadline& deadline,
                    const std::function<void(int, std::uint64_t)>& progress) const;
    const NxnPositions& positions() const { return positions_; }
    int depth() const { return depth_; }

private:
    NxnTurns turns_;
    NxnPositions positions_;
    int depth_ = 0;
};

}  // namespace cubist
