/*
 * The chip's timer counts half microseconds. Its first alarm is the next event. The alarm fires when
 * the count equals it, so one that is set too late would not fire. The interrupt therefore reads the
 * count after it has set the alarm, and serves an event that is already due.
 */
#include "board.h"
#include "hardware.h"
#include "safety.h"

/* One translation unit, so that the interrupt knows when the next event is planned. */
#include "servo.h"

/* The PWM needs no event. */
static inline uint16_t no_servo_event(uint16_t elapsed, uint16_t next)
{
    (void)elapsed;
    return next;
}
#define servo_event no_servo_event
#include "events.c"
#include "timer.c"

#define TOO_LATE 200 /* ticks of delay at which the interrupt gives up */
#define TOO_MANY 500 /* events in one interrupt at which it gives up, as nothing else can run */

uint32_t board_start_tick;
uint32_t board_event_tick;

void step_timer_start(void)
{
    chip_start(RESETS_TIMER);
    REGISTER(TIMER_INTE) = 1;
    board_start_tick = board_event_tick = REGISTER(TIMER_RAWL);
    board_timer_set(TIMER_IDLE);
    interrupt_enable(TIMER_IRQ, 0);
}

/* Ticks since an event was due; negative while it is not. */
static inline int32_t lateness(void)
{
    return (int32_t)(REGISTER(TIMER_RAWL) - board_event_tick - planned);
}

void step_timer_interrupt(void)
{
    uint16_t in_a_row = 0;
    REGISTER(TIMER_INTR) = 1;
    /* If the alarm fired after its event was served, this interrupt has no event. */
    for (int32_t late; (late = lateness()) >= 0;) {
        if (late > TOO_LATE || ++in_a_row == TOO_MANY) {
            safety_stop(FAULT_OVERLOAD);
            in_a_row = 0;
        }
        board_event_tick += planned;
        board_timer_set(events_serve());
    }
}
