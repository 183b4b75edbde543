/* The timer of a board that is a process. Its interrupts are calls. */
#ifndef CUBIST_SIMULATION_H
#define CUBIST_SIMULATION_H

#include <stdint.h>

/* Starts at tick 0. `boot_id` identifies this start (0: choose one), and `cause` is its enum
 * reset_cause. */
void simulation_start(uint32_t boot_id, uint8_t cause);

/* Returns the tick of the current timer event or, between events, the tick reached. */
uint64_t simulation_now(void);

/* Returns the tick of the next timer event. */
uint64_t simulation_next_event(void);

/* Advances the time to the next timer event and serves it. */
void simulation_event(void);

/* Advances the time to a tick before the next timer event. */
void simulation_reach(uint64_t tick);

#endif
