#include "chip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "firmware.h"
#include "hardware.h"
#include "timer.h"

#define PAGES 64
#define PAGE_BYTES 4096
#define TICKS_PER_MS 2000u
#define ROUND_TICKS 100
#define UART_ROOM 4096
#define MOST_ANSWERED 512

/* The registers, by pages in the order of their first use. The functions below handle those with
 * side effects. */
static struct page {
    uint32_t number;
    uint32_t words[PAGE_BYTES / 4];
} pages[PAGES];
static unsigned page_count;

static uint32_t now;
static uint32_t skipped_ms;
static uint8_t uart_queue[UART_ROOM];
static unsigned uart_in;
static unsigned uart_out;
static bool uart_is_read;
static int locks;
static unsigned failures;

uint8_t chip_answer[MOST_ANSWERED];
unsigned chip_answered;
bool chip_refused;
unsigned chip_sent_uart;
unsigned chip_sent_usb;
unsigned chip_bootloader_starts;

static uint32_t *cell(uint32_t address)
{
    uint32_t number = address / PAGE_BYTES;
    unsigned at = 0;
    while (at < page_count && pages[at].number != number) {
        at++;
    }
    if (at == page_count) {
        if (page_count == PAGES) {
            abort();
        }
        pages[page_count++].number = number;
    }
    return &pages[at].words[address % PAGE_BYTES / 4];
}

volatile uint32_t *model_register(uint32_t address)
{
    uint32_t *place = cell(address);
    switch (address) {
    case TIMER_RAWL:
        *place = now++; /* so that loops that wait for it end */
        break;
    case UART_FR:
        *place = uart_in == uart_out ? UART_RX_EMPTY : 0;
        break;
    case UART_FR + UART1_BEHIND: /* no stepper driver answers */
        *place = UART_RX_EMPTY;
        break;
    case UART_DR: /* the interrupt empties the queue, so all other accesses are writes */
        if (uart_is_read && uart_in != uart_out) {
            *place = uart_queue[uart_out++ % UART_ROOM];
        } else {
            chip_sent_uart++;
        }
        break;
    default:
        break;
    }
    return place;
}

board_lock_t board_lock(void)
{
    return (board_lock_t)locks++;
}

void board_unlock(board_lock_t lock)
{
    locks = (int)lock;
}

uint32_t board_link_ms(void)
{
    return now / TICKS_PER_MS + skipped_ms;
}

uint32_t board_boot_id(void)
{
    return 1;
}

uint8_t board_reset_cause(void)
{
    return RESET_CAUSE_POWER_ON;
}

void board_enter_bootloader(void)
{
    chip_bootloader_starts++;
}

void chip_start(uint32_t parts)
{
    (void)parts;
}

void interrupt_enable(unsigned number, unsigned priority)
{
    (void)number;
    (void)priority;
}

static void run_round(void)
{
    now += ROUND_TICKS;
    if (time_reached(now, *cell(TIMER_ALARM0))) {
        step_timer_interrupt();
    }
    firmware_poll();
    ports_poll();
    CHECK(locks == 0);
}

void chip_run_ms(uint32_t ms)
{
    for (uint32_t until = now + ms * TICKS_PER_MS; !time_reached(now, until);) {
        run_round();
    }
}

void chip_skip_ms(uint32_t ms)
{
    skipped_ms += ms;
    run_round();
}

void chip_uart(const uint8_t *bytes, unsigned length)
{
    while (length--) {
        uart_queue[uart_in++ % UART_ROOM] = *bytes++;
    }
    uart_is_read = true;
    uart_interrupt();
    uart_is_read = false;
    run_round();
}

/* ---- USB */
static void interrupt_for(uint32_t event, uint32_t buffers)
{
    *cell(USB_INTS) = event;
    *cell(USB_BUFFER_STATUS) = buffers;
    usb_interrupt();
    *cell(USB_INTS) = 0;
    run_round();
}

static bool is_given(uint8_t endpoint, bool out)
{
    return *cell(USB_BUFFER_CONTROL(endpoint, out)) & USB_AVAILABLE;
}

/* Ends a transfer of `length` bytes. */
static void finish(uint8_t endpoint, bool out, unsigned length)
{
    uint32_t *control = cell(USB_BUFFER_CONTROL(endpoint, out));
    *control = (*control & ~(USB_AVAILABLE | USB_LENGTH)) | length;
    interrupt_for(USB_ON_BUFFER, 1u << (2 * endpoint + out));
}

static void give_packet(uint8_t endpoint, uint32_t offset, const uint8_t *bytes, unsigned length)
{
    uint32_t *control = cell(USB_BUFFER_CONTROL(endpoint, true));
    if (!is_given(endpoint, true) || length > (*control & USB_LENGTH)) {
        return; /* the controller does not take it */
    }
    memcpy((uint8_t *)cell(USB_BUFFER(0)) + offset, bytes, length);
    finish(endpoint, true, length);
}

void chip_usb(const uint8_t *bytes, unsigned length)
{
    give_packet(2, *cell(USB_ENDPOINT(2, true)) & 0xffc0, bytes, length);
}

void chip_usb_control_out(const uint8_t *bytes, unsigned length)
{
    give_packet(0, USB_FIRST_BUFFER, bytes, length);
}

void chip_usb_setup(const uint8_t packet[8])
{
    memcpy(cell(USB_SETUP), packet, 8);
    chip_answered = 0;
    interrupt_for(USB_ON_SETUP, 0);
    chip_refused = *cell(USB_BUFFER_CONTROL(0, false)) & USB_STALL;
}

static unsigned take_packet(uint8_t endpoint)
{
    unsigned length = *cell(USB_BUFFER_CONTROL(endpoint, false)) & USB_LENGTH;
    CHECK(length <= 64);
    return length;
}

void chip_usb_control_in(void)
{
    if (!is_given(0, false)) {
        return;
    }
    unsigned length = take_packet(0);
    CHECK(chip_answered + length <= MOST_ANSWERED);
    memcpy(chip_answer + chip_answered, cell(USB_BUFFER(USB_FIRST_BUFFER)), length);
    chip_answered += length;
    finish(0, false, length);
}

void chip_usb_sent(void)
{
    if (is_given(2, false)) {
        unsigned length = take_packet(2);
        CHECK(length < 64);
        chip_sent_usb += length;
        finish(2, false, length);
    }
}

void chip_usb_reset(void)
{
    interrupt_for(USB_ON_RESET, 0);
}

void chip_inputs(bool high)
{
    for (uint8_t pin = BOARD_FIRST_PIN; pin < BOARD_PINS; pin++) {
        *cell(GPIO_STATUS(pin)) = high ? GPIO_FROM_PAD : 0;
    }
}

void chip_queues(bool full)
{
    *cell(PIO(0) + PIO_FSTAT) = *cell(PIO(1) + PIO_FSTAT) = full ? ~0u : 0;
}

void chip_boot(void)
{
    *cell(RESETS_DONE) = ~0u;
    pins_start();
    step_timer_start();
    steppers_start();
    servos_start();
    uart_start();
    usb_start();
    chip_usb_reset();
    chip_usb_setup((const uint8_t[]){0, 5, 7, 0, 0, 0, 0, 0}); /* address 7 */
    chip_usb_control_in();
    chip_usb_setup((const uint8_t[]){0, 9, 1, 0, 0, 0, 0, 0}); /* configuration 1 */
    chip_usb_control_in();
}

void check_that(bool holds, const char *what, const char *file, int line)
{
    if (!holds) {
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
        failures++;
#if defined(FUZZING)
        abort();
#endif
    }
}

int chip_result(void)
{
    return failures != 0;
}
