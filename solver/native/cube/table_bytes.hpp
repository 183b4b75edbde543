// Helpers for tables that are one block of bytes with aligned parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string_view>

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

// Tables that are mapped files: what happens when the kernel can no longer read one of them.
//
// A file that another program cuts short, or a page that the SD card fails to read, ends the
// process that reads it with SIGBUS: without a word, in the middle of whatever the robot does. A
// copy of the table would take 50 to 130 MB of memory that the kernel cannot use for anything else,
// and locked pages go with the file all the same. So the signal is caught instead. Its handler
// names the file and ends the process with exit code 3; a process that has to come to rest first
// has the handler put zeros in the table's place and send it a signal.

// Watch a mapped file, until it is unmapped: call `unwatch_table` before that.
void watch_table(const void* start, std::size_t size, std::string_view path);
void unwatch_table(const void* start);

// The signal that a process sends itself when it has lost a table; 0: it ends at once.
void set_lost_table_signal(int number);

// Whether zeros stand in the place of a table: no search is right any more.
bool has_lost_table();

}  // namespace cubist
