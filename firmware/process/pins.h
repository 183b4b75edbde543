/* The stream of pin records to the simulated robot; see docs/protocol.md. */
#ifndef CUBIST_PINS_H
#define CUBIST_PINS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

#define PINS PROTOCOL_PINS_HOST
#define PIN_NONE 0xffff

/* PIN_WRITE: the firmware wrote to the file of a pulse output, which the robot then reads.
 * PIN_DRIVER: a byte on the line to the stepper drivers, in `level`; PIN_ANSWER: asks for the
 * drivers' answer. The robot sends their bytes and then returns this record. Only for measurements:
 * PIN_BYTE, a byte began to arrive at the UART, with its value in `level`; PIN_STACK, the gap
 * between stack and variables has a new minimum of `pin` bytes. */
enum pin_record_kind {
    PIN_OUTPUT,
    PIN_TIME,
    PIN_RESET,
    PIN_READ,
    PIN_BYTE,
    PIN_GRANT,
    PIN_HANG,
    PIN_STACK,
    PIN_WRITE,
    PIN_DRIVER,
    PIN_ANSWER
};

/* Sends records to an open stream socket, or nowhere if `fd` is -1. */
void pins_open(int fd);

/* Connects to a Unix socket. Returns false with errno set on failure. */
bool pins_connect(const char *path);

/* Appends a record. `time` never decreases except after PIN_RESET. */
void pins_record(uint64_t time, uint16_t pin, uint8_t level, enum pin_record_kind kind);

/* Returns the time of the last record. */
uint64_t pins_recorded(void);

/* Sends the appended records. */
void pins_flush(void);

/* Takes input levels that the robot sent unasked. */
void pins_poll(void);

/* Asks the robot for the level of an input at a given time. */
bool pins_read(uint64_t time, uint8_t pin);

/* Sends a datagram to the stepper drivers. Returns the number of bytes that they answer, at most
 * `room`. */
unsigned pins_ask_drivers(uint64_t time, const uint8_t *datagram, unsigned length, uint8_t *answer,
                          unsigned room);

/* Waits for an order from the robot: PIN_GRANT with the ticks that may pass, PIN_RESET or PIN_HANG.
 * Returns false if the robot is gone or a signal arrived. */
bool pins_await_order(enum pin_record_kind *order, uint64_t *ticks);

int pins_fd(void);

#endif
