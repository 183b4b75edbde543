#include "nxn/nxn_search.hpp"

#include <algorithm>
#include <stdexcept>

namespace cubist {
namespace {

constexpr int kColours = 6;
constexpr int kHalf = 3;  // opposite faces are three apart

std::uint64_t mixed(std::uint64_t value) {
    value ^= value >> 31;
    value *= 0x9E3779B97F4A7C15;
    return value ^ value >> 29;
}

// Returns whether D, L, B of a rotated cube can be these three colours.
bool is_rotation(int down, int left, int back) {
    const auto axis = [](int colour) { return colour % kHalf; };
    if (axis(down) == axis(left) || axis(left) == axis(back) || axis(down) == axis(back))
        return false;
    // D L B are in this order around their corner, and so is every even permutation of the axes
    // with an even number of faces replaced by their opposites.
    const int turned = (axis(left) - axis(down) + kHalf) % kHalf;
    const int flips = (down < kHalf) + (left < kHalf) + (back < kHalf);
    return (turned == 1) == (flips % 2 == 0);
}

}  // namespace

bool NxnTurns::may_follow(int last, std::size_t turn) const {
    if (last < 0 || axis[last] != axis[turn]) return true;
    return block[last] < block[turn] || (repeats && static_cast<std::size_t>(last) == turn);
}

void NxnTurns::apply(std::size_t turn, const Stickers& before, Stickers& after) const {
    const std::uint16_t* from = &permutations[turn * stickers];
    for (std::size_t i = 0; i < stickers; ++i) after[i] = before[from[i]];
}

bool NxnTurns::rename(Stickers& shown) const {
    const int down = shown[reference[0]], left = shown[reference[1]], back = shown[reference[2]];
    if (!is_rotation(down, left, back)) return false;
    std::array<std::uint8_t, kColours> name{};
    const std::array<int, 3> colours{down, left, back};
    for (int k = 0; k < kHalf; ++k) {
        name[colours[k]] = static_cast<std::uint8_t>(kHalf + k);
        name[(colours[k] + kHalf) % kColours] = static_cast<std::uint8_t>(k);
    }
    for (std::uint8_t& colour : shown) colour = name[colour];
    return true;
}

NxnPositions::NxnPositions(std::size_t stickers)
    : stickers_(stickers),
      words_((stickers + kStickersAWord - 1) / kStickersAWord),
      slots_(1 << 10, kEmpty) {}

void NxnPositions::pack(const Stickers& stickers, std::uint64_t* key) const {
    std::size_t at = 0;
    for (std::size_t word = 0; word < words_; ++word) {
        std::uint64_t packed = 0;
        for (int k = 0; k < kStickersAWord && at < stickers_; ++k)
            packed = packed * kColours + stickers[at++];
        key[word] = packed;
    }
}

void NxnPositions::unpack(std::size_t number, Stickers& stickers) const {
    std::size_t end = 0;
    for (std::size_t word = 0; word < words_; ++word) {
        const std::size_t start = end;
        end = std::min(start + kStickersAWord, stickers_);
        std::uint64_t packed = keys_[number * words_ + word];
        for (std::size_t at = end; at-- > start; packed /= kColours)
            stickers[at] = static_cast<std::uint8_t>(packed % kColours);
    }
}

// Returns the slot that holds the key, or the empty one where it belongs.
std::size_t NxnPositions::slot_of(const std::uint64_t* key) const {
    std::uint64_t hash = 0;
    for (std::size_t word = 0; word < words_; ++word) hash = mixed(hash + key[word]);
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash & mask;
    while (slots_[slot] != kEmpty && !std::equal(key, key + words_, &keys_[slots_[slot] * words_]))
        slot = (slot + 1) & mask;
    return slot;
}

void NxnPositions::insert(const std::uint64_t* key, std::uint8_t distance) {
    const std::size_t slot = slot_of(key);
    if (slots_[slot] != kEmpty) return;
    slots_[slot] = static_cast<std::uint32_t>(size());
    keys_.insert(keys_.end(), key, key + words_);
    distances_.push_back(distance);
    if (2 * size() > slots_.size()) grow();
}

void NxnPositions::grow() {
    slots_.assign(2 * slots_.size(), kEmpty);
    for (std::size_t number = 0; number < size(); ++number)
        slots_[slot_of(&keys_[number * words_])] = static_cast<std::uint32_t>(number);
}

void NxnPositions::add(const Stickers& stickers, std::uint8_t distance) {
    Key key(words_);
    pack(stickers, key.data());
    insert(key.data(), distance);
}

int NxnPositions::distance(const Stickers& stickers) const {
    Key key(words_);
    pack(stickers, key.data());
    const std::uint32_t number = slots_[slot_of(key.data())];
    return number == kEmpty ? -1 : distances_[number];
}

void NxnPositions::restore(std::span<const std::uint64_t> keys,
                           std::span<const std::uint8_t> distances) {
    for (std::size_t number = 0; number < distances.size(); ++number)
        insert(&keys[number * words_], distances[number]);
}

namespace {

constexpr int kNothing = -1;
constexpr std::size_t kBetweenReports = 1 << 14;

Stickers solved(std::size_t count) {
    Stickers stickers(count);
    const std::size_t area = count / 6;
    for (std::size_t i = 0; i < count; ++i) stickers[i] = static_cast<std::uint8_t>(i / area);
    return stickers;
}

class Deepening {
public:
    Deepening(const NxnDatabase& database, const NxnTurns& turns, const Deadline& deadline,
              std::uint64_t& nodes)
        : positions_(database.positions()),
          farther_(database.depth() + 1),
          turns_(turns),
          deadline_(deadline),
          nodes_(nodes) {}

    bool run(const Stickers& from, int length) {
        paths_.assign(static_cast<std::size_t>(length) + 1, Stickers(from.size()));
        paths_[0] = from;
        return descend(0, length, kNothing);
    }
    int bound(const Stickers& stickers) const {
        const int known = positions_.distance(stickers);
        return known == kNothing ? farther_ : known;
    }
    bool stopped() const { return stopped_; }
    std::vector<int> turns() const { return taken_; }

private:
    // From a position in the database, distances decrease along the solution.
    bool descend(std::size_t level, int left, int last) {
        const Stickers& at = paths_[level];
        const int known = positions_.distance(at);
        if (known == 0) return true;
        if ((known == kNothing ? farther_ : known) > left) return false;
        if (++nodes_ % kBetweenReports == 0) stopped_ = deadline_.has_passed();
        for (std::size_t turn = 0; turn < turns_.count() && !stopped_; ++turn) {
            if (!turns_.may_follow(last, turn)) continue;
            Stickers& next = paths_[level + 1];
            turns_.apply(turn, at, next);
            turns_.rename(next);
            taken_.push_back(static_cast<int>(turn));
            if (descend(level + 1, left - 1, static_cast<int>(turn))) return true;
            taken_.pop_back();
        }
        return false;
    }

    const NxnPositions& positions_;
    int farther_;
    const NxnTurns& turns_;
    const Deadline& deadline_;
    std::uint64_t& nodes_;
    std::vector<Stickers> paths_;
    std::vector<int> taken_;
    bool stopped_ = false;
};

}  // namespace

NxnDatabase::NxnDatabase(NxnTurns turns) : turns_(std::move(turns)), positions_(turns_.stickers) {
    Stickers start = solved(turns_.stickers);
    turns_.rename(start);
    positions_.add(start, 0);
}

bool NxnDatabase::deepen(std::size_t most, const std::function<bool(std::size_t)>& progress) {
    NxnPositions deeper = positions_;
    const auto next_distance = static_cast<std::uint8_t>(depth_ + 1);
    Stickers at(turns_.stickers), next(turns_.stickers);
    for (std::size_t number = 0; number < positions_.size(); ++number) {
        if (positions_.distances()[number] != depth_) continue;
        positions_.unpack(number, at);
        for (std::size_t turn = 0; turn < turns_.count(); ++turn) {
            turns_.apply(turn, at, next);
            turns_.rename(next);
            deeper.add(next, next_distance);
        }
        if (deeper.size() > most) return false;
        if (number % kBetweenReports == 0 && !progress(deeper.size())) return false;
    }
    positions_ = std::move(deeper);
    ++depth_;
    return progress(positions_.size());
}

void NxnDatabase::restore(std::span<const std::uint64_t> keys,
                          std::span<const std::uint8_t> distances) {
    positions_.restore(keys, distances);
    depth_ = distances.empty() ? 0 : *std::max_element(distances.begin(), distances.end());
}

NxnResult NxnDatabase::solve(Stickers stickers, int longest, const Deadline& deadline,
                             const std::function<void(int, std::uint64_t)>& progress) const {
    if (stickers.size() != turns_.stickers || !turns_.rename(stickers))
        throw std::invalid_argument("not the stickers of a cube");
    NxnResult result;
    Deepening search(*this, turns_, deadline, result.nodes);
    result.lower_bound = search.bound(stickers);
    for (; result.lower_bound <= longest; ++result.lower_bound) {
        progress(result.lower_bound, result.nodes);
        if (search.run(stickers, result.lower_bound)) {
            result.turns = search.turns();
            break;
        }
        if (search.stopped()) break;
    }
    return result;
}

}  // namespace cubist
