// Helpers for tables that are one block of bytes with aligned parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string_view>

namespace cubist {

// Receives the fraction done, 0..1. Returns false to stop.
using Progress = std::function<bool(double)>;

// Thrown by constructors if progress returned false.
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

// A fast 64-bit checksum that detects damaged tables. It offers no protection against deliberate
// changes.

std::uint64_t checksum(std::span<const std::uint8_t> bytes);

// Handles tables in mapped files that the kernel can no longer read.
//
// If another program truncates the file, or the SD card fails to read a page, SIGBUS ends the
// process that reads it: without a message, in the middle of a motion. A copy of the table would
// take 50 to 130 MB of memory that the kernel cannot use for anything else, and locked pages
// disappear with the file all the same. So this handler catches the signal, names the file and ends
// the process with exit code 3. If the process must finish a motion first, the handler instead
// replaces the table with zeros and sends the process a signal.

// Watches a mapped file. Call `unwatch_table` before unmapping it.
void watch_table(const void* start, std::size_t size, std::string_view path);
void unwatch_table(const void* start);

// The signal that the process sends itself when it has lost a table; 0: it ends at once.
void set_lost_table_signal(int number);

// Returns true if zeros have replaced a table. From then on no search is correct.
bool has_lost_table();

}  // namespace cubist
