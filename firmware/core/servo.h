/* Servo pulses: 50 Hz, one servo after the other, each pulse as long as its position says. A board
 * has either servo_edges.c or servo_frames.c. */
#ifndef CUBIST_SERVO_H
#define CUBIST_SERVO_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "protocol.h"

struct servo {
    volatile uint16_t pulse; /* ticks, 0: no pulses */
    uint16_t target;         /* where the last segment ends, or where it stands */
    uint16_t from;           /* pulse at the start of the slew */
    uint32_t start;          /* tick at which the slew starts */
    const struct servo_segment *segments;
    uint8_t count; /* segments of the slew, 0: at rest */
    uint8_t number; /* of its pin */
    board_pin pin;
};

/* Gives the servo its place in the frame; `index` is the actuator's number. */
void servo_attach(uint8_t index, struct servo *servo);

/* The pulse from its next one on; 0 for none. */
static inline void servo_set_pulse(struct servo *servo, uint16_t pulse)
{
    board_lock_t lock = board_lock();
    servo->pulse = pulse;
    board_unlock(lock);
}

/* Whether a pulse is under way on a pin. */
bool servo_is_high(uint8_t number);

/* Forgets all servos. */
void servo_detach_all(void);

/* Slews through segments from tick `start` on; a servo without pulses begins at the first pulse
 * it is told. */
void servo_start(struct servo *servo, const struct servo_segment *segments, uint8_t count,
                 uint32_t start);

/* The slew is over: stands at its end, and its segments may be overwritten. */
void servo_finish(struct servo *servo);

/* Stays where it is now. */
void servo_freeze(struct servo *servo, uint32_t now);

/* Pulse in ticks that the slew asks for at a tick. */
uint16_t servo_at(const struct servo *servo, uint32_t moment);

/* For the main loop: works out the pulse of the servo whose turn comes next. */
void servo_poll(void);

/* For the timer: `elapsed` ticks have passed; returns the lesser of `next` and the next edge's
 * wait. */
uint16_t servo_event(uint16_t elapsed, uint16_t next);

#endif
