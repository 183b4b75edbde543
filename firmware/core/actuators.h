/* The actuators of the robot: what they are, where they stand, what they are doing. */
#ifndef CUBIST_ACTUATORS_H
#define CUBIST_ACTUATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "profiles.h"
#include "protocol.h"
#include "servo.h"
#include "stepper.h"

struct actuator {
    struct config_actuator setup;
    int32_t position; /* steps or ticks of pulse; at the end of the turn in progress */
    union {
        uint32_t end;    /* tick at which the turn in progress, or a servo's homing, is over */
        uint32_t travel; /* homing a stepper: steps left after this motion */
    };
    /* Only the main loop touches these. */
    bool turning : 1;
    bool homed : 1;
    bool powered : 1;
    bool unmoved : 1; /* as far as its sensor tells, which must change on the way */
    bool placed : 1;  /* `position` is true, whether it may turn or not */
    uint8_t homing;   /* enum homing_phase */
    union {
        struct stepper stepper;
        struct servo servo;
    } motor;
};

extern struct actuator actuators[PROTOCOL_MAX_ACTUATORS];
extern uint8_t actuator_count;

/* Releases all outputs and forgets all actuators, which are at rest. */
void actuators_forget(void);

/* Adds the next actuator, its outputs inactive; FAULT_NONE or why not. */
uint8_t actuators_add(const struct config_actuator *setup);

/* Stepper: switches its driver. Servo: off ends the pulses, on does nothing. */
void actuator_power(struct actuator *actuator, bool on);

/* Whether it can make a turn now, and the steps that makes; FAULT_NONE or why not. */
uint8_t actuator_check(const struct actuator *actuator, const struct profile *profile, bool reverse,
                       int32_t *steps);

/* Starts a turn that was checked at tick `start`; false when that tick cannot be met. */
bool actuator_start(struct actuator *actuator, const struct profile *profile, bool reverse,
                    uint32_t start);

/* Nothing is known any more of where it stands. */
void actuator_lose_place(struct actuator *actuator);

/* Looks at the sensor of an actuator that turns from one mark to another, now and then. */
void actuator_watch(struct actuator *actuator);

/* Whether its sensor, if it is to be looked at after turns, reads as it should where it stands, and
 * has changed if it had to on the way there. */
bool actuator_is_in_place(const struct actuator *actuator);

/* Whether the turn in progress has begun to move it. */
bool actuator_has_begun(const struct actuator *actuator, uint32_t now);

/* The turn in progress is over. */
void actuator_finish(struct actuator *actuator);

/* Ends the motion at once; the position of a stepper that moved is lost. */
void actuator_halt(struct actuator *actuator, uint32_t now);

/* To its safe state: power off unless it has to hold. */
void actuator_make_safe(struct actuator *actuator);

/* Bit mask of actuators for which `test` holds. */
uint8_t actuators_mask(bool (*test)(const struct actuator *));
bool actuator_is_moving(const struct actuator *actuator);
bool actuator_is_homed(const struct actuator *actuator);
bool actuator_is_placed(const struct actuator *actuator);
bool actuator_senses(const struct actuator *actuator);

#endif
