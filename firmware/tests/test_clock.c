/* Virtual time against a real time that only the test advances. A tick is 4 ns long here. */
#define _GNU_SOURCE
#include "clock.h"

#include <time.h>

#include "bench.h"

#define SPEED 125.0
#define CATCH_UP 1000

static uint64_t now_ns = 5999999990;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    CHECK(clock == CLOCK_MONOTONIC);
    now->tv_sec = (time_t)(now_ns / 1000000000u);
    now->tv_nsec = (long)(now_ns % 1000000000u);
    return 0;
}

static void begin(void)
{
    clock_start(SPEED, CATCH_UP);
}

static uint64_t look_after(uint64_t ns)
{
    now_ns += ns;
    return clock_look();
}

static void granted_time_is_what_was_granted(void)
{
    clock_pass(3999);
    CHECK(clock_link_ms() == 1);
    clock_pass(1);
    CHECK(clock_link_ms() == 2);
    CHECK(clock_behind_ns(0) == 0);
}

static void time_is_a_multiple_of_the_real_one(void)
{
    begin();
    CHECK(look_after(0) == 0);
    CHECK(look_after(400) == 100);
    CHECK(look_after(402) == 200 && look_after(2) == 201);
    CHECK(clock_link_ms() == now_ns / 1000000);
    now_ns += 2000000;
    CHECK(clock_link_ms() == now_ns / 1000000 - 2);
    begin();
    CHECK(look_after(4) == 1);
    now_ns = 6999999990;
    begin();
    CHECK(look_after(403) == 100);
}

static void time_lost_is_made_up_for_as_far_as_allowed(void)
{
    begin();
    CHECK(look_after(1000) == 250);
    CHECK(clock_behind_ns(250) == 0);
    CHECK(look_after(1040) == 500 && clock_behind_ns(500) == 40);
    CHECK(look_after(400) == 600 && clock_behind_ns(600) == 0);
    clock_catch_up(200);
    CHECK(look_after(400) == 650 && clock_behind_ns(650) == 200);
    clock_catch_up(0);
    CHECK(clock_ns_until(751) == 405 && look_after(405) == 751 && clock_behind_ns(751) == 1);
}

static void who_waits_loses_nothing(void)
{
    begin();
    CHECK(clock_ns_until(1000) == 4001);
    CHECK(look_after(5001) == 1250);
    CHECK(clock_behind_ns(1250) == 1 && clock_behind_ns(1251) == 0);
    CHECK(clock_ns_until(1000) == 0);
    CHECK(clock_ns_until(2250) == 3999 + 1);
    now_ns += 100;
    CHECK(clock_ns_until(2250) == 3900);
    CHECK(look_after(4900) == 2500); /* 1,000 ns late */
    CHECK(clock_ns_until(3500) == 4000);
    CHECK(look_after(5008) == 3500 + 250); /* 8 ns over the limit */
    CHECK(clock_behind_ns(3750) == 9 || clock_behind_ns(3750) == 8);
}

static void how_far_behind_a_tick_is(void)
{
    begin();
    look_after(800);
    CHECK(clock_behind_ns(150) == 200 && clock_behind_ns(200) == 0 && clock_behind_ns(900) == 0);
    now_ns += 30;
    CHECK(clock_behind_ns(150) == 230 && clock_behind_ns(300) == 30);
    look_after(1270);
    CHECK(clock_behind_ns(449) == 304);
}

static void what_cannot_be_made_up_for_is_given_up(void)
{
    begin();
    look_after(800);
    clock_limit(201);
    CHECK(look_after(0) == 200);
    clock_limit(150);
    CHECK(look_after(4) == 151);
}

static void work_that_takes_too_long_is_time_that_is_lost(void)
{
    begin();
    look_after(400);
    now_ns += 1000;
    CHECK(clock_ns_until(500) == 1600 - 1000 + 1);
    now_ns += 1000; /* 2,000 ns after the look; 1,000 of them are lost */
    CHECK(clock_ns_until(500) == 1600 - 1000 + 1);
    CHECK(look_after(601) == 100 + 400 + 0);
    CHECK(clock_behind_ns(500) == 1000 + 1);
    look_after(4);
    CHECK(clock_behind_ns(501) == 1);
}

int main(void)
{
    granted_time_is_what_was_granted();
    time_is_a_multiple_of_the_real_one();
    time_lost_is_made_up_for_as_far_as_allowed();
    who_waits_loses_nothing();
    how_far_behind_a_tick_is();
    what_cannot_be_made_up_for_is_given_up();
    work_that_takes_too_long_is_time_that_is_lost();
    return bench_result();
}
