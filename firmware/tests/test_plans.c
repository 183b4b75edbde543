/* Start times of a plan's turns: chained, late, held, together, or not at all. */
#include "bench.h"
#include "board.h"

#define GO_LEAD 4000
#define SERVO_TOLERANCE 10000
#define FIRST_PIN 12
#define SECOND_PIN 14
#define WITH (TIMING_WITH << TURN_BIT_TIMING_SHIFT)
#define AFTER (TIMING_AFTER_PREVIOUS << TURN_BIT_TIMING_SHIFT)
#define DELAY (TIMING_DELAY << TURN_BIT_TIMING_SHIFT)

enum { SHORT, LONG, SLEW, BRIEF, MEDIUM };
enum { SERVO, FIRST, SECOND };

static const struct step_segment short_run[] = {{2000, 4, 0}}, long_run[] = {{20000, 10, 0}},
                                 medium_run[] = {{500, 4, 0}};
static const struct servo_segment slew[] = {{4000, 500000}};
static const struct config_begin usual = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
static uint8_t late, underruns;

static struct config_actuator motor(uint8_t pin)
{
    struct config_actuator setup = bench_stepper(false);
    setup.pin = pin;
    setup.direction_pin = pin + 1;
    return setup;
}

/* Sets up a servo and two steppers, at home. */
static void start_over(void)
{
    const struct config_actuator setups[] = {bench_servo(), motor(FIRST_PIN), motor(SECOND_PIN)};
    bench_command(MESSAGE_ABORT, 0, 0);
    bench_run_ms(2000);
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure_as(usual, setups, COUNT(setups));
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_STEPPER, short_run, 1, 10000);
    bench_profile(KIND_STEPPER, long_run, 1, 200000);
    bench_profile(KIND_SERVO, slew, 1, 500000);
    bench_profile(KIND_STEPPER, short_run, 1, 1000); /* BRIEF: ends long before its last step */
    bench_profile(KIND_STEPPER, medium_run, 1, 5000);
    bench_home(1 << SERVO | 1 << FIRST | 1 << SECOND);
    bench_run_ms(300);
    bench_clear_edges();
    late = bench_status().late;
    underruns = bench_status().underruns;
    CHECK(bench_status().fault == FAULT_NONE);
}

static void begin_plan(uint16_t turns)
{
    const struct plan_begin begin = {.plan = 3, .turns = turns};
    bench_command(MESSAGE_PLAN_BEGIN, &begin, sizeof begin);
}

static void give(uint8_t profile, uint8_t actuator)
{
    const uint8_t turn[] = {profile, actuator, 0, 0, 0};
    bench_command(MESSAGE_TURNS, turn, profile >> TURN_BIT_TIMING_SHIFT == TIMING_DELAY ? 5 : 2);
}

static void go(void)
{
    bench_command(MESSAGE_GO, 0, 0);
}

static void go_at(uint64_t tick)
{
    const struct go_at at = {.tick = (uint32_t)tick};
    bench_command(MESSAGE_GO_AT, &at, sizeof at);
}

static void a_turn_beyond_the_plan_is_refused(void)
{
    start_over();
    begin_plan(1);
    give(SHORT, FIRST);
    give(SHORT, SECOND);
    go();
    bench_run_ms(100);
    CHECK(bench_status().fault == FAULT_BAD_TURN && bench_status().fault_detail == SECOND);
    CHECK(bench_status().moving == 0 && bench_status().turns_done == 1);
    CHECK(bench_rises(SECOND_PIN) == 0);
}

static void a_new_plan_forgets_what_was_told_before(void)
{
    start_over();
    begin_plan(2);
    give(SHORT, FIRST);
    go();
    bench_run_ms(50);
    CHECK(bench_status().executed == 10000 && bench_status().turns_done == 1);
    give(SHORT, FIRST);
    bench_run_ms(50);
    begin_plan(2);
    give(SHORT, FIRST);
    give(SHORT, FIRST);
    begin_plan(1);
    struct status status = bench_status();
    CHECK(status.executed == 0 && status.turns_done == 0 && status.free == BOARD_QUEUE_BYTES);
    give(LONG, SECOND);
    bench_clear_edges();
    go();
    bench_run_ms(200);
    CHECK(bench_rises(FIRST_PIN) == 0 && bench_rises(SECOND_PIN) == 10);
}

static void a_first_turn_of_any_timing_starts_with_the_plan(void)
{
    for (unsigned timing = 0; timing < 4; timing++) {
        start_over();
        begin_plan(1);
        give((uint8_t)(timing << TURN_BIT_TIMING_SHIFT | SHORT), FIRST);
        uint64_t start = bench_now() + GO_LEAD;
        go();
        bench_run_ms(20);
        CHECK(bench_rise(FIRST_PIN, 0) == start + 2000);
        CHECK(bench_status().late == late && bench_status().executed == 10000);
    }
}

/* A turn's start counts from the start or end of the previous turn, not of the plan. */
static void a_turn_is_timed_by_the_one_before(void)
{
    static const struct {
        uint8_t timing;
        uint32_t executed;
    } rows[] = {{WITH, 510000}, {DELAY, 510000}, {AFTER, 520000}, {0, 520000}};
    for (unsigned i = 0; i < COUNT(rows); i++) {
        start_over();
        begin_plan(3);
        give(SHORT, FIRST);
        give(SHORT, SECOND); /* at 5 ms */
        give(rows[i].timing | SLEW, SERVO);
        go();
        bench_run_ms(400);
        CHECK(bench_status().late == late && bench_status().executed == rows[i].executed);
    }
}

static void the_latest_end_is_not_that_of_the_last_turn(void)
{
    start_over();
    begin_plan(3);
    give(LONG, FIRST);
    give(WITH | SHORT, SECOND);
    give(SHORT, SECOND); /* when the first has ended too */
    uint64_t start = bench_now() + GO_LEAD;
    go();
    bench_run_ms(200);
    CHECK(bench_rise(SECOND_PIN, 0) == start + 2000);
    CHECK(bench_rise(SECOND_PIN, 4) == start + 200000 + 2000);
    CHECK(bench_status().executed == 210000 && bench_status().late == late);
}

static void a_pause_is_not_late(void)
{
    start_over();
    begin_plan(3);
    give(SHORT, FIRST);
    give(LONG, FIRST);
    give(SHORT, FIRST);
    go();
    bench_run_ms(20);
    bench_command(MESSAGE_HOLD, 0, 0);
    bench_run_ms(300);
    CHECK(bench_status().state == STATE_HELD && bench_status().turns_done == 2);
    uint64_t resumed = bench_now();
    go();
    bench_run_ms(50);
    CHECK(bench_rise(FIRST_PIN, 14) == resumed + GO_LEAD + 2000);
    CHECK(bench_status().turns_done == 3 && bench_status().state == STATE_IDLE);
    CHECK(bench_status().late == late && bench_status().underruns == underruns);
}

/* The pause of a plan that was resumed and then dropped does not excuse delays of the next one. */
static void a_pause_is_over_with_its_plan(void)
{
    start_over();
    begin_plan(2);
    give(LONG, FIRST);
    go();
    bench_run_ms(20);
    bench_command(MESSAGE_HOLD, 0, 0);
    bench_run_ms(300);
    go(); /* no turn to start yet */
    bench_command(MESSAGE_ABORT, 0, 0);
    CHECK(bench_status().state == STATE_IDLE);
    begin_plan(1);
    give(SHORT, FIRST);
    go_at(bench_now() - 100000);
    bench_run_ms(50);
    CHECK(bench_status().turns_done == 1 && bench_status().late == (uint8_t)(late + 1));
}

static void each_time_the_queue_runs_dry_counts(void)
{
    start_over();
    begin_plan(3);
    give(LONG, FIRST);
    go();
    bench_run_ms(90); /* before the end of the turn */
    CHECK(bench_status().underruns == underruns);
    for (unsigned dry = 1; dry < 3; dry++) {
        bench_run_ms(100);
        CHECK(bench_status().underruns == underruns + dry);
        give(SHORT, FIRST);
    }
    bench_run_ms(100);
    CHECK(bench_status().underruns == underruns + 2 && bench_status().late == late);
    CHECK(bench_status().turns_done == 3 && bench_status().state == STATE_IDLE);
}

static void a_held_plan_does_not_run_dry(void)
{
    start_over();
    begin_plan(2);
    give(LONG, FIRST);
    go();
    bench_run_ms(20);
    bench_command(MESSAGE_HOLD, 0, 0);
    bench_run_ms(300);
    CHECK(bench_status().state == STATE_HELD && bench_status().underruns == underruns);
    give(SHORT, FIRST);
    go();
    bench_run_ms(50);
    CHECK(bench_status().turns_done == 2 && bench_status().underruns == underruns);
}

static void a_dropped_plan_holds_nothing_up(void)
{
    start_over();
    begin_plan(3);
    give(LONG, FIRST);
    give(SHORT, FIRST);
    go();
    bench_run_ms(20);
    bench_command(MESSAGE_HOLD, 0, 0);
    bench_command(MESSAGE_ABORT, 0, 0);
    CHECK(bench_status().state == STATE_HOLDING);
    bench_run_ms(200);
    CHECK(bench_status().state == STATE_IDLE && bench_status().free == BOARD_QUEUE_BYTES);
    CHECK(bench_status().turns_done == 1);
    begin_plan(1);
    give(SHORT, SECOND);
    uint64_t start = bench_now() + 8000;
    go_at(start);
    bench_run_ms(50);
    CHECK(bench_rise(SECOND_PIN, 0) == start + 2000 && bench_status().turns_done == 1);
}

/* A turn that starts together with a turn in progress belongs to it. */
static void what_is_together_is_begun_though_held(void)
{
    for (unsigned ended = 0; ended < 2; ended++) {
        start_over();
        begin_plan(3);
        give(LONG, FIRST);
        go();
        bench_run_ms(5);
        bench_command(MESSAGE_HOLD, 0, 0);
        bench_run_ms(ended ? 105 : 5);
        give(WITH | LONG, SECOND);
        give(SHORT, FIRST);
        bench_run_ms(250);
        CHECK(bench_rises(SECOND_PIN) == (ended ? 0 : 10) && bench_rises(FIRST_PIN) == 10);
        CHECK(bench_status().state == STATE_HELD);
    }
    start_over();
    begin_plan(2);
    give(LONG, FIRST);
    go();
    bench_run_ms(5);
    bench_command(MESSAGE_HOLD, 0, 0);
    give(DELAY | SHORT, SECOND);
    bench_run_ms(250);
    CHECK(bench_rises(SECOND_PIN) == 0 && bench_status().state == STATE_HELD);
}

static void an_actuator_that_is_not_there_is_named(void)
{
    static const uint8_t bad[][2] = {{SHORT, 3}, {SHORT, 7}, {MEDIUM + 1, SECOND}, {63, FIRST}};
    struct config_actuator before[] = {motor(16), motor(18), motor(20), motor(22)};
    before[3].flags = 0;
    for (unsigned i = 0; i < COUNT(bad); i++) {
        start_over();
        bench_configure_as(usual, before, COUNT(before)); /* start_over() removes the fourth */
        start_over();
        begin_plan(2);
        give(LONG, FIRST);
        give(WITH | bad[i][0], bad[i][1]);
        go();
        bench_run_ms(5);
        CHECK(bench_status().fault == FAULT_BAD_TURN && bench_status().fault_detail == bad[i][1]);
        bench_run_ms(200); /* lets the turn in progress end */
        CHECK(bench_rises(FIRST_PIN) == 10 && bench_rises(SECOND_PIN) == 0);
        CHECK(bench_status().turns_done == 1 && bench_status().moving == 0);
    }
}

static void an_actuator_makes_one_turn_after_the_other(void)
{
    start_over();
    begin_plan(2);
    give(SHORT, FIRST);
    give(WITH | SHORT, FIRST);
    uint64_t start = bench_now() + GO_LEAD;
    go();
    bench_run_ms(50);
    CHECK(bench_rises(FIRST_PIN) == 8 && bench_status().late == (uint8_t)(late + 1));
    uint64_t again = bench_rise(FIRST_PIN, 4) - 2000 - GO_LEAD;
    CHECK(again >= start + 10000 && again <= start + 12000);
}

/* A servo may start slightly late, as it has a pulse only every 20 ms. */
static void a_servo_is_late_after_five_milliseconds(void)
{
    for (unsigned missed = 0; missed < 2; missed++) {
        start_over();
        begin_plan(1);
        give(SLEW, SERVO);
        go_at(bench_now() + 1 - missed - SERVO_TOLERANCE);
        bench_run_ms(400);
        CHECK(bench_status().late == (uint8_t)(late + missed));
        CHECK(bench_status().executed == 500000 + missed * (SERVO_TOLERANCE + GO_LEAD));
    }
}

/* A stepper is not late if its first step is on time. */
static void a_stepper_is_late_when_its_first_step_is(void)
{
    for (unsigned missed = 0; missed < 2; missed++) {
        start_over();
        begin_plan(1);
        give(LONG, FIRST);
        uint64_t now = bench_now();
        uint64_t start = now - (missed ? 20000 : 12000);
        go_at(start);
        bench_run_ms(200);
        CHECK(bench_rise(FIRST_PIN, 0) == (missed ? now + GO_LEAD : start) + 20000);
        CHECK(bench_status().late == (uint8_t)(late + missed));
        CHECK(bench_status().executed == 200000 + missed * (20000 + GO_LEAD));
    }
}

static void turns_are_handed_over_a_little_ahead(void)
{
    for (unsigned early = 0; early < 2; early++) {
        start_over();
        begin_plan(1);
        give(SHORT, FIRST);
        uint64_t start = bench_now() + PROTOCOL_LOOKAHEAD + early;
        go_at(start);
        CHECK(bench_status().moving == (early ? 0 : 1 << FIRST));
        bench_run_ms(50);
        CHECK(bench_rise(FIRST_PIN, 0) == start + 2000 && bench_status().late == late);
    }
}

/* A turn ends with its last step. The plan's time is the latest planned end of a turn. */
static void steps_are_waited_for(void)
{
    start_over();
    begin_plan(2);
    give(BRIEF, FIRST);
    give(WITH | MEDIUM, SECOND);
    go();
    bench_run_ms(5);
    CHECK(bench_status().turns_done == 1 && bench_status().moving == 1 << FIRST);
    CHECK(bench_status().executed == 5000);
    bench_run_ms(5);
    CHECK(bench_status().turns_done == 2 && bench_status().state == STATE_IDLE);
    CHECK(bench_status().executed == 5000 && bench_rises(FIRST_PIN) == 4);
}

/* The main loop runs so late that even the postponed start fails. */
static void what_cannot_be_met_at_all_is_an_overload(void)
{
    start_over();
    begin_plan(2);
    give(LONG, FIRST);
    go();
    bench_elapsed = 60000;
    give(WITH | SHORT, SECOND);
    CHECK(bench_status().fault == FAULT_OVERLOAD && bench_status().fault_detail == SECOND);
    bench_elapsed = 0;
    bench_run_ms(150);
    CHECK(bench_rises(SECOND_PIN) == 0 && bench_status().moving == 0);
    CHECK(bench_status().turns_done == 1);
}

int main(void)
{
    a_turn_beyond_the_plan_is_refused();
    a_new_plan_forgets_what_was_told_before();
    a_first_turn_of_any_timing_starts_with_the_plan();
    a_turn_is_timed_by_the_one_before();
    the_latest_end_is_not_that_of_the_last_turn();
    a_pause_is_not_late();
    a_pause_is_over_with_its_plan();
    each_time_the_queue_runs_dry_counts();
    a_held_plan_does_not_run_dry();
    a_dropped_plan_holds_nothing_up();
    what_is_together_is_begun_though_held();
    an_actuator_that_is_not_there_is_named();
    an_actuator_makes_one_turn_after_the_other();
    a_servo_is_late_after_five_milliseconds();
    a_stepper_is_late_when_its_first_step_is();
    turns_are_handed_over_a_little_ahead();
    steps_are_waited_for();
    what_cannot_be_met_at_all_is_an_overload();
    return bench_result();
}
