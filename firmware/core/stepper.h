/* Step pulses: runs of intervals, played by the timer event. */
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
    uint16_t interval; /* of the step waited for */
    uint16_t left;     /* steps of this run, the one waited for included */
    int16_t add;
    const struct step_segment *segment; /* the run after this one */
    uint8_t segments_left;
    uint8_t segments; /* of the whole motion */
    volatile bool active;
    /* Changed by the interrupt while it is active, by the main loop while it is not. */
    uint8_t forward : 1; /* sense of positive counts */
    uint8_t inverted : 1;
    uint8_t sensed : 1; /* ended by the sensor */
    uint8_t sense;      /* enum sense */
    uint8_t sensed_steps;
    board_pin step;
    board_pin direction;
    board_pin sensor;
};

/* Starts a motor at rest: the first run's first step falls at tick `start + interval`.
 * False, and nothing happens, when that cannot be met any more or the motor is not at rest. */
bool stepper_start(struct stepper *motor, const struct step_segment *segments, uint8_t count,
                   bool forward, uint32_t start);

/* Whether a motion under way has made its first step. */
bool stepper_has_begun(const struct stepper *motor);

/* How many motors run. */
uint8_t stepper_count(void);

/* Ends the motion of one motor at once. */
void stepper_halt(struct stepper *motor);

/* Ends all step pulses at once; safe in any interrupt. */
void stepper_halt_all(void);

/* For the timer: `elapsed` ticks have passed; returns the lesser of `next` and the next step's
 * wait. */
uint16_t stepper_event(uint16_t elapsed, uint16_t next);

#endif
