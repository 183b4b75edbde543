/* Servo pulses at 50 Hz, one servo after another; the length of a pulse is the servo's position. A
 * board uses either servo_edges.c or servo_frames.c. */
#ifndef CUBIST_SERVO_H
#define CUBIST_SERVO_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "protocol.h"

struct servo {
    volatile uint16_t pulse; /* ticks, 0: no pulses */
    uint16_t target; /* pulse at the end of the slew; at rest, the last one, 0: none yet */
    uint16_t from; /* pulse at the start of the slew */
    uint32_t start; /* tick at which the slew starts */
    const struct servo_segment *segments;
    uint8_t count; /* segments of the slew, 0: at rest */
    uint8_t number; /* pin number */
    board_pin pin;
};

/* Assigns the servo its slot in the frame. `index` is the actuator's number. */
void servo_attach(uint8_t index, struct servo *servo);

/* Sets the length of the following pulses; 0 ends them. */
static inline void servo_set_pulse(struct servo *servo, uint16_t pulse)
{
    board_lock_t lock = board_lock();
    servo->pulse = pulse;
    board_unlock(lock);
}

/* True while a pulse is high on the pin. */
bool servo_is_high(uint8_t number);

/* Removes all servos. */
void servo_detach_all(void);

/* Starts a slew through the segments at tick `start`, from the servo's last pulse, even if it has
 * been switched off since. Its very first slew begins at the pulse of the first segment. */
void servo_start(struct servo *servo, const struct servo_segment *segments, uint8_t count,
                 uint32_t start);

/* Ends the slew at its target. Its segments may be overwritten afterwards. */
void servo_finish(struct servo *servo);

/* Stops the slew where the servo is now. */
void servo_freeze(struct servo *servo, uint32_t now);

/* Returns the pulse, in ticks, that the slew has reached at a tick. */
uint16_t servo_at(const struct servo *servo, uint32_t moment);

/* For the main loop: computes the pulse of the next slot's servo. */
void servo_poll(void);

/* For the timer: `elapsed` ticks have passed. Returns the lesser of `next` and the ticks until the
 * next edge. */
uint16_t servo_event(uint16_t elapsed, uint16_t next);

#endif
