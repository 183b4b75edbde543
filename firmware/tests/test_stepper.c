/* Motors alone: the earliest and latest time to request a first step, and halting. */
#include "stepper.h"
#include "bench.h"
#include "timer.h"

#define LONGEST_AHEAD (UINT16_MAX - TIMER_IDLE)
#define MARGIN 30 /* ticks: too late to request a step closer than this */
#define MOTORS 3

static struct stepper motors[MOTORS];

static void let_end(void)
{
    stepper_halt_all();
    bench_run_ms(10);
    bench_clear_edges();
    for (unsigned i = 0; i < MOTORS; i++) {
        motors[i] =
            (struct stepper){.step = (board_pin)(10 + 2 * i), .direction = (board_pin)(11 + 2 * i)};
    }
}

/* Returns true if a first step may be `ticks` ahead, and checks that it occurs at its tick. */
static bool may_be_ahead(int32_t ticks)
{
    static const struct step_segment run[] = {{1000, 3, 0}};
    let_end();
    uint64_t now = bench_now();
    unsigned changes = bench_changes;
    bool met = stepper_start(&motors[0], run, 1, true, (uint32_t)(now + (uint64_t)ticks - 1000));
    CHECK(motors[0].active == met && stepper_count() == met);
    CHECK(bench_changes == changes + met);
    CHECK(stepper_has_begun(&motors[0]) == !met);
    bench_run_ms(50);
    CHECK(bench_rises(10) == (met ? 3 : 0));
    CHECK(!met || bench_rise(10, 0) == now + (uint64_t)ticks);
    CHECK(bench_changes == changes + 2 * met);
    return met;
}

static void a_first_step_is_neither_too_soon_nor_too_far(void)
{
    CHECK(may_be_ahead(LONGEST_AHEAD));
    CHECK(!may_be_ahead(LONGEST_AHEAD + 1));
    CHECK(!may_be_ahead(UINT16_MAX + 100));
    CHECK(may_be_ahead(MARGIN));
    CHECK(!may_be_ahead(MARGIN - 1));
    CHECK(!may_be_ahead(0));
    CHECK(!may_be_ahead(-1));
    CHECK(!may_be_ahead(-100000));
}

static void start_all(void)
{
    static const struct step_segment runs[] = {{1000, 100, 0}, {1000, -3, 0}};
    let_end();
    for (unsigned i = 0; i < MOTORS; i++) {
        CHECK(stepper_start(&motors[i], runs, 2, true, timer_now() + 1000));
    }
}

static void only_the_one_told_is_halted(void)
{
    for (unsigned halted = 0; halted < MOTORS; halted++) {
        start_all();
        bench_run_ms(5);
        CHECK(stepper_count() == MOTORS);
        unsigned steps = bench_rises((uint8_t)(10 + 2 * halted));
        unsigned changes = bench_changes;
        stepper_halt(&motors[halted]);
        stepper_halt(&motors[halted]); /* at rest already */
        CHECK(stepper_count() == MOTORS - 1 && bench_changes == changes + 1);
        bench_run_ms(70);
        CHECK(stepper_count() == 0);
        for (unsigned i = 0; i < MOTORS; i++) {
            CHECK(!motors[i].active);
            CHECK(bench_rises((uint8_t)(10 + 2 * i)) == (i == halted ? steps : 103));
        }
    }
}

/* A second start does not change a motion in progress. */
static void one_that_runs_is_not_started_again(void)
{
    static const struct step_segment run[] = {{1000, 20, 0}}, other[] = {{1500, 7, 0}};
    let_end();
    CHECK(stepper_start(&motors[0], run, 1, true, timer_now() + 1000));
    bench_run_ms(5);
    CHECK(!stepper_start(&motors[0], other, 1, false, timer_now() + 1000));
    CHECK(stepper_count() == 1);
    bench_run_ms(30);
    CHECK(bench_rises(10) == 20 && levels[11]);
    CHECK(bench_rise(10, 19) - bench_rise(10, 0) == 19 * 1000);
    CHECK(!motors[0].active && stepper_count() == 0);
}

static void all_are_halted_together(void)
{
    start_all();
    bench_run_ms(5);
    unsigned changes = bench_changes, edges_made = edge_count;
    stepper_halt_all();
    CHECK(stepper_count() == 0 && bench_changes == changes + MOTORS);
    bench_run_ms(70);
    CHECK(edge_count == edges_made);
}

/* A motion has begun once it has made its first step, in any run. */
static void begun_is_what_has_made_a_step(void)
{
    static const struct step_segment runs[] = {{4000, 1, 0}, {4000, -1, 0}, {4000, 1, 0}};
    let_end();
    CHECK(stepper_has_begun(&motors[0]));
    CHECK(stepper_start(&motors[0], runs, 3, false, timer_now() + 4000));
    CHECK(!levels[11]);
    for (unsigned ms = 0; ms < 12; ms++) {
        CHECK(stepper_has_begun(&motors[0]) == (bench_rises(10) > 0));
        bench_run_ms(1);
    }
    CHECK(bench_rises(10) == 3 && bench_rises(11) == 1 && !motors[0].active);
}

int main(void)
{
    bench_run_ms(10);
    a_first_step_is_neither_too_soon_nor_too_far();
    only_the_one_told_is_halted();
    one_that_runs_is_not_started_again();
    all_are_halted_together();
    begun_is_what_has_made_a_step();
    return bench_result();
}
