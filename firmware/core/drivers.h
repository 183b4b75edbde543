/* TMC2209 stepper drivers on a single-wire UART: their set-up and the detection of their faults. */
#ifndef CUBIST_DRIVERS_H
#define CUBIST_DRIVERS_H

#include <stdbool.h>
#include <stdint.h>

#include "messages.h"

#if defined(BOARD_HAS_DRIVERS)

/* The states of all drivers, as in the message DriverStates. */
struct __attribute__((packed)) driver_report {
    struct driver_state each[PROTOCOL_MAX_DRIVERS];
};

/* Adds the driver of an actuator. Returns FAULT_NONE or the reason for refusal. */
uint8_t drivers_add(const uint8_t *payload, uint8_t length);

/* Removes all drivers. */
void drivers_forget(void);

/* Starts to write the settings of all drivers. */
void drivers_set_up(void);

/* True once all drivers have their settings and none has a fault. */
bool drivers_are_ready(void);

/* Returns the steps at the start of a motion after which an actuator's stall counts as its end
 * stop; 0 if it homes to a sensor, or not at all. */
uint16_t drivers_stall_blank(uint8_t actuator);

/* Fills in the states and returns their length in bytes. */
uint8_t drivers_report(struct driver_report *report);

/* For the main loop. */
void drivers_poll(void);

#else

static inline void drivers_forget(void)
{
}

static inline void drivers_set_up(void)
{
}

static inline bool drivers_are_ready(void)
{
    return true;
}

static inline uint16_t drivers_stall_blank(uint8_t actuator)
{
    (void)actuator;
    return 0;
}

static inline void drivers_poll(void)
{
}

#endif

#endif
