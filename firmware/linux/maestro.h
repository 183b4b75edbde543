/* Pulses from a Pololu Maestro on USB or a UART; see pulses.h. */
#ifndef CUBIST_MAESTRO_H
#define CUBIST_MAESTRO_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

/* Sets the port to use instead of the first Maestro on USB. */
void maestro_at(const char *port);

/* Sets a device number, 0 to 127, for every command to carry (the Pololu protocol). Returns false
 * if it is invalid. */
bool maestro_numbered(const char *number);

enum fault maestro_open(uint8_t number);
enum fault maestro_set(uint8_t number, uint16_t ticks);
bool maestro_is_open(uint8_t number);

/* Checks from time to time that the pulses are those commanded. The next maestro_set() of a channel
 * returns the fault found on it. */
void maestro_serve(uint64_t tick);

void maestro_end(void);

#endif
