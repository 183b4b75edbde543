/* RP2040 at 125 MHz, as on the Raspberry Pi Pico; pin numbers are those of its GPIOs. */
#ifndef CUBIST_RP2040_BOARD_H
#define CUBIST_RP2040_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"
#include "registers.h"

#define BOARD_ID BOARD_RP2040
#define BOARD_FIRST_PIN PROTOCOL_FIRST_PIN_RP2040
#define BOARD_PINS PROTOCOL_PINS_RP2040
#define BOARD_PROFILE_UNITS 4096
#define BOARD_QUEUE_BYTES 20480 /* 4,096 turns of the longest kind */
#define BOARD_RX_BYTES 256

/* Measured by tests/bench/bench_firmware.py; see docs/firmware-timing.md. */
#define BOARD_RATE_ONE 65000
#define BOARD_RATE_TWO 65000
#define BOARD_RATE_SIX 65000

/* An output: its bit, and the register that sets it; the one that clears it follows. A step's pulse:
 * its length, and the register of the machine that makes it. An input: the pad's bit in its status. */
struct board_pin {
    volatile uint32_t *place;
    uint32_t word;
};

typedef struct board_pin board_pin;
typedef uint32_t board_lock_t;

bool board_has_pin(uint8_t number);
board_pin board_output(uint8_t number, bool level);

/* Opens a pin for step pulses, at least `interval` ticks apart. */
board_pin board_open_step(uint8_t number, uint16_t interval);
board_pin board_open_servo(uint8_t number, bool level);
board_pin board_input(uint8_t number);
void board_release(uint8_t number);
uint32_t board_link_ms(void);
uint32_t board_boot_id(void);
uint8_t board_reset_cause(void);

static inline board_lock_t board_lock(void)
{
    uint32_t state;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(state)::"memory");
    return state;
}

static inline void board_unlock(board_lock_t lock)
{
    __asm__ volatile("msr primask, %0" ::"r"(lock) : "memory");
}

/* Tick of the last event. */
extern uint32_t board_event_tick;

static inline uint16_t board_timer_elapsed(void)
{
    return (uint16_t)(REGISTER(TIMER_RAWL) - board_event_tick);
}

/* Sets the next event to `wait` ticks after the last one. */
static inline void board_timer_set(uint16_t wait)
{
    REGISTER(TIMER_ALARM0) = board_event_tick + wait;
}

/* An event that is late also serves the steps that have become due since its tick: with six motors
 * at full speed that is less work than an event for each. */
#define BOARD_SERVES_AHEAD 1

/* In the timer event: returns the ticks since its due time. */
static inline uint16_t board_ahead(void)
{
    return board_timer_elapsed();
}

static inline void board_events_changed(void)
{
}

static inline void board_high(board_pin pin)
{
    *pin.place = pin.word;
}

static inline void board_low(board_pin pin)
{
    pin.place[1] = pin.word;
}

/* The machine that makes a step's pulse ends it, too. */
static inline void board_end_pulse(board_pin pin)
{
    (void)pin;
}

static inline bool board_read(board_pin pin)
{
    return *pin.place & pin.word;
}

#endif
