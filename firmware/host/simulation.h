/* What drives the simulated board. */
#ifndef CUBIST_SIMULATION_H
#define CUBIST_SIMULATION_H

#include <stdint.h>

void simulation_start(void);

/* Lets go of all pins, as a chip without power or in reset does. */
void simulation_end(void);

/* Tick of the next timer event. */
uint64_t simulation_next_event(void);

/* The number of this start, 0 when any will do. */
uint32_t simulation_boot_id(void);

/* Why the program starts: enum reset_cause. */
uint8_t simulation_reset_cause(void);

/* Moves the time on to the next timer event and serves it. */
void simulation_event(void);

#endif
