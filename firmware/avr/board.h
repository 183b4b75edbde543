/* ATmega328P (Uno, Nano) and ATmega2560 (Mega) at 16 MHz; pin numbers are Arduino's. */
#ifndef CUBIST_AVR_BOARD_H
#define CUBIST_AVR_BOARD_H

#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

#if defined(__AVR_ATmega328P__)
#define BOARD_ID BOARD_ATMEGA328P
#define BOARD_FIRST_PIN PROTOCOL_FIRST_PIN_ATMEGA328P
#define BOARD_PINS PROTOCOL_PINS_ATMEGA328P
#define BOARD_PROFILE_UNITS 61
#define BOARD_QUEUE_BYTES 320
typedef uint8_t board_port; /* its ports lie below 0x100: a byte saved for every pin */
#elif defined(__AVR_ATmega2560__)
#define BOARD_ID BOARD_ATMEGA2560
#define BOARD_FIRST_PIN PROTOCOL_FIRST_PIN_ATMEGA2560
#define BOARD_PINS PROTOCOL_PINS_ATMEGA2560
#define BOARD_PROFILE_UNITS 400
#define BOARD_QUEUE_BYTES 2048
typedef uint16_t board_port;
#else
#error "no board for this chip"
#endif

#define BOARD_RX_BYTES 64

/* Measured by tests/bench/bench_firmware.py; see docs/firmware-timing.md. */
#define BOARD_RATE_ONE 60000
#define BOARD_RATE_TWO 32000
#define BOARD_RATE_SIX 12000
#define BOARD_WAY_IN 7       /* ticks from a moment to the first instruction of its event */
#define BOARD_EDGE_DELAY 36 /* ... to an edge of a servo's pulse: no event begins later than that */
#define BOARD_EVENT_TICKS 40 /* ticks to serve an event, at most, ... */
#define BOARD_MOTOR_TICKS 12 /* ... and for each motor running */

struct board_pin {
    board_port port; /* address of its PORT register; PIN lies two below it, DDR one */
    uint8_t mask;
};

#define BOARD_REGISTER(address) (*(volatile uint8_t *)(uint16_t)(address))

typedef struct board_pin board_pin;
typedef uint8_t board_lock_t;

bool board_has_pin(uint8_t number);
board_pin board_output(uint8_t number, bool level);
board_pin board_input(uint8_t number);
void board_release(uint8_t number);
uint32_t board_link_ms(void);
uint32_t board_boot_id(void);
uint8_t board_reset_cause(void);

static inline board_lock_t board_lock(void)
{
    uint8_t state = SREG;
    cli();
    return state;
}

static inline void board_unlock(board_lock_t lock)
{
    __asm__ volatile("" ::: "memory");
    SREG = lock;
}

/* Counter value of the last event: not 0 when several were served in one interrupt. */
extern uint16_t board_event_count;

/* Ticks since the last event; wrong when an event interrupts it. */
static inline uint16_t board_timer_elapsed(void)
{
    uint16_t count = TCNT1;
    if (TIFR1 & _BV(OCF1A)) { /* restarted, but not served yet */
        count = TCNT1 + OCR1A + 1;
    }
    return count - board_event_count;
}

/* The next event comes `wait` ticks after the last one. */
static inline void board_timer_set(uint16_t wait)
{
    OCR1A = board_event_count + wait - 1;
}

/* Counter value of the event being served; the counter does not restart meanwhile. */
extern uint16_t board_event_served;

/* Ticks that serving an event may take with so many motors running. */
static inline uint16_t board_guard(uint8_t motors)
{
    return motors ? BOARD_EVENT_TICKS + BOARD_MOTOR_TICKS * motors : 0;
}

/* In the timer event: waits until so many ticks, and as many more for every edge, after the moment
 * it is for. */
static inline void board_wait(uint16_t ahead)
{
    uint16_t until = board_event_served + ahead + BOARD_EDGE_DELAY;
    while ((int16_t)(TCNT1 - until) < 0) {
    }
}

/* Motors or servos came or went: the next event is looked at as a whole. With interrupts off. */
static inline void board_events_changed(void)
{
    GPIOR0 &= (uint8_t)~1;
}

/* The next event may take the short cut of timer1.c. */
static inline void board_allow_short_cut(void)
{
    GPIOR0 |= 1;
}

/* A servo's pulses are edges of its pin. */
static inline board_pin board_open_servo(uint8_t number, bool level)
{
    return board_output(number, level);
}

/* Levels are changed by reading and writing a whole port: only with interrupts off. */
static inline void board_high(board_pin pin)
{
    BOARD_REGISTER(pin.port) |= pin.mask;
}

static inline void board_low(board_pin pin)
{
    BOARD_REGISTER(pin.port) &= (uint8_t)~pin.mask;
}

/* Working out the next interval takes longer than the 2 us a driver wants. */
static inline void board_end_pulse(board_pin pin)
{
    board_low(pin);
}

static inline bool board_read(board_pin pin)
{
    return BOARD_REGISTER(pin.port - 2) & pin.mask;
}

#endif
