/* The serial link: interrupt buffers, sessions, sequence numbers, acknowledgements. */
#ifndef CUBIST_LINK_H
#define CUBIST_LINK_H

#include <stdbool.h>
#include <stdint.h>

/* For the receive interrupt: takes a byte and recognises the emergency stop at once. */
void link_receive(uint8_t byte);

/* For the receive interrupt of a port that does not carry the link: only recognises the emergency
 * stop. */
void link_watch(uint8_t byte);

/* For the receive interrupt: counts a lost byte. */
void link_lost_byte(void);

/* For the transmitter: gets the next byte to send. Returns false if there is none. */
bool link_transmit(uint8_t *byte);

/* For the main loop, after a stop: drops received bytes that are not handled yet, and from now on
 * all frames that the host sent before it learned of the stop. */
void link_drop_earlier(void);

/* For the main loop: handles received bytes and sends pending replies. */
void link_poll(void);

#endif
