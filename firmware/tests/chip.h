/* A model of the RP2040's registers, on which the unit tests run the firmware for it. */
#ifndef CUBIST_TEST_CHIP_H
#define CUBIST_TEST_CHIP_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the firmware as main.c does, and enumerates its USB device. */
void chip_boot(void);

/* Lets time pass: timer events, rounds of the main loop. */
void chip_run_ms(uint32_t ms);

/* Lets time pass by the clock of the link alone: nothing is heard for so long. */
void chip_skip_ms(uint32_t ms);

/* Bytes arrive at the UART, or in a packet at USB. */
void chip_uart(const uint8_t *bytes, unsigned length);
void chip_usb(const uint8_t *bytes, unsigned length);

/* What a host does at USB: begins a request, sends or takes a packet of it, resets the bus. */
void chip_usb_setup(const uint8_t packet[8]);
void chip_usb_control_out(const uint8_t *bytes, unsigned length);
void chip_usb_control_in(void);
void chip_usb_sent(void);
void chip_usb_reset(void);

/* The answer to the last request, as far as it was taken. */
extern uint8_t chip_answer[];
extern unsigned chip_answered;
extern bool chip_refused; /* the last request */

/* Bytes that the firmware has sent at each port. */
extern unsigned chip_sent_uart;
extern unsigned chip_sent_usb;

/* Levels of all inputs, and whether the queues for steps are full. */
void chip_inputs(bool high);
void chip_queues(bool full);

/* Times that the firmware has restarted into its bootloader. */
extern unsigned chip_bootloader_starts;

void check_that(bool holds, const char *what, const char *file, int line);
int chip_result(void);

#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)

#endif
