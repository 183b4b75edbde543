// A fast 64-bit checksum that finds damaged tables; not meant against people.
#pragma once

#include <cstdint>
#include <span>

namespace cubist {

std::uint64_t checksum(std::span<const std::uint8_t> bytes);

}  // namespace cubist
