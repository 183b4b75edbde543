/* A board as process.c drives it: the firmware built for this computer, or the AVR's program in
 * simavr. */
#ifndef CUBIST_MACHINE_H
#define CUBIST_MACHINE_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

/* Ticks to run between checks of the serial port, and ticks that the machine may fall behind real
 * time before it stops catching up. */
struct machine_pace {
    uint64_t slice;
    uint64_t most_behind;
};

extern const struct machine_pace machine_pace;

/* The machine's name and its options beyond those of process.c. The list is null-terminated. */
extern const char machine_name[];
extern const char machine_usage[];
extern const struct option machine_options[];

/* Takes one of these options. Returns false if the value is invalid. */
bool machine_option(int letter, const char *value);

/* Starts with all pins low. On failure prints the reason to stderr and returns false. */
bool machine_start(void);

/* Releases all pins, as a chip without power does. */
void machine_end(void);

/* Returns ticks since the start of the process. */
uint64_t machine_now(void);

/* Returns ticks since the last reset, the time stamp of pin records. */
uint64_t machine_since_reset(void);

/* Runs up to a tick. Returns false if the processor has crashed. */
bool machine_run(uint64_t until);

/* Returns the next tick with work to do. */
uint64_t machine_next(void);

/* Presses the reset button. */
void machine_reset(void);

/* Makes the program's main loop hang until the next reset. */
void machine_hang(void);

/* Call between slices: resets a machine that hangs and has no watchdog of its own. */
void machine_watchdog(void);

/* Sends bytes to the UART. There must be room for them. */
void machine_receive(const uint8_t *bytes, unsigned length);

/* Returns how many bytes the UART can take. */
unsigned machine_room(void);

/* Gets the bytes the UART has sent and returns their number. */
unsigned machine_transmitted(uint8_t *bytes, unsigned room);

#endif
