/* Step pulses: the timer event plays runs of step intervals. */
#ifndef CUBIST_STEPPER_H
#define CUBIST_STEPPER_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "protocol.h"

enum sense { SENSE_NOTHING, SENSE_LOW, SENSE_HIGH };

/* One motor. The fields down to `segments_left` belong to the interrupt while it is active. */
struct stepper {
    uint16_t wait;     /* ticks until the next step */
    uint16_t interval; /* ticks before the next step */
    uint16_t left;     /* steps left in this run, including the next one */
    int16_t add;
    const struct step_segment *segment; /* the next run */
    uint8_t segments_left;
    uint8_t segments; /* number of runs in the motion */
    volatile bool active;
    /* Written by the interrupt while the motor is active, otherwise by the main loop. */
    uint8_t forward : 1; /* positive counts step forward */
    uint8_t inverted : 1;
    uint8_t sensed : 1; /* the sensor ended the motion */
    uint8_t sense;      /* enum sense */
    uint8_t sensed_steps;
#if defined(BOARD_HAS_DRIVERS)
    uint16_t blank; /* steps left during which the sensor does not count */
#endif
    board_pin step;
    board_pin direction;
    board_pin sensor;
};

/* Call before a motion: the sensor does not count during its first `steps`, on boards with
 * drivers. */
static inline void stepper_ignore_sensor(struct stepper *motor, uint16_t steps)
{
#if defined(BOARD_HAS_DRIVERS)
    motor->blank = steps;
#else
    (void)motor;
    (void)steps;
#endif
}

/* Starts a motor at rest, with its first step at tick `start + interval`. Returns false and starts
 * nothing if it is too late for that tick or the motor is not at rest. */
bool stepper_start(struct stepper *motor, const struct step_segment *segments, uint8_t count,
                   bool forward, uint32_t start);

/* True once the motion has made its first step. */
bool stepper_has_begun(const struct stepper *motor);

/* Returns the number of running motors. */
uint8_t stepper_count(void);

/* Ends the motion of one motor at once. */
void stepper_halt(struct stepper *motor);

/* Ends the motion of all motors at once. Safe in any interrupt. */
void stepper_halt_all(void);

/* For the timer: `elapsed` ticks have passed. Returns the lesser of `next` and the ticks until the
 * next step. */
uint16_t stepper_event(uint16_t elapsed, uint16_t next);

#endif
