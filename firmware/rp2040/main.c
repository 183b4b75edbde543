/* The vectors, the entry point and the main loop. */
#include "board.h"
#include "firmware.h"
#include "hardware.h"
#include "timer.h"

#define TICKS_PER_MS 2000u
#define ROUND_TICKS 1000u /* longest time between two rounds of the main loop */

extern uint32_t bss_start[];
extern uint32_t bss_end[];
extern uint32_t stack_top[];

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
        watchdog_feed();
    }
}

/* Sleeps until a port needs service, for a round at most. Any interrupt wakes the processor, and
 * there is one at least every millisecond. */
static void rest(uint32_t since)
{
    while (!ports_have_news() && !time_reached(timer_now(), since + ROUND_TICKS)) {
        __asm__ volatile("wfe");
    }
}

static void run(void)
{
    boot_start();
    clocks_start();
    pins_start();
    steppers_start();
    step_timer_start();
    servos_start();
    uart_start();
    usb_start();
    for (;;) {
        uint32_t now = timer_now();
        count_milliseconds(now);
        firmware_poll();
        ports_poll();
        feed_watchdog();
        rest(now);
    }
}

static void start(void)
{
    for (uint32_t *word = bss_start; word < bss_end; word++) {
        *word = 0;
    }
    run();
}

/* After a hard fault the watchdog resets the chip. */
static void hang(void)
{
    for (;;) {
    }
}

typedef void (*handler)(void);

static const struct {
    uint32_t *stack;
    handler exceptions[15];
    handler interrupts[32];
} vectors __attribute__((section(".vectors"), used)) = {
    .stack = stack_top,
    .exceptions = {[0] = start, [1] = hang, [2] = hang},
    .interrupts = {[TIMER_IRQ] = step_timer_interrupt,
                   [USB_IRQ] = usb_interrupt,
                   [UART0_IRQ] = uart_interrupt},
};
