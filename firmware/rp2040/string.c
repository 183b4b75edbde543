#include "string.h"

void *memcpy(void *to, const void *from, size_t length)
{
    char *out = to;
    for (const char *in = from; length--;) {
        *out++ = *in++;
    }
    return to;
}

void *memset(void *to, int byte, size_t length)
{
    for (char *out = to; length--;) {
        *out++ = (char)byte;
    }
    return to;
}
