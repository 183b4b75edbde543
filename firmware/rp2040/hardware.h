/* Parts of the RP2040 that main.c starts. */
#ifndef CUBIST_HARDWARE_H
#define CUBIST_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>

/* Takes parts of the chip, RESETS_..., out of reset. */
void chip_start(uint32_t parts);

/* Starts the clocks: 125 MHz, and 2 MHz for the timer. */
void clocks_start(void);

void watchdog_feed(void);

/* Reads the reset cause and draws the boot id. Call before clocks_start(). */
void boot_start(void);

void pins_start(void);
void steppers_start(void);
void servos_start(void);
void step_timer_start(void);
void uart_start(void);
void usb_start(void);

/* Passes pending output to the transmitter of the port that carries the link. */
void ports_poll(void);
void uart_poll(void);
void usb_poll(void);

/* Connects a pin to a part of the chip, FUNCTION_.... `pad` has the PAD_... bits. */
void pin_connect(uint8_t number, uint32_t function, uint32_t pad);

/* Ends the steps at a pin, if it has any. */
void steppers_release(uint8_t pin);

void interrupt_enable(unsigned number, unsigned priority);

/* The serial ports. One of them carries the link; see ports.c. */
enum port { PORT_UART, PORT_USB };

/* For the receive interrupts: takes a byte that arrived at a port. */
void port_receive(enum port port, uint8_t byte);

/* For the interrupts of the ports: wakes the main loop. */
void ports_wake(void);

/* Returns true once after such an interrupt. */
bool ports_have_news(void);

/* Restarts into the USB bootloader in the main loop's next round, unless anything moves. */
void ports_ask_for_bootloader(void);

/* Interrupts. */
void step_timer_interrupt(void);
void uart_interrupt(void);
void usb_interrupt(void);

#endif
