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
#define BOARD_MIN_INTERVAL PROTOCOL_MIN_INTERVAL_ATMEGA328P
#define BOARD_RATE_ONE PROTOCOL_RATE_ONE_ATMEGA328P
#define BOARD_RATE_TWO PROTOCOL_RATE_TWO_ATMEGA328P
#define BOARD_RATE_SIX PROTOCOL_RATE_SIX_ATMEGA328P
#define BOARD_ACTUATORS PROTOCOL_ACTUATORS_ATMEGA328P
#define BOARD_STEPPERS PROTOCOL_STEPPERS_ATMEGA328P
#define BOARD_PROFILE_UNITS 61
#define BOARD_QUEUE_BYTES 320
typedef uint8_t board_port; /* this chip's ports lie below 0x100: saves a byte for every pin */
#elif defined(__AVR_ATmega2560__)
#define BOARD_ID BOARD_ATMEGA2560
#define BOARD_FIRST_PIN PROTOCOL_FIRST_PIN_ATMEGA2560
#define BOARD_PINS PROTOCOL_PINS_ATMEGA2560
#define BOARD_MIN_INTERVAL PROTOCOL_MIN_INTERVAL_ATMEGA2560
#define BOARD_RATE_ONE PROTOCOL_RATE_ONE_ATMEGA2560
#define BOARD_RATE_TWO PROTOCOL_RATE_TWO_ATMEGA2560
#define BOARD_RATE_SIX PROTOCOL_RATE_SIX_ATMEGA2560
#define BOARD_ACTUATORS PROTOCOL_ACTUATORS_ATMEGA2560
#define BOARD_STEPPERS PROTOCOL_STEPPERS_ATMEGA2560
#define BOARD_PROFILE_UNITS 400
#define BOARD_QUEUE_BYTES 2048
typedef uint16_t board_port;
#else
#error "no board for this chip"
#endif

#define BOARD_RX_BYTES 64

#define BOARD_WAY_IN 7       /* ticks from an event's due time to its first instruction */
#define BOARD_EDGE_DELAY 36 /* ... to a servo pulse's edge; no event begins later than that */
#define BOARD_EVENT_TICKS 40 /* ticks to serve an event, at most, ... */
#define BOARD_MOTOR_TICKS 12 /* ... plus these for each running motor */

struct board_pin {
    board_port port; /* address of the PORT register; PIN is two below it, DDR one */
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

/* Counter value at the last event: not 0 if one interrupt served several. */
extern uint16_t board_event_count;

/* Returns ticks since the last event. The result is wrong if an event interrupts the call. */
static inline uint16_t board_timer_elapsed(void)
{
    uint16_t count = TCNT1;
    if (TIFR1 & _BV(OCF1A)) { /* restarted, but not served yet */
        count = TCNT1 + OCR1A + 1;
    }
    return count - board_event_count;
}

/* Sets the next event to `wait` ticks after the last one. */
static inline void board_timer_set(uint16_t wait)
{
    OCR1A = board_event_count + wait - 1;
}

/* Counter value of the event being served. The counter does not restart during an event. */
extern uint16_t board_event_served;

/* Returns the maximum ticks to serve an event with `motors` running. */
static inline uint16_t board_guard(uint8_t motors)
{
    return motors ? BOARD_EVENT_TICKS + BOARD_MOTOR_TICKS * motors : 0;
}

/* In the timer event: waits until `ahead` ticks, plus the fixed delay of an edge, after the event's
 * due time. */
static inline void board_wait(uint16_t ahead)
{
    uint16_t until = board_event_served + ahead + BOARD_EDGE_DELAY;
    while ((int16_t)(TCNT1 - until) < 0) {
    }
}

/* Makes the next event take the full path, because motors or servos were added or removed. Call
 * with interrupts off. */
static inline void board_events_changed(void)
{
    GPIOR0 &= (uint8_t)~1;
}

/* Allows the next event to take the short cut of timer1.c. */
static inline void board_allow_short_cut(void)
{
    GPIOR0 |= 1;
}

/* Opens a pin for step pulses, which are edges of that pin. */
static inline board_pin board_open_step(uint8_t number, uint16_t interval)
{
    (void)interval;
    return board_output(number, false);
}

/* Any pin can drive a servo, regardless of the others. */
static inline bool board_can_pulse(uint8_t number)
{
    (void)number;
    return true;
}

/* Opens a servo's pin; its pulses are edges of that pin. */
static inline board_pin board_open_servo(uint8_t number, bool level)
{
    return board_output(number, level);
}

/* Changing a level reads and writes the whole port, so call only with interrupts off. */
static inline void board_high(board_pin pin)
{
    BOARD_REGISTER(pin.port) |= pin.mask;
}

static inline void board_low(board_pin pin)
{
    BOARD_REGISTER(pin.port) &= (uint8_t)~pin.mask;
}

/* Ends the step pulse. Computing the next interval has already taken the 2 us a driver needs. */
static inline void board_end_pulse(board_pin pin)
{
    board_low(pin);
}

static inline bool board_read(board_pin pin)
{
    return BOARD_REGISTER(pin.port - 2) & pin.mask;
}

#endif
