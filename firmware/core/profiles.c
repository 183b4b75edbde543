/* Profiles are stored back to back in units of six bytes: a head, then its segments. */
#include "profiles.h"

#include <string.h>

#include "board.h"
#include "frame.h"

union unit {
    struct profile head;
    union segment segment;
};

static union unit units[BOARD_PROFILE_UNITS];
static uint16_t used;
static uint8_t complete; /* profiles ready for use */
static uint16_t open_head;
static uint16_t open_bytes; /* bytes still missing */
static uint16_t open_crc;
static uint16_t wanted_crc;

void profiles_clear(void)
{
    used = 0;
    complete = 0;
    open_bytes = 0;
}

uint8_t profiles_begin(const struct profile_begin *begin)
{
    if (open_bytes || !begin->segments || begin->kind > KIND_STEPPER || begin->duration >> 30) {
        return FAULT_BAD_PROFILE;
    }
    if (used + 1 + begin->segments > BOARD_PROFILE_UNITS || complete == PROTOCOL_MAX_PROFILES) {
        return FAULT_PROFILE_SPACE;
    }
    struct profile *profile = &units[used].head;
    profile->kind = begin->kind;
    profile->segments = begin->segments;
    profile->duration = begin->duration;
    open_head = used;
    open_bytes = (uint16_t)(begin->segments * sizeof(union segment));
    open_crc = CRC_START;
    wanted_crc = begin->crc;
    used += 1 + begin->segments;
    return FAULT_NONE;
}

uint8_t profiles_append(const uint8_t *bytes, uint8_t length)
{
    if (!length || length > open_bytes) {
        return FAULT_BAD_PROFILE;
    }
    uint8_t *end = (uint8_t *)&units[used];
    memcpy(end - open_bytes, bytes, length);
    open_bytes -= length;
    open_crc = crc16(open_crc, bytes, length);
    if (open_bytes) {
        return FAULT_NONE;
    }
    if (open_crc != wanted_crc) {
        used = open_head;
        return FAULT_PROFILE_CRC;
    }
    complete++;
    return FAULT_NONE;
}

const struct profile *profiles_get(uint8_t number)
{
    if (number >= complete) {
        return 0;
    }
    const union unit *unit = units;
    while (number--) {
        unit += 1 + unit->head.segments;
    }
    return &unit->head;
}

const union segment *profile_segments(const struct profile *profile)
{
    return (const union segment *)((const union unit *)(const void *)profile + 1);
}
