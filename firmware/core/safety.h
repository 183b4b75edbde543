/* The silence of the host, the emergency stop. */
#ifndef CUBIST_SAFETY_H
#define CUBIST_SAFETY_H

#include <stdbool.h>
#include <stdint.h>

/* Ends all step pulses now; the fault and the rest follow in the main loop. Safe in any
 * interrupt: the receive interrupt calls it for an emergency stop, the timer interrupt when it
 * cannot keep up. */
void safety_stop(uint8_t cause);

/* Whether the main loop has yet to deal with a safety_stop(); no motor starts before it has. */
bool safety_is_stopping(void);

/* Everything off, nothing homed. */
void safety_release(void);

/* How long the host may be silent; impossible times are replaced by the defaults. */
void safety_set_silence(uint16_t hold_ms, uint16_t safe_ms);

/* The host was heard; the session counts as watched from the first time on. */
void safety_heard(void);

uint8_t safety_times_held(void);

/* For the main loop. */
void safety_poll(void);

#endif
