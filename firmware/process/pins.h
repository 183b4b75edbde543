/* The stream of pin records to whoever simulates the robot; see docs/protocol.md. */
#ifndef CUBIST_PINS_H
#define CUBIST_PINS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

#define PINS PROTOCOL_PINS_HOST
#define PIN_NONE 0xffff

/* PIN_WRITE: something was written to the file of a pulse output, where the robot finds it.
 * Only for measurements: PIN_BYTE, a byte began to arrive at the UART, its value is in `level`;
 * PIN_STACK, fewer bytes than ever are left between stack and variables: `pin` of them. */
enum pin_record_kind {
    PIN_OUTPUT,
    PIN_TIME,
    PIN_RESET,
    PIN_READ,
    PIN_BYTE,
    PIN_GRANT,
    PIN_HANG,
    PIN_STACK,
    PIN_WRITE
};

/* Sends records to an open stream socket; -1 for nobody. */
void pins_open(int fd);

/* Connects to a Unix socket; false, with errno set, when that fails. */
bool pins_connect(const char *path);

/* Appends a record; `time` never decreases except after PIN_RESET. */
void pins_record(uint64_t time, uint16_t pin, uint8_t level, enum pin_record_kind kind);

/* Time of the last one. */
uint64_t pins_recorded(void);

/* Sends what was appended. */
void pins_flush(void);

/* Takes levels the robot has sent without being asked. */
void pins_poll(void);

/* The level of an input at a time, as the robot answers. */
bool pins_read(uint64_t time, uint8_t pin);

/* Waits for an order of the robot: PIN_GRANT with the ticks that may pass, PIN_RESET or PIN_HANG.
 * False when the robot has gone, or a signal came. */
bool pins_await_order(enum pin_record_kind *order, uint64_t *ticks);

int pins_fd(void);

#endif
