/* Captures a program's output and its system calls as text to compare. */
#ifndef CUBIST_TEST_CAPTURE_H
#define CUBIST_TEST_CAPTURE_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

#define CAPTURE_BYTES 4096

static char captured[CAPTURE_BYTES];

/* Appends to the text to compare. */
static inline void tell(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    size_t used = strlen(captured);
    vsnprintf(captured + used, sizeof captured - used, format, values);
    va_end(values);
}

/* Compares the output to the stream, followed by the appended text, since the last comparison. */
static inline void expect(const char *wanted, const char *file, int line)
{
    if (strcmp(captured, wanted)) {
        fprintf(stdout, "%s:%d: got \"%s\"\n", file, line, captured);
    }
    check_that(strcmp(captured, wanted) == 0, wanted, file, line);
    captured[0] = 0;
}

#define EXPECT(wanted) expect((wanted), __FILE__, __LINE__)

#endif
