#include "thistlethwaite/thistlethwaite_phase.hpp"

namespace cubist {

struct ThistlethwaitePhase::Search {
    std::size_t limit;
    std::vector<Turns>& found;
    Turns path;
};

ThistlethwaitePhase::ThistlethwaitePhase(std::vector<int> turns, Coordinate first, Coordinate second,
                                         const Progress& progress)
    : turns_(std::move(turns)),
      first_(std::move(first)),
      second_(std::move(second)),
      first_after_(transitions(first_)),
      second_after_(transitions(second_)) {
    measure(progress);
}

std::vector<std::uint16_t> ThistlethwaitePhase::transitions(const Coordinate& coordinate) const {
    std::vector<std::uint16_t> after;
    after.reserve(coordinate.values * turns_.size());
    for (int value = 0; value < coordinate.values; ++value) {
        CubieCube cube;
        coordinate.set(cube, value);
        for (int turn : turns_)
            after.push_back(static_cast<std::uint16_t>(coordinate.of(cube * face_turn_cube(turn))));
    }
    return after;
}

// Breadth-first from the goal; the turns of every phase are closed under inverse.
void ThistlethwaitePhase::measure(const Progress& progress) {
    constexpr std::uint8_t kUnknown = 0xFF;
    constexpr std::size_t kReportEvery = 1 << 15;
    distance_.assign(static_cast<std::size_t>(first_.values) * second_.values, kUnknown);
    std::vector<Node> queue{{0, 0}};
    distance_[0] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
        if (head % kReportEvery == 0)
            report(progress, static_cast<double>(head) / static_cast<double>(distance_.size()));
        for (std::size_t turn = 0; turn < turns_.size(); ++turn) {
            const Node next = after(queue[head], turn);
            std::uint8_t& distance = distance_[index(next)];
            if (distance != kUnknown) continue;
            distance = static_cast<std::uint8_t>(distance_[index(queue[head])] + 1);
            queue.push_back(next);
        }
    }
}

void ThistlethwaitePhase::solutions(const CubieCube& cube, int length, int last_face,
                                    std::size_t limit, std::vector<Turns>& found) const {
    Search search{limit, found, {}};
    descend(node_of(cube), length, last_face, search);
}

void ThistlethwaitePhase::descend(Node node, int left, int last_face, Search& search) const {
    if (left == 0) {
        search.found.push_back(search.path);
        return;
    }
    for (std::size_t turn = 0; turn < turns_.size() && search.found.size() < search.limit; ++turn) {
        if (!may_follow(last_face, face_of(turns_[turn]))) continue;
        const Node next = after(node, turn);
        if (distance_[index(next)] > left - 1) continue;
        search.path.push_back(static_cast<std::uint8_t>(turns_[turn]));
        descend(next, left - 1, face_of(turns_[turn]), search);
        search.path.pop_back();
    }
}

}  // namespace cubist
