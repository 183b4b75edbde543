/* Virtual time: the firmware's ticks, at a chosen multiple of real time. */
#ifndef CUBIST_HOST_CLOCK_H
#define CUBIST_HOST_CLOCK_H

#include <stdint.h>

/* Starts at tick 0, now, to run `speed` times as fast as real time. */
void clock_start(double speed);

/* Real time in milliseconds, as it was when last looked at by clock_look(). */
uint32_t clock_real_ms(void);

/* Looks at the real time; returns the tick up to which events may be played. Time in which the
 * process did not run is not made up for beyond a tenth of a second. */
uint64_t clock_look(void);

/* Gives up what is allowed beyond a tick: the simulation is too slow to make up for it. */
void clock_limit(uint64_t tick);

/* Real milliseconds until a tick is due, rounded up. */
int clock_ms_until(uint64_t tick);

#endif
