/* Records how late pulses are set, for measurements. */
#ifndef CUBIST_TIMING_H
#define CUBIST_TIMING_H

#include <stdint.h>

/* Starts recording delays. */
void timing_start(void);

/* Records that a pulse was set `ns` nanoseconds after it was due. */
void timing_note(uint64_t ns);

/* Prints the delays to stdout, in microseconds, as a line of JSON. */
void timing_print(void);

#endif
