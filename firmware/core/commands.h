/* What the messages of the host do. */
#ifndef CUBIST_COMMANDS_H
#define CUBIST_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

/* Carries out a sequenced message. False refuses it for want of room: it is to be sent again.
 * Whatever else is wrong with it latches a fault. */
bool commands_handle(uint8_t type, const uint8_t *payload, uint8_t length);

/* Another host, or the same one started anew: nothing of the old plan goes on. */
void commands_new_session(void);

/* All but the nonce, which is the link's. */
void commands_welcome(struct welcome *welcome);

void commands_status(struct status *status);

/* Where the actuators stand, all there are: Positions and its tail. */
struct __attribute__((packed)) whereabouts {
    struct positions head;
    int32_t each[PROTOCOL_MAX_ACTUATORS];
};

/* Returns the length of what there is to tell. */
uint8_t commands_whereabouts(struct whereabouts *whereabouts);

/* True once after the state or the fault has changed. */
bool commands_state_changed(void);

#endif
