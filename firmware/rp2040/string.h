/* The functions of the C library that the firmware and its compiler use; see string.c. */
#ifndef CUBIST_STRING_H
#define CUBIST_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t length);
void *memset(void *to, int byte, size_t length);

#endif
