/* The motion clock: one timer interrupt, always planned for the next edge on any pin. */
#ifndef CUBIST_TIMER_H
#define CUBIST_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* Longest time between two events, in ticks. Keeps the clock alive and the main loop up to date. */
#define TIMER_IDLE 2000

/* For events.c: advances the clock to the planned event. Returns the ticks since the last one. */
uint16_t timer_begin_event(void);

/* For events.c: plans the next event `wait` ticks after this one. */
void timer_plan(uint16_t wait);

/* For the main loop: returns ticks since boot. Wraps after 35 minutes, so compare with
 * time_reached(). */
uint32_t timer_now(void);

/* Returns the lower half of the last event's tick. Call with interrupts off. */
uint16_t timer_last_event(void);

/* For the main loop, with interrupts on: returns what timer_last_event() does. */
uint16_t timer_progress(void);

/* For the main loop: returns the full tick whose lower half is `low`, less than 16 ms ago. */
uint32_t timer_whole(uint16_t low);

/* Moves the next event forward to `wait` ticks after the last one if it is planned later. Call with
 * interrupts off. Returns false if that tick is too close. */
bool timer_request(uint16_t wait);

/* True if `now` is at or after `moment`. The two must be less than 17 minutes apart. */
static inline bool time_reached(uint32_t now, uint32_t moment)
{
    return (int32_t)(now - moment) >= 0;
}

#endif
