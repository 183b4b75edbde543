/* The serial port: the master side of a pseudo-terminal, or any stream. */
#ifndef CUBIST_HOST_SERIAL_H
#define CUBIST_HOST_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

/* Makes a pseudo-terminal and a symbolic link to it at `link`; false with errno set when that
 * fails. */
bool serial_create(const char *link);

/* Uses an open descriptor; `link`, if any, shall lead to the other side of that pseudo-terminal. */
bool serial_adopt(int fd, const char *link);

/* Removes the symbolic link if it still leads to this pseudo-terminal. */
void serial_close(void);

/* What has come, without waiting; 0 when nothing has. */
unsigned serial_read(uint8_t *bytes, unsigned room);

/* Sends as much as goes without waiting; returns how much. */
unsigned serial_write(const uint8_t *bytes, unsigned length);

int serial_fd(void);

#endif
