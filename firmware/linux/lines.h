/* Lines of the Pi's GPIO, by BCM number, through the kernel's character device. */
#ifndef CUBIST_LINES_H
#define CUBIST_LINES_H

#include <stdbool.h>
#include <stdint.h>

#define LINES 28 /* BCM numbers of the header are below it */

/* The simulated robot has the lines: the socket of the pins. */
void lines_simulate(void);

/* Takes a line, or changes what it is; a failure latches LINE_REFUSED. */
void lines_output(uint8_t number, bool level);
void lines_input(uint8_t number);

/* Sets an output, and ends a step's pulse once it has lasted long enough; false when the kernel
 * refuses, after printing why to standard error. */
bool lines_set(uint8_t number, bool level);
bool lines_end_pulse(uint8_t number);

bool lines_read(uint8_t number);

/* Gives a line back. */
void lines_release(uint8_t number);
void lines_release_all(void);

#endif
