/*
 * UART 0 at 500 kbaud, which divides 16 MHz exactly. The step interrupt may interrupt the receive
 * interrupt, which masks itself and enables interrupts again within 1.5 us, then disables them for
 * 0.5 us at its end. The main loop does the sending.
 */
#include <avr/interrupt.h>
#include <avr/io.h>

#include "board.h"
#include "hardware.h"
#include "link.h"

#define BAUD 500000UL
#if !defined(USART_RX_vect)
#define USART_RX_vect USART0_RX_vect
#endif
#define RECEIVING (_BV(RXEN0) | _BV(TXEN0))

void uart_start(void)
{
    UBRR0 = (uint16_t)(F_CPU / 8 / BAUD - 1);
    UCSR0A = _BV(U2X0);
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    UCSR0B = RECEIVING | _BV(RXCIE0);
}

/* Takes the received bytes with interrupts on. */
void __attribute__((signal, used)) __vector_receive_bytes(void);
void __vector_receive_bytes(void)
{
    while (UCSR0A & _BV(RXC0)) {
        if (UCSR0A & _BV(DOR0)) {
            link_lost_byte();
        }
        link_receive(UDR0);
    }
}

/* Unmasks itself with interrupts off, only after it has cleared the stack. Otherwise, if steps let
 * it run only one instruction at a time, each byte would nest another call until the stack ran into
 * the variables. */
ISR(USART_RX_vect, ISR_NAKED)
{
    __asm__ volatile("push r24\n\t"
                     "ldi r24, %[masked]\n\t"
                     "sts %[control], r24\n\t"
                     "pop r24\n\t"
                     "sei\n\t"
                     "%~call __vector_receive_bytes\n\t"
                     "push r24\n\t"
                     "ldi r24, %[enabled]\n\t"
                     "cli\n\t"
                     "sts %[control], r24\n\t"
                     "pop r24\n\t"
                     "reti\n\t"
                     :
                     : [masked] "M"(RECEIVING), [enabled] "M"(RECEIVING | _BV(RXCIE0)),
                       [control] "n"(_SFR_MEM_ADDR(UCSR0B)));
}

void uart_poll(void)
{
    uint8_t byte;
    if ((UCSR0A & _BV(UDRE0)) && link_transmit(&byte)) {
        UDR0 = byte;
    }
}
