/* The whole firmware, for a board's main(). */
#ifndef CUBIST_FIRMWARE_H
#define CUBIST_FIRMWARE_H

/* One round of the main loop: never waits. The board calls it for ever, and after every timer
 * event. */
void firmware_poll(void);

#endif
