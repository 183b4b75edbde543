/* What drives the simulated board. */
#ifndef CUBIST_SIMULATION_H
#define CUBIST_SIMULATION_H

#include <stdint.h>

/* Starts with all pins low; `boot_id` is the number of this start, 0 when any will do, and `cause`
 * why the program starts: enum reset_cause. */
void simulation_start(uint32_t boot_id, uint8_t cause);

/* Lets go of all pins, as a chip without power or in reset does. */
void simulation_end(void);

/* Tick of the next timer event. */
uint64_t simulation_next_event(void);

/* Moves the time on to the next timer event and serves it. */
void simulation_event(void);

#endif
