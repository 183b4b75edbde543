/* Emergency stop and loss of the host. */
#ifndef CUBIST_SAFETY_H
#define CUBIST_SAFETY_H

#include <stdbool.h>
#include <stdint.h>

/* Ends all step pulses now. The main loop latches the fault and does the rest. Safe in any
 * interrupt: the receive interrupt calls it for an emergency stop, the timer interrupt if it
 * cannot keep up. */
void safety_stop(uint8_t cause);

/* True until the main loop has handled a safety_stop(). No motor starts before that. */
bool safety_is_stopping(void);

/* Switches everything off. Nothing is homed afterwards. */
void safety_release(void);

/* Sets how long the host may be silent. Uses the defaults if the times are out of range. */
void safety_set_silence(uint16_t hold_ms, uint16_t safe_ms);

/* Restarts the silence timeout. The first call starts the watch on the host. */
void safety_heard(void);

uint8_t safety_times_held(void);

/* For the main loop. */
void safety_poll(void);

#endif
