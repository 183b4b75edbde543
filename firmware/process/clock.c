#define _GNU_SOURCE
#include "clock.h"

#include <time.h>

#define NS_PER_MS 1000000ull
#define NS_PER_TICK 500ull

static double ticks_per_ns;
static uint64_t looked_ns;
static uint64_t awaited_ns; /* end of the idle time, as of the last look */
static double allowed; /* ticks */
static uint64_t catch_up_ns;
static uint64_t lost_ns; /* time lost, as of the last look */
static uint64_t skipped_ns; /* time lost since then, while there was work */

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

void clock_start(double speed, uint64_t longest_catch_up_ns)
{
    catch_up_ns = longest_catch_up_ns;
    ticks_per_ns = speed / (double)NS_PER_TICK;
    looked_ns = awaited_ns = monotonic_ns();
    allowed = 0;
}

void clock_catch_up(uint64_t longest_ns)
{
    catch_up_ns = longest_ns;
}

void clock_pass(uint64_t ticks)
{
    looked_ns += ticks * NS_PER_TICK;
}

uint32_t clock_link_ms(void)
{
    return (uint32_t)(looked_ns / NS_PER_MS);
}

uint64_t clock_look(void)
{
    uint64_t now = monotonic_ns();
    uint64_t passed = now - looked_ns;
    uint64_t late = now > awaited_ns ? now - awaited_ns : 0;
    lost_ns = late > catch_up_ns ? late - catch_up_ns : 0;
    looked_ns = awaited_ns = now;
    allowed += (double)(passed - lost_ns) * ticks_per_ns;
    lost_ns += skipped_ns;
    skipped_ns = 0;
    return (uint64_t)allowed;
}

uint64_t clock_behind_ns(uint64_t tick)
{
    if (ticks_per_ns == 0) {
        return 0;
    }
    double behind = (allowed - (double)tick) / ticks_per_ns;
    return (behind > 0 ? (uint64_t)behind : 0) + lost_ns + (monotonic_ns() - looked_ns);
}

void clock_limit(uint64_t tick)
{
    if (allowed > (double)tick) {
        allowed = (double)tick;
    }
}

uint64_t clock_ns_until(uint64_t tick)
{
    uint64_t now = monotonic_ns();
    uint64_t busy = now - looked_ns;
    if (busy > catch_up_ns) {
        skipped_ns += busy - catch_up_ns;
        looked_ns = now - catch_up_ns;
    }
    double missing = ((double)tick - allowed) / ticks_per_ns;
    awaited_ns = looked_ns + (missing > 0 ? (uint64_t)missing + 1 : 0);
    return awaited_ns > now ? awaited_ns - now : 0;
}
