/* Executes the host's messages. */
#ifndef CUBIST_COMMANDS_H
#define CUBIST_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "messages.h"

/* Executes a sequenced message. Returns false if there is no room for it, so the host resends it.
 * Any other problem latches a fault. */
bool commands_handle(uint8_t type, const uint8_t *payload, uint8_t length);

/* Drops the current plan for a new host, or for the same host after a restart. */
void commands_new_session(void);

/* Fills everything but the nonce, which the link owns. */
void commands_welcome(struct welcome *welcome);

void commands_status(struct status *status);

/* The Positions message followed by the position of each actuator. */
struct __attribute__((packed)) whereabouts {
    struct positions head;
    int32_t each[BOARD_ACTUATORS];
};

/* Fills in the positions and returns their length in bytes. */
uint8_t commands_whereabouts(struct whereabouts *whereabouts);

/* Returns true once after each change of state or fault. */
bool commands_state_changed(void);

#endif
