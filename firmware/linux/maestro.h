/* Pulses that a Pololu Maestro makes, told over USB or a UART; see pulses.h. */
#ifndef CUBIST_MAESTRO_H
#define CUBIST_MAESTRO_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

/* Its port, instead of the first Maestro at USB. */
void maestro_at(const char *port);

/* Its device number, 0 to 127: commands then name it, as the Pololu protocol has it. False when it
 * is none. */
bool maestro_numbered(const char *number);

enum fault maestro_open(uint8_t number);
enum fault maestro_set(uint8_t number, uint16_t ticks);
bool maestro_is_open(uint8_t number);

/* Asks now and then whether the pulses are those that were told, and hears the answers. What is
 * wrong is returned by the next maestro_set() of the channel. */
void maestro_serve(uint64_t tick);

void maestro_end(void);

#endif
