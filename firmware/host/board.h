/* A simulated board in virtual time: of the process (board.c) or the unit tests (tests/bench.c). */
#ifndef CUBIST_HOST_BOARD_H
#define CUBIST_HOST_BOARD_H

#include "native.h"
#include "protocol.h"

#define BOARD_ID BOARD_HOST
#if !defined(BOARD_RX_BYTES) /* the unit tests use the sizes of an ATmega328P */
#define BOARD_ACTUATORS PROTOCOL_ACTUATORS_HOST
#define BOARD_STEPPERS PROTOCOL_STEPPERS_HOST
#define BOARD_PROFILE_UNITS 512
#define BOARD_QUEUE_BYTES 2048
#define BOARD_RX_BYTES 128
#endif
#define BOARD_HAS_DRIVERS
bool board_drivers_open(void);
void board_drivers_close(void);
void board_drivers_send(const uint8_t *bytes, uint8_t length);
bool board_drivers_receive(uint8_t *byte);

/* For servo_frames.c, which the unit tests also build. */
uint8_t board_set_pulse(uint8_t number, uint16_t ticks);
bool board_is_late(void);

/* The limits of steps on the board that this one stands for. */
struct board_steps {
    const char *name;
    uint16_t min_interval;
    uint32_t one, two, six;
};
extern struct board_steps board_steps;
#define BOARD_MIN_INTERVAL board_steps.min_interval
#define BOARD_RATE_ONE board_steps.one
#define BOARD_RATE_TWO board_steps.two
#define BOARD_RATE_SIX board_steps.six

#endif
