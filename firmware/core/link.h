/* The serial link: bytes in and out of interrupts, sessions, sequence numbers, acknowledgements. */
#ifndef CUBIST_LINK_H
#define CUBIST_LINK_H

#include <stdbool.h>
#include <stdint.h>

/* For the receive interrupt: a byte came. Recognises the emergency stop by itself. */
void link_receive(uint8_t byte);

/* For the receive interrupt: a byte was lost. */
void link_lost_byte(void);

/* For whoever empties the transmitter: the next byte to send; false when there is none. */
bool link_transmit(uint8_t *byte);

/* For the main loop: handles what came, sends what is due. */
void link_poll(void);

#endif
