/* Outputs whose levels are sent to the pin socket. */
#ifndef CUBIST_OUTPUTS_H
#define CUBIST_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>

/* Sets a level at the tick of the event being served. */
void outputs_set(uint8_t pin, bool level);

/* Plans the end of a step pulse, as long after its start as a motor driver needs. */
void outputs_end_pulse(uint8_t pin);

/* Ends all step pulses due to end by a tick, in order of time, before any later record. */
void outputs_pass(uint64_t tick);

/* Sets all outputs low. */
void outputs_off(void);

#endif
