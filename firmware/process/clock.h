/* Virtual time: the firmware's ticks, at a chosen multiple of real time. */
#ifndef CUBIST_HOST_CLOCK_H
#define CUBIST_HOST_CLOCK_H

#include <stdint.h>

/* Starts the clock at tick 0, to run `speed` times as fast as real time. If the process was kept
 * from running while there was work, the clock catches up by at most `catch_up_ns` and drops the
 * rest. */
void clock_start(double speed, uint64_t catch_up_ns);

/* Changes the limit of catching up. */
void clock_catch_up(uint64_t longest_ns);

/* Granted time, without clock_start(): advances by `ticks`, independent of real time. */
void clock_pass(uint64_t ticks);

/* Returns the time of the last look in milliseconds: real time or granted time. */
uint32_t clock_link_ms(void);

/* Reads the real time. Returns the tick up to which events may be played. */
uint64_t clock_look(void);

/* Returns real nanoseconds since a tick was due, lost time included; 0 in granted time. */
uint64_t clock_behind_ns(uint64_t tick);

/* Drops the time allowed beyond a tick, because the simulation is too slow to catch up. */
void clock_limit(uint64_t tick);

/* Returns real nanoseconds until a tick, the next one with work, is due. */
uint64_t clock_ns_until(uint64_t tick);

#endif
