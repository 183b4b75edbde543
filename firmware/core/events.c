/*
 * Steps and servo edges each have a `wait` field that counts down the ticks until they are due. An
 * event subtracts the ticks since the last event, serves every wait that reached zero and returns
 * the smallest wait left. The board restarts its counter at every event (CTC), so times add up
 * exactly, no matter how late the interrupt was served.
 */
#include "events.h"

#include "servo.h"
#include "stepper.h"
#include "timer.h"

uint16_t events_serve(void)
{
    uint16_t elapsed = timer_begin_event();
    uint16_t next = servo_event(elapsed, TIMER_IDLE);
    next = stepper_event(elapsed, next);
    timer_plan(next);
    return next;
}
