/* The Raspberry Pi as a board. The kernel or a servo board makes the pulses; lines are GPIOs. */
#ifndef CUBIST_LINUX_BOARD_H
#define CUBIST_LINUX_BOARD_H

#include "native.h"
#include "protocol.h"

#define BOARD_ID BOARD_LINUX
#define BOARD_ACTUATORS PROTOCOL_ACTUATORS_LINUX
#define BOARD_STEPPERS PROTOCOL_STEPPERS_LINUX
#define BOARD_PROFILE_UNITS 512
#define BOARD_QUEUE_BYTES 2048
#define BOARD_RX_BYTES 128
#define BOARD_MIN_INTERVAL PROTOCOL_MIN_INTERVAL_LINUX

/* A step is late by the wake-up latency of the process, which must be a small part of the step
 * interval, regardless of the number of motors. See docs/firmware-timing.md. */
#define BOARD_RATE_ONE board_step_rate()
#define BOARD_RATE_TWO board_step_rate()
#define BOARD_RATE_SIX board_step_rate()
uint16_t board_step_rate(void);

/* For servo_frames.c: sets a servo's pulse in ticks, starting with its next frame; 0 for none.
 * Returns FAULT_NONE or the reason for failure. */
uint8_t board_set_pulse(uint8_t number, uint16_t ticks);

/* True if the current timer event is so late that a pulse may miss its frame. */
bool board_is_late(void);

#endif
