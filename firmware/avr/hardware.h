/* Parts of the AVR board that main.c starts. */
#ifndef CUBIST_HARDWARE_H
#define CUBIST_HARDWARE_H

void timer1_start(void);
void uart_start(void);

/* Hands a byte to the transmitter when it is empty. */
void uart_poll(void);

/* Learns why the chip was reset and gives this start its number. */
void boot_start(void);

#endif
