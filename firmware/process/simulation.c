#define _GNU_SOURCE
#include "simulation.h"

#include <sys/random.h>

#include "clock.h"
#include "events.h"
#include "native.h"
#include "pins.h"
#include "timer.h"

#define TIME_RECORD_TICKS 10000

static uint64_t last_event;
static uint16_t elapsed; /* since then */
static uint64_t next_event = TIMER_IDLE;
static uint32_t id; /* boot id */
static uint8_t reset_cause;

void simulation_start(uint32_t boot_id, uint8_t cause)
{
    id = boot_id;
    reset_cause = cause;
    pins_record(0, PIN_NONE, false, PIN_RESET);
}

uint64_t simulation_now(void)
{
    return last_event + elapsed;
}

uint64_t simulation_next_event(void)
{
    return next_event;
}

void simulation_event(void)
{
    last_event = next_event;
    elapsed = 0;
    board_passes(last_event);
    if (last_event - pins_recorded() >= TIME_RECORD_TICKS) {
        pins_record(last_event, PIN_NONE, false, PIN_TIME);
    }
    next_event = last_event + events_serve();
}

void simulation_reach(uint64_t tick)
{
    elapsed = tick > last_event ? (uint16_t)(tick - last_event) : 0;
}

uint16_t board_timer_elapsed(void)
{
    return elapsed;
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

/* Interrupts are calls from the only thread, so locks do nothing. */
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
    /* only boards with a short cut for frequent events need this */
}
