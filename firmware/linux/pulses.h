/* Where a servo's pulses come from: the kernel's PWM, or a Pololu Maestro, told by the pin's number.
 * Functions return FAULT_NONE, or why not after printing to standard error what is in the way. */
#ifndef CUBIST_PULSES_H
#define CUBIST_PULSES_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

/* Whether this is the number of a channel of a servo board, which makes pulses and nothing else. */
bool pulses_only(uint8_t number);

/* Takes the channel of a pin, without pulses. */
enum fault pulses_open(uint8_t number);

/* From the next frame of the channel on; 0 for no pulses. A channel that has the pulse is left
 * alone. */
enum fault pulses_set(uint8_t number, uint16_t ticks);

bool pulses_are_open(uint8_t number);

/* Now and then, between pulses: hears what a servo board has to say. */
void pulses_serve(uint64_t tick);

/* No pulses on any channel. */
void pulses_end(void);

#endif
