/* Virtual time: the firmware's ticks, at a chosen multiple of real time. */
#ifndef CUBIST_HOST_CLOCK_H
#define CUBIST_HOST_CLOCK_H

#include <stdint.h>

/* Starts at tick 0, now, to run `speed` times as fast as real time. Time in which the process did
 * not run, though there was something to do, is made up for as far as `catch_up_ns`; what goes
 * beyond is as if it had not been. */
void clock_start(double speed, uint64_t catch_up_ns);

/* The same from now on with another limit. */
void clock_catch_up(uint64_t longest_ns);

/* Without a start: so many ticks have been granted and have passed, whatever the real time does. */
void clock_pass(uint64_t ticks);

/* Time in milliseconds, as it was when last looked at: the real one, or the one granted. */
uint32_t clock_link_ms(void);

/* Looks at the real time; returns the tick up to which events may be played. */
uint64_t clock_look(void);

/* Real nanoseconds that have passed since a tick was due, lost time included; 0 in granted time. */
uint64_t clock_behind_ns(uint64_t tick);

/* Gives up what is allowed beyond a tick: the simulation is too slow to make up for it. */
void clock_limit(uint64_t tick);

/* Real nanoseconds until a tick is due, which is what there is to do next. */
uint64_t clock_ns_until(uint64_t tick);

#endif
