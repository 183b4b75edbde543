#include "timer.h"

#include "board.h"

/* The counter might miss a request closer to the present than this. */
#define REQUEST_MARGIN 30

static volatile uint16_t event_low; /* time of the last event */
static uint16_t planned = TIMER_IDLE;

uint16_t timer_begin_event(void)
{
    event_low += planned;
    return planned;
}

void timer_plan(uint16_t wait)
{
    planned = wait;
}

uint16_t timer_last_event(void)
{
    return event_low;
}

uint16_t timer_progress(void)
{
    uint16_t low;
    do {
        low = event_low;
    } while (low != event_low);
    return low;
}

/* Unless the board counts all ticks itself, the main loop calls this many times within the 33 ms in
 * which the lower half wraps once. Disabling interrupts here would delay steps. Instead, an event
 * during the read changes `event_low`, and the read is repeated. */
uint32_t timer_now(void)
{
#if defined(BOARD_COUNTS_ALL_TICKS)
    return board_ticks();
#else
    static uint32_t now;
    uint16_t low;
    uint16_t elapsed;
    do {
        low = event_low;
        elapsed = board_timer_elapsed();
    } while (low != event_low);
    now += (uint16_t)(low + elapsed - (uint16_t)now);
    return now;
#endif
}

uint32_t timer_whole(uint16_t low)
{
    uint32_t now = timer_now();
    return now - (uint16_t)((uint16_t)now - low);
}

bool timer_request(uint16_t wait)
{
    if (wait >= planned) {
        return true;
    }
    if (wait < board_timer_elapsed() + REQUEST_MARGIN) {
        return false;
    }
    planned = wait;
    board_timer_set(wait);
    return true;
}
