/* The clock of motion: one timer interrupt that always knows the time of the next edge on any
 * pin. */
#ifndef CUBIST_TIMER_H
#define CUBIST_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* Longest time between two events, in ticks: keeps the clock alive and the main loop informed. */
#define TIMER_IDLE 2000

/* For events.c: the moment planned has come; returns the ticks since the last event. */
uint16_t timer_begin_event(void);

/* For events.c: the next event is to be `wait` ticks after this one. */
void timer_plan(uint16_t wait);

/* Ticks since boot, for the main loop; wraps after 35 minutes, so compare with time_reached(). */
uint32_t timer_now(void);

/* Lower half of the time of the last event; call it with interrupts off. */
uint16_t timer_last_event(void);

/* The same for the main loop, with interrupts on. */
uint16_t timer_progress(void);

/* For the main loop: the whole of a time of less than 16 ms ago of which the lower half is
 * known. */
uint32_t timer_whole(uint16_t low);

/* Plans an event `wait` ticks after the last one if the next is later; with interrupts off.
 * False when that moment is too close to be met. */
bool timer_request(uint16_t wait);

/* True once `now` is not before `moment`; correct for moments less than 17 minutes apart. */
static inline bool time_reached(uint32_t now, uint32_t moment)
{
    return (int32_t)(now - moment) >= 0;
}

#endif
