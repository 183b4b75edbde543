/* UART 0 at 500 kbaud, which divides 125 MHz exactly. Its interrupt handles received bytes,
 * including the emergency stop. The main loop sends, and sleeps while the transmitter is full. */
#include "board.h"
#include "hardware.h"
#include "link.h"

#define TX_PIN 0
#define RX_PIN 1
#define BAUD_DIVIDER (125000000u * 4 / 500000) /* in 64ths of 16 bits' time */
#define LOWER_THAN_STEPS 2
#define RX_AT_4_TX_AT_16 2u /* bytes at which its interrupts come */

void uart_start(void)
{
    chip_start(RESETS_UART0);
    REGISTER(UART_IBRD) = BAUD_DIVIDER / 64;
    REGISTER(UART_FBRD) = BAUD_DIVIDER % 64;
    REGISTER(UART_LCR_H) = UART_8_BITS | UART_FIFOS;
    REGISTER(UART_IFLS) = RX_AT_4_TX_AT_16;
    REGISTER(UART_CR) = UART_ON;
    REGISTER(UART_IMSC) = UART_RX | UART_RX_TIMEOUT;
    pin_connect(TX_PIN, FUNCTION_UART, 0);
    pin_connect(RX_PIN, FUNCTION_UART, PAD_PULL_UP);
    interrupt_enable(UART0_IRQ, LOWER_THAN_STEPS);
}

void uart_interrupt(void)
{
    while (!(REGISTER(UART_FR) & UART_RX_EMPTY)) {
        uint32_t received = REGISTER(UART_DR);
        if (received & UART_OVERRUN) {
            link_lost_byte();
        }
        port_receive(PORT_UART, (uint8_t)received);
    }
    REGISTER(UART_IMSC) = UART_RX | UART_RX_TIMEOUT; /* uart_poll() enables the transmitter's */
    ports_wake();
}

void uart_poll(void)
{
    uint8_t byte;
    while (!(REGISTER(UART_FR) & UART_TX_FULL)) {
        if (!link_transmit(&byte)) {
            return;
        }
        REGISTER(UART_DR) = byte;
    }
    REGISTER(UART_IMSC) = UART_RX | UART_RX_TIMEOUT | UART_TX;
}
