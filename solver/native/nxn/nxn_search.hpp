// A database of all positions near the solved one, and IDA* with it.
//
// Whatever is not in a database of depth d is at least d + 1 turns away: an admissible bound. Cubes
// are compared after renaming the colours, so that turned as a whole they are the same.
#pragma once

#include <functional>
#include <optional>

#include "cube/control.hpp"
#include "nxn/nxn_positions.hpp"

namespace cubist {

struct NxnResult {
    std::optional<std::vector<int>> turns;
    int lower_bound = 0;
    std::uint64_t nodes = 0;
};

class NxnDatabase {
public:
    explicit NxnDatabase(NxnTurns turns);

    // Adds one more depth, at most up to `most` positions; false when that was not enough, and the
    // database is left as it was. `progress` hears the positions so far and may stop by false.
    bool deepen(std::size_t most, const std::function<bool(std::size_t)>& progress);
    void restore(std::span<const std::uint64_t> keys, std::span<const std::uint8_t> distances);

    // The shortest way to solved of at most `longest` turns. Throws std::invalid_argument when the
    // stickers are those of no cube.
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
