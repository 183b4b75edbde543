/* Homing: finding where the actuators stand. */
#ifndef CUBIST_HOMING_H
#define CUBIST_HOMING_H

#include <stdbool.h>
#include <stdint.h>

enum homing_phase {
    HOMING_NOT,
    HOMING_LEAVE,    /* the end stop is active to begin with: away from it */
    HOMING_SEEK,     /* towards it, fast */
    HOMING_BACK_OFF, /* away from it */
    HOMING_APPROACH, /* towards it, slowly */
    HOMING_SLEW,     /* servo on its way to the home position */
};

/* Starts to home the actuators of a bit mask, together. */
void homing_start(uint8_t mask);

/* Stops what is homing; it stays not homed. */
void homing_abort(void);

/* For the main loop. */
void homing_poll(void);

#endif
