/* Entry point of the firmware for a board's main(). */
#ifndef CUBIST_FIRMWARE_H
#define CUBIST_FIRMWARE_H

/* Runs one pass of the main loop without blocking. The board calls it continuously and after every
 * timer event. */
void firmware_poll(void);

#endif
