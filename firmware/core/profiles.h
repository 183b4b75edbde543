/* Motion profiles: uploaded once, used by many turns. */
#ifndef CUBIST_PROFILES_H
#define CUBIST_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

union segment {
    struct step_segment step;
    struct servo_segment servo;
};

struct __attribute__((packed)) profile {
    uint8_t kind;     /* enum kind */
    uint8_t segments; /* how many */
    uint32_t duration;
};

void profiles_clear(void);

/* Makes room for the next profile; FAULT_NONE or why not. */
uint8_t profiles_begin(const struct profile_begin *begin);

/* Appends segments as they came; the last one is checked against the CRC. */
uint8_t profiles_append(const uint8_t *bytes, uint8_t length);

/* A complete profile and its segments, or null. */
const struct profile *profiles_get(uint8_t number);
const union segment *profile_segments(const struct profile *profile);

#endif
