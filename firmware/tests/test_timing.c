/* The delays that --timing prints. */
#include "timing.h"

#include <stdio.h>

#include "capture.h"

int __wrap_printf(const char *format, ...);

int __wrap_printf(const char *format, ...)
{
    char text[128];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    tell("%s", text);
    return length;
}

static void note_us(unsigned us, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        timing_note(us * 1000u + 999);
    }
}

int main(void)
{
    note_us(5, 3);
    timing_print();
    EXPECT("");
    timing_start();
    note_us(0, 1);
    timing_print();
    EXPECT("{\"pulses\": 1, \"p50_us\": 0, \"p99_us\": 0, \"max_us\": 0}\n");
    note_us(7, 97);
    note_us(2, 49);
    note_us(60, 50);
    note_us(80, 1);
    note_us(99999, 1);
    timing_print();
    EXPECT("{\"pulses\": 199, \"p50_us\": 7, \"p99_us\": 80, \"max_us\": 99999}\n");
    note_us(0, 1000);
    note_us(200000, 1);
    timing_print();
    EXPECT("{\"pulses\": 1200, \"p50_us\": 0, \"p99_us\": 60, \"max_us\": 100000}\n");
    return bench_result();
}
