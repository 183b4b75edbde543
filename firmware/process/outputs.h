/* Outputs whose levels go to the socket of the pins. */
#ifndef CUBIST_OUTPUTS_H
#define CUBIST_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>

/* At the moment of the event being served. */
void outputs_set(uint8_t pin, bool level);

/* Ends a step pulse as long after it as a motor driver needs. */
void outputs_end_pulse(uint8_t pin);

/* Ends step pulses that are over by a tick, in the order of their time, before anything later is
 * recorded. */
void outputs_pass(uint64_t tick);

/* All low. */
void outputs_off(void);

#endif
