/* The queue of timed turns, kept as the bytes that arrived. */
#ifndef CUBIST_QUEUE_H
#define CUBIST_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

struct turn {
    uint8_t profile;
    uint8_t timing; /* enum timing */
    uint8_t actuator;
    bool reverse;
    uint32_t delay; /* microseconds after the start of the turn before, for TIMING_DELAY */
};

void queue_clear(void);
uint16_t queue_free(void);

/* Takes the bytes of whole turns; false when they do not fit. */
bool queue_push(const uint8_t *bytes, uint8_t length);

/* The next turn, left in the queue; false when there is none. */
bool queue_peek(struct turn *turn);
void queue_drop(void);

/* Reads one turn from bytes; returns its length, or 0 when it is cut off or malformed. */
uint8_t turn_read(const uint8_t *bytes, uint8_t length, struct turn *turn);

#endif
