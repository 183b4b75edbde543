#include "queue.h"

#include "board.h"

#define TURN_MAX 5

static uint8_t ring[BOARD_QUEUE_BYTES];
static uint16_t head;
static uint16_t filled;

void queue_clear(void)
{
    filled = 0;
}

uint16_t queue_free(void)
{
    return BOARD_QUEUE_BYTES - filled;
}

static uint16_t place(uint16_t offset)
{
    uint16_t at = head + offset;
    return at >= BOARD_QUEUE_BYTES ? at - BOARD_QUEUE_BYTES : at;
}

bool queue_push(const uint8_t *bytes, uint8_t length)
{
    if (length > queue_free()) {
        return false;
    }
    for (uint8_t i = 0; i < length; i++) {
        ring[place(filled)] = bytes[i];
        filled++;
    }
    return true;
}

uint8_t turn_read(const uint8_t *bytes, uint8_t length, struct turn *turn)
{
    if (length < 2) {
        return 0;
    }
    turn->profile = bytes[0] & TURN_BIT_PROFILE_MASK;
    turn->timing = bytes[0] >> TURN_BIT_TIMING_SHIFT;
    turn->actuator = bytes[1] & TURN_BIT_ACTUATOR_MASK;
    turn->reverse = bytes[1] & TURN_BIT_REVERSE;
    turn->delay = 0;
    if (bytes[1] & ~(TURN_BIT_ACTUATOR_MASK | TURN_BIT_REVERSE)) {
        return 0;
    }
    if (turn->timing != TIMING_DELAY) {
        return 2;
    }
    if (length < TURN_MAX) {
        return 0;
    }
    turn->delay = bytes[2] | (uint32_t)bytes[3] << 8 | (uint32_t)bytes[4] << 16;
    return TURN_MAX;
}

static uint8_t first(struct turn *turn)
{
    uint8_t bytes[TURN_MAX];
    uint8_t length = filled < TURN_MAX ? (uint8_t)filled : TURN_MAX;
    for (uint8_t i = 0; i < length; i++) {
        bytes[i] = ring[place(i)];
    }
    return turn_read(bytes, length, turn);
}

bool queue_peek(struct turn *turn)
{
    return first(turn) != 0;
}

void queue_drop(void)
{
    struct turn turn;
    uint8_t length = first(&turn);
    head = place(length);
    filled -= length;
}
