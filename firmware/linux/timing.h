/* How long after their moment pulses are set, for measurements. */
#ifndef CUBIST_TIMING_H
#define CUBIST_TIMING_H

#include <stdint.h>

/* From now on the delays are kept. */
void timing_start(void);

/* A pulse was set so many nanoseconds after its moment. */
void timing_note(uint64_t ns);

/* Prints them to standard output, in microseconds, as a line of JSON. */
void timing_print(void);

#endif
