/*
 * Timer 1 in CTC mode, 0.5 us per count. The counter restarts at every match, so events stay on
 * their grid no matter how late they are served. During an event the compare register is set out of
 * reach, because a short period would match again. If the next event is due before the interrupt
 * could return, the same interrupt serves it.
 */
#include <avr/interrupt.h>
#include <avr/io.h>

#include "board.h"
#include "hardware.h"
#include "safety.h"

/* One translation unit for all code of the interrupt, so that it is inlined and saves no registers
 * for calls. */
#include "events.c"
#include "servo.c"
#include "servo_edges.c"
#include "stepper.c"
#include "timer.c"

#define PRESCALER_8 _BV(CS11)
#define WAY_OUT 12      /* counts: leaving the interrupt takes less */
#define SHORT_WAY_OUT 3 /* counts: setting the compare register takes less */
#define TOO_LATE 200    /* counts of delay at which the interrupt gives up */
#define TOO_MANY 100 /* events in one interrupt at which it gives up, as nothing else can run */

/* A single motor takes a short cut. Intervals in this range leave time for it despite any delay. */
#define SHORT_CUT_MIN 30
#define SHORT_CUT_MAX TIMER_IDLE

uint16_t board_event_count;
uint16_t board_event_served;

void timer1_start(void)
{
    TCCR1A = 0;
    TCCR1B = _BV(WGM12) | PRESCALER_8;
    OCR1A = TIMER_IDLE - 1;
    TIMSK1 = _BV(OCIE1A);
}

static inline bool suits_short_cut(uint16_t interval)
{
    return (uint16_t)(interval - SHORT_CUT_MIN) <= SHORT_CUT_MAX - SHORT_CUT_MIN;
}

/* True if the next step of the only motor is all that is due. */
static inline bool one_motor_alone(void)
{
    const struct stepper *motor = running[0];
    return motor && !running[1] && !busy && motor->sense == SENSE_NOTHING && motor->left > 1 &&
           motor->wait == planned && suits_short_cut(planned);
}

/* Serves events of any kind. */
void __attribute__((signal, used, flatten)) __vector_any_event(void);
void __vector_any_event(void)
{
    OCR1A = UINT16_MAX;
    uint16_t event = 0;
    uint8_t in_a_row = 0;
    bool alone;
    for (;;) {
        board_event_served = event;
        uint16_t next = event + events_serve();
        alone = one_motor_alone();
        if (TCNT1 + (alone ? SHORT_WAY_OUT : WAY_OUT) < next) {
            OCR1A = next - 1;
            break;
        }
        if ((int16_t)(TCNT1 - next) > TOO_LATE || ++in_a_row == TOO_MANY) {
            safety_stop(FAULT_OVERLOAD);
        }
        while (TCNT1 < next + BOARD_WAY_IN) { /* the same delay as for every other event */
        }
        event = next;
    }
    board_event_count = event;
    if (alone) {
        board_allow_short_cut();
    }
}

/* Serves the next step of a single motor in a third of the time. */
void __attribute__((signal, used)) __vector_next_step(void);
void __vector_next_step(void)
{
    struct stepper *motor = running[0];
    board_high(motor->step);
    uint16_t interval = motor->interval + (uint16_t)motor->add;
    OCR1A = interval - 1;
    board_event_count = 0;
    event_low += planned;
    motor->interval = interval;
    motor->wait = interval;
    planned = interval;
    uint16_t left = motor->left - 1;
    motor->left = left;
    board_low(motor->step);
    if (left <= 1 || !suits_short_cut(interval)) {
        board_events_changed();
    }
}

/* Chooses between the two handlers without touching a register. */
ISR(TIMER1_COMPA_vect, ISR_NAKED)
{
    __asm__ volatile("sbis %[flags], 0\n\t"
                     "%~jmp __vector_any_event\n\t"
                     "%~jmp __vector_next_step\n\t"
                     :
                     : [flags] "I"(_SFR_IO_ADDR(GPIOR0)));
}
