/* Sources of servo pulses: the kernel's PWM or a Pololu Maestro, chosen by pin number. Functions
 * return FAULT_NONE, or a fault after printing its cause to stderr. */
#ifndef CUBIST_PULSES_H
#define CUBIST_PULSES_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

/* True if the number is a servo board's channel, which can only make pulses. */
bool pulses_only(uint8_t number);

/* Opens the channel of a pin, without pulses. */
enum fault pulses_open(uint8_t number);

/* Sets the pulse, starting with the channel's next frame; 0 for none. Does nothing if the channel
 * already makes that pulse. */
enum fault pulses_set(uint8_t number, uint16_t ticks);

bool pulses_are_open(uint8_t number);

/* Call between pulses from time to time: reads the answers of a servo board. */
void pulses_serve(uint64_t tick);

/* Ends the pulses on all channels. */
void pulses_end(void);

#endif
