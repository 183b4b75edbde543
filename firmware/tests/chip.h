/* A model of the RP2040's registers, on which the unit tests run its firmware. */
#ifndef CUBIST_TEST_CHIP_H
#define CUBIST_TEST_CHIP_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the firmware as main.c does, and enumerates its USB device. */
void chip_boot(void);

/* Lets time pass: timer events, rounds of the main loop. */
void chip_run_ms(uint32_t ms);

/* Advances the clock of the link alone, as if nothing had been received for that time. */
void chip_skip_ms(uint32_t ms);

/* Delivers bytes to the UART, or as a packet to USB. */
void chip_uart(const uint8_t *bytes, unsigned length);
void chip_usb(const uint8_t *bytes, unsigned length);

/* Acts as the USB host: begins a request, sends or receives a packet, resets the bus. */
void chip_usb_setup(const uint8_t packet[8]);
void chip_usb_control_out(const uint8_t *bytes, unsigned length);
void chip_usb_control_in(void);
void chip_usb_sent(void);
void chip_usb_reset(void);

/* The part of the answer to the last request that the host has received. */
extern uint8_t chip_answer[];
extern unsigned chip_answered;
extern bool chip_refused; /* the last request */

/* Numbers of bytes that the firmware has sent on each port. */
extern unsigned chip_sent_uart;
extern unsigned chip_sent_usb;

/* Sets the levels of all inputs, or whether the queues for steps are full. */
void chip_inputs(bool high);
void chip_queues(bool full);

/* Number of times that the firmware has restarted into its bootloader. */
extern unsigned chip_bootloader_starts;

void check_that(bool holds, const char *what, const char *file, int line);
int chip_result(void);

#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)

#endif
