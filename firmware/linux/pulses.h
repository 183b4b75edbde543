/* Where a servo's pulses come from. Functions return FAULT_NONE, or why not after printing to
 * standard error which file and what the kernel said. */
#ifndef CUBIST_PULSES_H
#define CUBIST_PULSES_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

/* Looks for the PWM chips in a folder like /sys/class/pwm. */
void pwm_look_in(const char *folder);

/* Takes the channel of a pin, without pulses. */
enum fault pwm_open(uint8_t number);

/* From the next frame of the channel on; 0 for no pulses. A channel that has the pulse is left
 * alone. */
enum fault pwm_set(uint8_t number, uint16_t ticks);

bool pwm_is_open(uint8_t number);

/* No pulses on any channel. */
void pwm_close_all(void);

#endif
