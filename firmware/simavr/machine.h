/* An AVR board in simavr: its pins as records, its UART as bytes. */
#ifndef CUBIST_MACHINE_H
#define CUBIST_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#define CYCLES_PER_TICK 8

/* Loads a program for `board` (uno or mega); false when that fails, after saying why on stderr.
 * Pin records are stamped in cycles instead of ticks if wanted. */
bool machine_start(const char *board, const char *elf, bool stamp_cycles);

/* Ticks since the last reset. */
uint64_t machine_now(void);

/* Runs up to a tick; false when the processor has crashed. */
bool machine_run(uint64_t until);

/* Presses the reset button. */
void machine_reset(void);

/* From now until the next reset, the program goes round in circles at a flash address. */
void machine_hang(uint32_t address);

/* Bytes for the UART, received one after the other at the speed of the line; returns how many
 * were taken. */
unsigned machine_receive(const uint8_t *bytes, unsigned length);

/* Room for bytes to receive. */
unsigned machine_room(void);

/* Bytes the UART has sent; returns how many. */
unsigned machine_transmitted(uint8_t *bytes, unsigned room);

#endif
