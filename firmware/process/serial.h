/* The serial port: the master side of a pseudo-terminal, or any stream. */
#ifndef CUBIST_HOST_SERIAL_H
#define CUBIST_HOST_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

/* Creates a pseudo-terminal and a symbolic link to it at `link`. Returns false with errno set on
 * failure. */
bool serial_create(const char *link);

/* Uses an open descriptor. `link`, if any, becomes a link to the other side of its
 * pseudo-terminal. */
bool serial_adopt(int fd, const char *link);

/* Removes the symbolic link if it still leads to this pseudo-terminal. */
void serial_close(void);

/* Reads the available bytes without blocking. Returns their number, or 0 if there are none. */
unsigned serial_read(uint8_t *bytes, unsigned room);

/* Writes as many bytes as possible without blocking. Returns their number. */
unsigned serial_write(const uint8_t *bytes, unsigned length);

int serial_fd(void);

#endif
