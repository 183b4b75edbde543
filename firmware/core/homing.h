/* Homing: finds the positions of the actuators. */
#ifndef CUBIST_HOMING_H
#define CUBIST_HOMING_H

#include <stdbool.h>
#include <stdint.h>

#include "messages.h"

enum homing_phase {
    HOMING_NOT,
    HOMING_LEAVE,    /* moves off an end stop that is active at the start */
    HOMING_SEEK,     /* moves towards the end stop, fast */
    HOMING_BACK_OFF, /* moves away from it */
    HOMING_APPROACH, /* moves towards it again, slowly */
    HOMING_SLEW,     /* servo: slews to the home position */
};

/* Starts homing all actuators in the bit mask together. */
void homing_start(actuator_mask mask);

/* Stops all actuators that are homing. They remain not homed. */
void homing_abort(void);

/* For the main loop. */
void homing_poll(void);

#endif
