/* Pulses from the kernel, through its PWM files; see pulses.h. */
#ifndef CUBIST_PWM_H
#define CUBIST_PWM_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

/* Sets the folder to search for PWM chips, like /sys/class/pwm. */
void pwm_look_in(const char *folder);

enum fault pwm_open(uint8_t number);
enum fault pwm_set(uint8_t number, uint16_t ticks);
bool pwm_is_open(uint8_t number);
void pwm_close_all(void);

#endif
