#include "cube/table_bytes.hpp"

#include <array>
#include <cstring>

namespace cubist {
namespace {

constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
// Independent lanes keep the multiplier busy: the speed is that of memory.
constexpr std::size_t kLanes = 8;
constexpr std::size_t kBlock = kLanes * sizeof(std::uint64_t);

using Lanes = std::array<std::uint64_t, kLanes>;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * kMultiplier;
    return hash ^ hash >> 32;
}

void add_block(Lanes& lanes, const std::uint8_t* block) {
    Lanes words;
    std::memcpy(words.data(), block, kBlock);
    for (std::size_t k = 0; k < kLanes; ++k) lanes[k] = mixed(lanes[k], words[k]);
}

}  // namespace

std::uint64_t checksum(std::span<const std::uint8_t> bytes) {
    Lanes lanes;
    for (std::size_t k = 0; k < kLanes; ++k) lanes[k] = k + 1;
    std::size_t done = 0;
    for (; done + kBlock <= bytes.size(); done += kBlock) add_block(lanes, bytes.data() + done);
    std::array<std::uint8_t, kBlock> tail{};
    if (done < bytes.size()) std::memcpy(tail.data(), bytes.data() + done, bytes.size() - done);
    add_block(lanes, tail.data());
    std::uint64_t hash = bytes.size();
    for (std::uint64_t lane : lanes) hash = mixed(hash, lane);
    return hash;
}

}  // namespace cubist
