#include <avr/interrupt.h>
#include <avr/wdt.h>

#include "board.h"
#include "firmware.h"
#include "hardware.h"
#include "timer.h"

#define TICKS_PER_MS 2000u

static uint32_t milliseconds;
static uint32_t counted; /* ticks */

uint32_t board_link_ms(void)
{
    return milliseconds;
}

static void count_milliseconds(uint32_t now)
{
    while (time_reached(now, counted + TICKS_PER_MS)) {
        counted += TICKS_PER_MS;
        milliseconds++;
    }
}

/* Feeds the watchdog while the main loop runs and timer events occur. */
static void feed_watchdog(void)
{
    static uint16_t seen;
    uint16_t event = timer_progress();
    if (event != seen) {
        seen = event;
        wdt_reset();
    }
}

int main(void)
{
    boot_start();
    timer1_start();
    uart_start();
    sei();
    for (;;) {
        count_milliseconds(timer_now());
        firmware_poll();
        uart_poll();
        feed_watchdog();
    }
}
