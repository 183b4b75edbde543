// Helpers for tables that are one block of bytes with aligned parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>

namespace cubist {

// How much is done, 0..1; returns whether to go on.
using Progress = std::function<bool(double)>;

// Thrown by constructors whose progress said not to go on.
struct Stopped : std::runtime_error {
    Stopped() : std::runtime_error("stopped") {}
};
inline void report(const Progress& progress, double done) {
    if (!progress(done)) throw Stopped();
}

constexpr std::size_t kTableAlignment = 64;

constexpr std::size_t aligned(std::size_t bytes) {
    return (bytes + kTableAlignment - 1) / kTableAlignment * kTableAlignment;
}

template <class T>
const T* part(std::span<const std::uint8_t> bytes, std::size_t offset) {
    return reinterpret_cast<const T*>(bytes.data() + offset);
}

template <class T>
T* part(std::span<std::uint8_t> bytes, std::size_t offset) {
    return reinterpret_cast<T*>(bytes.data() + offset);
}

// A fast 64-bit checksum that finds damaged tables; not meant against people.

std::uint64_t checksum(std::span<const std::uint8_t> bytes);

}  // namespace cubist
