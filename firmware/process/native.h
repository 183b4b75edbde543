/* Common parts of all boards that are processes: interrupts are calls, process.c keeps the time. */
#ifndef CUBIST_NATIVE_H
#define CUBIST_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

typedef uint8_t board_pin;
typedef uint8_t board_lock_t;

bool board_has_pin(uint8_t number);
board_pin board_output(uint8_t number, bool level);
board_pin board_open_servo(uint8_t number, bool level);
board_pin board_input(uint8_t number);
void board_release(uint8_t number);
void board_high(board_pin pin);
void board_low(board_pin pin);
void board_end_pulse(board_pin pin);
bool board_read(board_pin pin);
uint16_t board_timer_elapsed(void);
void board_timer_set(uint16_t wait);
uint32_t board_link_ms(void);
uint32_t board_boot_id(void);
uint8_t board_reset_cause(void);
uint16_t board_guard(uint8_t motors);
void board_wait(uint16_t ahead);
void board_events_changed(void);
board_lock_t board_lock(void);
void board_unlock(board_lock_t lock);

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

/* Every such board defines machine_name, machine_usage and machine_options of machine.h. Its
 * options begin with these, which a process passes on when it restarts itself. */
#define NATIVE_OPTIONS {"resets", required_argument, 0, 'r'}, {"hung", no_argument, 0, 'u'}

/* Takes one of the board's own options. Returns false if the value is invalid. */
bool board_option(int letter, const char *value);

/* Opens the outputs. On failure prints the reason to stderr and returns false. */
bool board_start(void);

/* Releases all outputs. */
void board_end(void);

/* Ends all step pulses due to end by a tick. */
void board_passes(uint64_t tick);

#endif
