// Tables that are mapped files: what happens when the kernel can no longer read one of them.
//
// A file that another program cuts short, or a page that the SD card fails to read, ends the
// process that reads it with SIGBUS: without a word, in the middle of whatever the robot does. A
// copy of the table would take 50 to 130 MB of memory that the kernel cannot use for anything else,
// and locked pages go with the file all the same. So the signal is caught instead. Its handler
// names the file and ends the process with exit code 3; a process that has to come to rest first
// has the handler put zeros in the table's place and send it a signal.
#pragma once

#include <cstddef>
#include <string_view>

namespace cubist {

// Watch a mapped file, until it is unmapped: call `unwatch_table` before that.
void watch_table(const void* start, std::size_t size, std::string_view path);
void unwatch_table(const void* start);

// The signal that a process sends itself when it has lost a table; 0: it ends at once.
void set_lost_table_signal(int number);

// Whether zeros stand in the place of a table: no search is right any more.
bool has_lost_table();

}  // namespace cubist
