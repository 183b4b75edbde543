/* Parts of the AVR board that main.c starts. */
#ifndef CUBIST_HARDWARE_H
#define CUBIST_HARDWARE_H

void timer1_start(void);
void uart_start(void);

/* Gives the transmitter the next byte if it is empty. */
void uart_poll(void);

/* Reads the reset cause and assigns the boot id. */
void boot_start(void);

#endif
