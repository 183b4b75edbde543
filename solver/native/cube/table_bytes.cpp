#include "cube/table_bytes.hpp"

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>

namespace cubist {

namespace {

constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
// Independent lanes keep the multiplier busy, so that memory limits the speed.
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

namespace {

constexpr std::size_t kMostTables = 64;
constexpr std::size_t kLongestPath = 4096;
constexpr int kFailed = 3;

// The handler reads these without a lock: `start` is set last and cleared first.
struct Watched {
    std::atomic<char*> start = nullptr;
    std::atomic<bool> is_lost = false;
    std::size_t size = 0;
    std::array<char, kLongestPath> path{};
};

std::array<Watched, kMostTables> watched;
std::mutex watching;
std::atomic<int> lost_table_signal = 0;
std::atomic<bool> any_lost = false;
struct sigaction before;

static_assert(std::atomic<char*>::is_always_lock_free);

void write_text(const char* text) {
    std::size_t left = std::strlen(text);
    while (left > 0) {
        const auto written = write(STDERR_FILENO, text, left);
        if (written <= 0) return;
        text += written;
        left -= static_cast<std::size_t>(written);
    }
}

void handle_lost_page(int /*number*/, siginfo_t* info, void* /*context*/) {
    const auto* const at = static_cast<const char*>(info->si_addr);
    for (Watched& table : watched) {
        char* const start = table.start.load(std::memory_order_acquire);
        if (start == nullptr || at < start || at >= start + table.size) continue;
        any_lost.store(true);
        const bool is_first = !table.is_lost.exchange(true);
        if (is_first) {
            write_text("cubist: the table ");
            write_text(table.path.data());
            write_text(
                " was cut short, or its disk cannot be read, while it was in use. The next start "
                "makes it again.\n");
        }
        const int number = lost_table_signal.load();
        void* const zeros = number == 0 ? MAP_FAILED
                                        : mmap(start, table.size, PROT_READ,
                                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (zeros == MAP_FAILED) _exit(kFailed);
        if (is_first) kill(getpid(), number);
        return;
    }
    // The address is in no table. The faulting instruction runs again and ends as it would without
    // this handler.
    sigaction(SIGBUS, &before, nullptr);
}

void install_handler() {
    static std::once_flag installed;
    std::call_once(installed, [] {
        struct sigaction action{};
        action.sa_sigaction = &handle_lost_page;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        sigaction(SIGBUS, &action, &before);
    });
}

}  // namespace

void watch_table(const void* start, std::size_t size, std::string_view path) {
    const std::lock_guard lock(watching);
    install_handler();
    const auto free = std::find_if(watched.begin(), watched.end(), [](const Watched& table) {
        return table.start.load() == nullptr;
    });
    if (free == watched.end()) return;  // then SIGBUS ends the process as usual
    free->path[path.copy(free->path.data(), kLongestPath - 1)] = '\0';
    free->size = size;
    free->is_lost.store(false);
    free->start.store(static_cast<char*>(const_cast<void*>(start)), std::memory_order_release);
}

void unwatch_table(const void* start) {
    const std::lock_guard lock(watching);
    for (Watched& table : watched) {
        if (table.start.load() == start) table.start.store(nullptr);
    }
}

void set_lost_table_signal(int number) { lost_table_signal.store(number); }

bool has_lost_table() { return any_lost.load(); }

}  // namespace cubist
