/* The board as the core sees it; the part that machine.c drives is in simulation.h. */
#define _GNU_SOURCE
#include "board.h"

#include <sys/random.h>

#include "clock.h"
#include "events.h"
#include "pins.h"
#include "simulation.h"
#include "timer.h"

#define PULSE_TICKS 4 /* how long a step pulse lasts */
#define TIME_RECORD_TICKS 10000
#define NO_PULSE UINT64_MAX

static uint64_t last_event;
static uint64_t next_event = TIMER_IDLE;
static uint64_t recorded;
static uint32_t id; /* of this start */
static uint8_t reset_cause;
static bool levels[PINS];
static uint64_t falls_at[PINS]; /* step pulses under way */
static uint64_t next_fall = NO_PULSE;

static void change(uint64_t time, uint8_t pin, bool level)
{
    if (levels[pin] != level) {
        levels[pin] = level;
        recorded = time;
        pins_record(time, pin, level, PIN_OUTPUT);
    }
}

static uint64_t earliest_fall(void)
{
    uint64_t earliest = NO_PULSE;
    for (unsigned pin = 0; pin < PINS; pin++) {
        if (falls_at[pin] < earliest) {
            earliest = falls_at[pin];
        }
    }
    return earliest;
}

/* Step pulses end in the order of their time, before anything later is recorded. */
static void end_pulses(uint64_t until)
{
    while (next_fall <= until) {
        for (uint8_t pin = 0; pin < PINS; pin++) {
            if (falls_at[pin] == next_fall) {
                falls_at[pin] = NO_PULSE;
                change(next_fall, pin, false);
            }
        }
        next_fall = earliest_fall();
    }
}

void simulation_start(uint32_t boot_id, uint8_t cause)
{
    id = boot_id;
    reset_cause = cause;
    for (unsigned pin = 0; pin < PINS; pin++) {
        falls_at[pin] = NO_PULSE;
    }
    pins_record(0, PIN_NONE, false, PIN_RESET);
}

void simulation_end(void)
{
    for (uint8_t pin = 0; pin < PINS; pin++) {
        change(last_event, pin, false);
    }
    pins_flush();
}

uint64_t simulation_next_event(void)
{
    return next_event;
}

void simulation_event(void)
{
    last_event = next_event;
    end_pulses(last_event);
    if (last_event - recorded >= TIME_RECORD_TICKS) {
        recorded = last_event;
        pins_record(last_event, PIN_NONE, false, PIN_TIME);
    }
    next_event = last_event + events_serve();
}

bool board_has_pin(uint8_t number)
{
    return number < PINS;
}

board_pin board_output(uint8_t number, bool level)
{
    change(last_event, number, level);
    return number;
}

board_pin board_input(uint8_t number)
{
    return number;
}

void board_release(uint8_t number)
{
    change(last_event, number, false);
}

void board_high(board_pin pin)
{
    change(last_event, pin, true);
}

void board_low(board_pin pin)
{
    change(last_event, pin, false);
}

void board_end_pulse(board_pin pin)
{
    falls_at[pin] = last_event + PULSE_TICKS;
    if (falls_at[pin] < next_fall) {
        next_fall = falls_at[pin];
    }
}

bool board_read(board_pin pin)
{
    return pins_read(last_event, pin);
}

uint16_t board_timer_elapsed(void)
{
    return 0;
}

void board_timer_set(uint16_t wait)
{
    next_event = last_event + wait;
}

uint32_t board_link_ms(void)
{
    return clock_link_ms();
}

uint32_t board_boot_id(void)
{
    while (id == 0) {
        if (getrandom(&id, sizeof id, 0) != sizeof id) {
            id = 0;
        }
    }
    return id;
}

uint8_t board_reset_cause(void)
{
    return reset_cause;
}

/* Interrupts are calls from the one thread there is. */
board_lock_t board_lock(void)
{
    return 0;
}

void board_unlock(board_lock_t lock)
{
    (void)lock;
}

uint16_t board_guard(uint8_t motors)
{
    (void)motors;
    return 0; /* serving an event takes no time */
}

void board_wait(uint16_t ahead)
{
    (void)ahead;
}

void board_events_changed(void)
{
    /* for boards that treat frequent events in a short cut */
}
