#include "timing.h"

#include <stdbool.h>
#include <stdio.h>

#define NS_PER_US 1000
#define LONGEST_US 100000 /* longer delays count as this */

static bool kept;
static uint32_t counts[LONGEST_US + 1]; /* number of delays, indexed by microseconds */
static uint32_t total;

void timing_start(void)
{
    kept = true;
}

void timing_note(uint64_t ns)
{
    if (kept) {
        uint64_t us = ns / NS_PER_US;
        counts[us < LONGEST_US ? us : LONGEST_US]++;
        total++;
    }
}

/* Returns the least delay, in microseconds, that `of_thousand` in 1000 delays do not exceed. */
static unsigned quantile(unsigned of_thousand)
{
    uint64_t seen = 0;
    for (unsigned us = 0; us <= LONGEST_US; us++) {
        seen += counts[us];
        if (seen * 1000 >= (uint64_t)total * of_thousand) {
            return us;
        }
    }
    return LONGEST_US;
}

void timing_print(void)
{
    if (kept) {
        printf("{\"pulses\": %u, \"p50_us\": %u, \"p99_us\": %u, \"max_us\": %u}\n",
               (unsigned)total, quantile(500), quantile(990), quantile(1000));
    }
}
