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
#define BOARD_ACTUATORS PROTOCOL_ACTUATORS_RP2040
#define BOARD_STEPPERS PROTOCOL_STEPPERS_RP2040
#define BOARD_PROFILE_UNITS 4096
#define BOARD_QUEUE_BYTES 20480 /* 4,096 turns of the longest kind */
#define BOARD_RX_BYTES 1024 /* more than the host has in flight, which USB delivers all at once */

#define BOARD_MIN_INTERVAL PROTOCOL_MIN_INTERVAL_RP2040
#define BOARD_RATE_ONE PROTOCOL_RATE_ONE_RP2040
#define BOARD_RATE_TWO PROTOCOL_RATE_TWO_RP2040
#define BOARD_RATE_SIX PROTOCOL_RATE_SIX_RP2040

/* An output: its bit, and the register that sets it; the one that clears it follows. Steps: the
 * number of the machine that makes them, and its queue. An input: the pad's bit in its status. */
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

/* True if no servo has the PWM channel of this pin: GPIOs that differ by 16 share one. */
bool board_can_pulse(uint8_t number);
board_pin board_open_servo(uint8_t number, bool level);
board_pin board_input(uint8_t number);
void board_release(uint8_t number);
/* Restarts into the USB bootloader of the chip's ROM. Does not return. */
#define BOARD_HAS_BOOTLOADER
void board_enter_bootloader(void);

/* The UART of the stepper drivers. It also receives what it sends. */
#define BOARD_HAS_DRIVERS
bool board_drivers_open(void);
void board_drivers_close(void);
void board_drivers_send(const uint8_t *bytes, uint8_t length);
bool board_drivers_receive(uint8_t *byte);

uint32_t board_link_ms(void);
uint32_t board_boot_id(void);
uint8_t board_reset_cause(void);

#if defined(CHIP_MODEL)
board_lock_t board_lock(void);
void board_unlock(board_lock_t lock);
#else
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
#endif

/* The timer's count when events began, and at the last event. */
extern uint32_t board_start_tick;
extern uint32_t board_event_tick;

static inline uint16_t board_timer_elapsed(void)
{
    return (uint16_t)(REGISTER(TIMER_RAWL) - board_event_tick);
}

/* The timer counts all ticks since boot, so the main loop need not read it between events. */
#define BOARD_COUNTS_ALL_TICKS

static inline uint32_t board_ticks(void)
{
    return REGISTER(TIMER_RAWL) - board_start_tick;
}

/* Sets the next event to `wait` ticks after the last one. */
static inline void board_timer_set(uint16_t wait)
{
    REGISTER(TIMER_ALARM0) = board_event_tick + wait;
}

static inline void board_high(board_pin pin)
{
    *pin.place = pin.word;
}

static inline void board_low(board_pin pin)
{
    pin.place[1] = pin.word;
}

static inline bool board_read(board_pin pin)
{
    return *pin.place & pin.word;
}

#endif
