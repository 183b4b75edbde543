/* The simulated board: pins are records on a socket, time is virtual. */
#ifndef CUBIST_HOST_BOARD_H
#define CUBIST_HOST_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

#define BOARD_ID BOARD_HOST
#define BOARD_PROFILE_UNITS 512
#define BOARD_QUEUE_BYTES 2048
#define BOARD_RX_BYTES 128
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
void board_uart_kick(void);

/* Interrupts are calls from the one thread there is. */
static inline board_lock_t board_lock(void)
{
    return 0;
}

static inline void board_unlock(board_lock_t lock)
{
    (void)lock;
}

/* For boards that treat frequent events in a short cut. */
static inline void board_events_changed(void)
{
}

#endif
