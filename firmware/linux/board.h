/* The Raspberry Pi as a board: the kernel, or a servo board, makes the pulses; lines are GPIOs. */
#ifndef CUBIST_LINUX_BOARD_H
#define CUBIST_LINUX_BOARD_H

#include "native.h"
#include "protocol.h"

#define BOARD_ID BOARD_LINUX
#define BOARD_PROFILE_UNITS 512
#define BOARD_QUEUE_BYTES 2048
#define BOARD_RX_BYTES 128

/* A step is as late as the process is woken, which must be a small part of the time between two
 * steps, however many motors run. See docs/firmware-timing.md. */
#define BOARD_RATE_ONE board_step_rate()
#define BOARD_RATE_TWO board_step_rate()
#define BOARD_RATE_SIX board_step_rate()
uint16_t board_step_rate(void);

/* For servo_frames.c: the pulse of a servo from its next frame on, in ticks; 0 for none.
 * FAULT_NONE, or why it cannot be set. */
uint8_t board_set_pulse(uint8_t number, uint16_t ticks);

/* Whether the timer event being served comes so late that a pulse may miss its frame. */
bool board_is_late(void);

#endif
