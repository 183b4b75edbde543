/*
 * UART 1 at 115,200 baud for the stepper drivers, on GPIO 8 and 9, which are joined at the drivers'
 * wire. Its FIFO holds more than an exchange, so it needs no interrupt: the main loop polls it.
 */
#include "board.h"
#include "hardware.h"

#define TX_PIN 8
#define RX_PIN 9
#define BAUD_DIVIDER (125000000u * 4 / 115200) /* in 64ths of 16 bits' time */

bool board_drivers_open(void)
{
    chip_start(RESETS_UART1);
    REGISTER(UART_IBRD + UART1_BEHIND) = BAUD_DIVIDER / 64;
    REGISTER(UART_FBRD + UART1_BEHIND) = BAUD_DIVIDER % 64;
    REGISTER(UART_LCR_H + UART1_BEHIND) = UART_8_BITS | UART_FIFOS;
    REGISTER(UART_CR + UART1_BEHIND) = UART_ON;
    pin_connect(TX_PIN, FUNCTION_UART, 0);
    pin_connect(RX_PIN, FUNCTION_UART, PAD_PULL_UP);
    return true;
}

void board_drivers_close(void)
{
    board_release(TX_PIN);
    board_release(RX_PIN);
}

void board_drivers_send(const uint8_t *bytes, uint8_t length)
{
    while (length--) {
        REGISTER(UART_DR + UART1_BEHIND) = *bytes++;
    }
}

bool board_drivers_receive(uint8_t *byte)
{
    if (REGISTER(UART_FR + UART1_BEHIND) & UART_RX_EMPTY) {
        return false;
    }
    *byte = (uint8_t)REGISTER(UART_DR + UART1_BEHIND);
    return true;
}
