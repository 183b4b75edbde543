/* A board as process.c drives it: the firmware built for this computer, or the AVR's program in
 * simavr. */
#ifndef CUBIST_MACHINE_H
#define CUBIST_MACHINE_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

/* Ticks to run at once between looks at the serial port, and how far the machine may fall behind
 * the real time before it gives up making up for it. */
struct machine_pace {
    uint64_t slice;
    uint64_t most_behind;
};

extern const struct machine_pace machine_pace;

/* Its name, and the options it has besides those of process.c; the list ends with a null. */
extern const char machine_name[];
extern const char machine_usage[];
extern const struct option machine_options[];

/* Takes one of these options; false when the value is none. */
bool machine_option(int letter, const char *value);

/* Starts with all pins low; false when that fails, after saying why on stderr. */
bool machine_start(void);

/* Lets go of all pins, as a chip without power does. */
void machine_end(void);

/* Ticks since the start of the process. */
uint64_t machine_now(void);

/* Ticks since the last reset: what pin records are stamped with. */
uint64_t machine_since_reset(void);

/* Runs up to a tick; false when the processor has crashed. */
bool machine_run(uint64_t until);

/* Tick at which there is something to do next. */
uint64_t machine_next(void);

/* Presses the reset button. */
void machine_reset(void);

/* The program's main loop hangs from now until the next reset. */
void machine_hang(void);

/* Between two pieces of time: resets a machine that hangs and has no watchdog in its own time. */
void machine_watchdog(void);

/* Bytes for the UART; there must be room for them. */
void machine_receive(const uint8_t *bytes, unsigned length);

/* Room for bytes to receive. */
unsigned machine_room(void);

/* Bytes the UART has sent; returns how many. */
unsigned machine_transmitted(uint8_t *bytes, unsigned room);

#endif
