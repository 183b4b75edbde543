/* The robot's actuators: setup, position and current motion. */
#ifndef CUBIST_ACTUATORS_H
#define CUBIST_ACTUATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "messages.h"
#include "profiles.h"
#include "servo.h"
#include "stepper.h"

struct actuator {
    struct config_actuator setup;
    int32_t position; /* steps or pulse ticks; during a turn, the position at its end */
    union {
        uint32_t end;    /* tick at which the current turn or servo homing ends */
        uint32_t travel; /* while homing a stepper: steps left after this motion */
    };
    /* Only the main loop touches these. */
    bool turning : 1;
    bool homed : 1;
    bool powered : 1;
    bool unmoved : 1; /* this turn must change the sensor and has not done so yet */
    bool placed : 1;  /* `position` is correct; independent of `homed` */
    uint8_t homing;   /* enum homing_phase */
    union {
        struct stepper stepper;
        struct servo servo;
    } motor;
};

extern struct actuator actuators[BOARD_ACTUATORS];
extern uint8_t actuator_count;

/* Releases all outputs and removes all actuators. They must be at rest. */
void actuators_forget(void);

/* Adds the next actuator, outputs inactive. Returns FAULT_NONE or the reason for refusal. */
uint8_t actuators_add(const struct config_actuator *setup);

/* Stepper: switches the driver. Servo: off ends the pulses, on does nothing. */
void actuator_power(struct actuator *actuator, bool on);

/* Checks that the actuator can make a turn now and, for a stepper, sets `steps` to its length.
 * Returns FAULT_NONE or the reason for refusal. */
uint8_t actuator_check(const struct actuator *actuator, const struct profile *profile, bool reverse,
                       int32_t *steps);

/* Starts a checked turn at tick `start`. Returns false if it is too late for that tick. */
bool actuator_start(struct actuator *actuator, const struct profile *profile, bool reverse,
                    uint32_t start);

/* Marks the position as unknown and the actuator as not homed. */
void actuator_lose_place(struct actuator *actuator);

/* Samples the sensor of an actuator that is turning from one mark to another. */
void actuator_watch(struct actuator *actuator);

/* True if the sensor reads what the position implies and changed during the turn if it had to.
 * Always true without a check period. */
bool actuator_is_in_place(const struct actuator *actuator);

/* True once the current turn has started to move the actuator. */
bool actuator_has_begun(const struct actuator *actuator, uint32_t now);

/* Ends the current turn. */
void actuator_finish(struct actuator *actuator);

/* Ends the motion at once. An actuator that was moving loses its position. */
void actuator_halt(struct actuator *actuator, uint32_t now);

/* Puts the actuator in its safe state: power off unless it has to hold. */
void actuator_make_safe(struct actuator *actuator);

/* Returns the bit mask of the actuators that pass `test`. */
actuator_mask actuators_mask(bool (*test)(const struct actuator *));
bool actuator_is_moving(const struct actuator *actuator);
bool actuator_is_homed(const struct actuator *actuator);
bool actuator_is_placed(const struct actuator *actuator);
bool actuator_senses(const struct actuator *actuator);

#endif
