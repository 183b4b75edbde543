/* A simulated board, of the process (board.c) or of the unit tests (tests/bench.c): time is virtual. */
#ifndef CUBIST_HOST_BOARD_H
#define CUBIST_HOST_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

#define BOARD_ID BOARD_HOST
#if !defined(BOARD_RX_BYTES) /* the unit tests have as much room as an ATmega328P */
#define BOARD_PROFILE_UNITS 512
#define BOARD_QUEUE_BYTES 2048
#define BOARD_RX_BYTES 128
#endif
#define BOARD_RATE_ONE 60000
#define BOARD_RATE_TWO 32000
#define BOARD_RATE_SIX 12000

typedef uint8_t board_pin;
typedef uint8_t board_lock_t;

bool board_has_pin(uint8_t number);
board_pin board_output(uint8_t number, bool level);
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

#endif
