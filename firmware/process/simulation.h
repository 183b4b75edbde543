/* What drives a board that is a process: its timer, whose interrupts are calls. */
#ifndef CUBIST_SIMULATION_H
#define CUBIST_SIMULATION_H

#include <stdint.h>

/* Starts at tick 0; `boot_id` is the number of this start, 0 when any will do, and `cause` why the
 * program starts: enum reset_cause. */
void simulation_start(uint32_t boot_id, uint8_t cause);

/* Tick of the timer event being served, or served last. */
uint64_t simulation_now(void);

/* Tick of the next timer event. */
uint64_t simulation_next_event(void);

/* Moves the time on to the next timer event and serves it. */
void simulation_event(void);

#endif
