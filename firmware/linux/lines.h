/* Lines of the Pi's GPIO, by BCM number, through the kernel's character device. */
#ifndef CUBIST_LINES_H
#define CUBIST_LINES_H

#include <stdbool.h>
#include <stdint.h>

#define LINES 28 /* all BCM numbers of the header are below this */

/* Uses the lines of the simulated robot, through the pin socket. */
void lines_simulate(void);

/* Requests a line as output or input, or changes its direction. Failure latches LINE_REFUSED. */
void lines_output(uint8_t number, bool level);
void lines_input(uint8_t number);

/* lines_set() sets an output; lines_end_pulse() ends a step pulse once it is long enough. If the
 * kernel refuses, they print the reason to stderr and return false. */
bool lines_set(uint8_t number, bool level);
bool lines_end_pulse(uint8_t number);

bool lines_read(uint8_t number);

/* Releases a line, or all of them. */
void lines_release(uint8_t number);
void lines_release_all(void);

#endif
