/* The queue of timed turns, stored in the encoding of the protocol. */
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
    uint32_t delay; /* TIMING_DELAY: microseconds after the start of the previous turn */
};

void queue_clear(void);
uint16_t queue_free(void);

/* Appends the bytes of whole turns. Returns false if they do not fit. */
bool queue_push(const uint8_t *bytes, uint8_t length);

/* Gets the next turn without removing it. Returns false if there is none. */
bool queue_peek(struct turn *turn);
void queue_drop(void);

/* Decodes one turn. Returns its length, or 0 if it is truncated or malformed. */
uint8_t turn_read(const uint8_t *bytes, uint8_t length, struct turn *turn);

#endif
