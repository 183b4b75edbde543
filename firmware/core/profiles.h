/* Motion profiles: the host uploads each once and many turns use it. */
#ifndef CUBIST_PROFILES_H
#define CUBIST_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "messages.h"

union segment {
    struct step_segment step;
    struct servo_segment servo;
};

struct __attribute__((packed)) profile {
    uint8_t kind;     /* enum kind */
    uint8_t segments; /* number of segments */
    uint32_t duration;
};

void profiles_clear(void);

/* Reserves room for the next profile. Returns FAULT_NONE or the reason for refusal. */
uint8_t profiles_begin(const struct profile_begin *begin);

/* Appends segment bytes as received. After the last one, checks the CRC of the profile. */
uint8_t profiles_append(const uint8_t *bytes, uint8_t length);

/* Returns a complete profile, or null. Its segments follow from profile_segments(). */
const struct profile *profiles_get(uint8_t number);
const union segment *profile_segments(const struct profile *profile);

#endif
