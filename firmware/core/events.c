/*
 * Everything that must happen at a tick - steps, servo edges - is counted down in `wait` fields. An
 * event subtracts the time that has passed since the last one, serves what reached zero and returns
 * the smallest wait left. The board restarts its counter at every event (CTC), so times add up
 * exactly however late the interrupt was served.
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
