/* Turns: step times and servo pulses to the tick, the chain of turns, holding, underruns. */
#include <string.h>

#include "actuators.h"
#include "bench.h"

#define GO_LEAD 4000
#define ASKED_BEFORE 5000 /* ticks from the computation of a pulse to its rise */

enum { RAMP, SLEW, SHORT, EASED };

static const struct step_segment ramp[] = {{1000, 5, -100}, {600, 10, 0}, {600, -3, 50}};
static const struct servo_segment slew[] = {{4000, 400000}, {4000, 100000}};
/* A slew that accelerates and brakes: slow, fast and slow segments. */
static const struct servo_segment eased[] = {
    {3100, 100000}, {3300, 100000}, {3700, 100000}, {3900, 100000}, {4000, 100000}};
static const struct step_segment short_run[] = {{2000, 4, 0}};

static void start_over(void)
{
    bench_command(MESSAGE_ABORT, 0, 0);
    bench_run_ms(2000);
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure();
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_STEPPER, ramp, COUNT(ramp), 40000);
    bench_profile(KIND_SERVO, slew, COUNT(slew), 500000);
    bench_profile(KIND_STEPPER, short_run, 1, 10000);
    bench_home(1 << 0 | 1 << 2);
    bench_run_ms(300);
    bench_clear_edges();
}

static void steps_fall_on_their_ticks(void)
{
    start_over();
    const uint8_t turns[] = {RAMP, 2};
    uint64_t go = bench_now() + GO_LEAD;
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(100);
    uint64_t at = go;
    unsigned number = 0;
    for (unsigned run = 0; run < COUNT(ramp); run++) {
        unsigned steps = (unsigned)(ramp[run].count < 0 ? -ramp[run].count : ramp[run].count);
        for (unsigned k = 0; k < steps; k++) {
            at += (uint64_t)(ramp[run].interval + (int)k * ramp[run].add);
            CHECK(bench_rise(STEP2_PIN, number++) == at);
        }
    }
    CHECK(bench_rises(STEP2_PIN) == number);
    struct status status = bench_status();
    CHECK(status.executed == 40000);
    CHECK(status.turns_done == 1);
    CHECK(status.state == STATE_IDLE);
}

static void direction_changes_between_steps(void)
{
    start_over();
    const uint8_t turns[] = {RAMP, 2 | TURN_BIT_REVERSE};
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(100);
    CHECK(!levels[STEP2_PIN]);
    uint64_t turned = bench_rise(DIRECTION2_PIN, 0);
    CHECK(turned >= bench_rise(STEP2_PIN, 14) && turned < bench_rise(STEP2_PIN, 15));
}

static uint16_t pulse_after(uint64_t moment)
{
    for (unsigned i = 0; i + 1 < edge_count; i++) {
        if (edges[i].pin == SERVO_PIN && edges[i].level && edges[i].time >= moment) {
            return (uint16_t)(edges[i + 1].time - edges[i].time);
        }
    }
    return 0;
}

static void servo_pulses_lead_to_the_end_in_time(void)
{
    start_over();
    const uint8_t turns[] = {SLEW, 0};
    uint64_t go = bench_now() + GO_LEAD;
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(400);
    uint64_t first = bench_rise(SERVO_PIN, 0);
    CHECK(bench_rise(SERVO_PIN, 1) - first == PROTOCOL_SERVO_FRAME);
    CHECK(pulse_after(first) == 3000);
    CHECK(pulse_after(go + 400000 - PROTOCOL_SERVO_FRAME + 1) == 4000);
    uint16_t middle = pulse_after(go + 200000);
    CHECK(middle >= 3600 && middle <= 3700); /* the position due up to two frames later */
    CHECK(bench_status().executed == 500000);
}

static uint16_t eased_at(uint64_t passed)
{
    uint16_t from = 3000;
    for (unsigned i = 0; i < COUNT(eased); i++) {
        if (passed < eased[i].duration) {
            return (uint16_t)(from + (eased[i].pulse - from) * passed / eased[i].duration);
        }
        passed -= eased[i].duration;
        from = eased[i].pulse;
    }
    return from;
}

/* Each pulse is the position due at the end of its frame, in every segment of the slew. */
static void an_eased_servo_follows_its_pieces(void)
{
    start_over();
    bench_profile(KIND_SERVO, eased, COUNT(eased), 500000);
    const uint8_t turns[] = {EASED, 0};
    uint64_t go = bench_now() + GO_LEAD;
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(300);
    unsigned followed = 0;
    for (unsigned frame = 0; frame < bench_rises(SERVO_PIN); frame++) {
        uint64_t rise = bench_rise(SERVO_PIN, frame);
        if (rise >= go + ASKED_BEFORE) {
            int off = pulse_after(rise) - eased_at(rise + PROTOCOL_SERVO_FRAME - go);
            CHECK(off >= -1 && off <= 1); /* rounding, as interpolation halves the times */
            followed++;
        }
    }
    CHECK(followed >= 12);
    CHECK(actuators[0].position == eased[COUNT(eased) - 1].pulse);
}

/* A step that would delay an edge waits for it. The pulses equal those of a servo alone. */
static void pulses_are_exact_beside_steps(void)
{
    static uint64_t alone[64], pulses[64];
    const uint8_t turns[] = {SLEW, 0, TIMING_WITH << TURN_BIT_TIMING_SHIFT | 3, 2};
    const struct step_segment busy[] = {{199, 1500, 0}};
    for (unsigned guard = 0; guard <= 60; guard += 60) {
        uint64_t *found = guard ? pulses : alone;
        start_over();
        bench_profile(KIND_STEPPER, busy, 1, 300000);
        bench_run_ms(40);
        bench_clear_edges();
        uint64_t first = UINT64_MAX;
        for (unsigned ms = 0; first == UINT64_MAX && ms < 30; ms++) {
            bench_run_ms(1);
            first = bench_rise(SERVO_PIN, 0);
        }
        bench_guard = (uint16_t)guard;
        const struct plan_begin begin = {.plan = 9, .turns = 2};
        const struct go_at at = {.tick = (uint32_t)(first + 60000)};
        bench_command(MESSAGE_PLAN_BEGIN, &begin, sizeof begin);
        bench_command(MESSAGE_TURNS, turns, sizeof turns);
        bench_command(MESSAGE_GO_AT, &at, sizeof at);
        bench_run_ms(300);
        bench_guard = 0;
        CHECK(bench_status().turns_done == 2 && bench_rises(STEP2_PIN) == 1500);
        unsigned count = 0;
        for (unsigned i = 0; i < edge_count && count < COUNT(alone); i++) {
            if (edges[i].pin == SERVO_PIN && edges[i].time >= first) {
                found[count++] = edges[i].time - first;
            }
        }
        CHECK(count > 20);
    }
    CHECK(memcmp(alone, pulses, sizeof alone) == 0);
}

/* A servo stopped during a slew stays about there and does not return to its start. */
static void a_servo_stopped_on_its_way_stays(void)
{
    start_over();
    const uint8_t turns[] = {SLEW, 0};
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(300);
    bench_home(1 << 0); /* from 4000 to 3000 in 101 ms */
    bench_run_ms(50);
    uint16_t last = pulse_after(bench_now() - PROTOCOL_SERVO_FRAME - 5000);
    bench_command(MESSAGE_ABORT, 0, 0);
    bench_run_ms(5);
    bench_clear_edges();
    bench_run_ms(100);
    uint16_t there = pulse_after(bench_rise(SERVO_PIN, 0));
    CHECK(last > 3000 && last < 4000);
    CHECK(there <= last && there + 500 > last);
    for (unsigned frame = 0; frame < 4; frame++) {
        CHECK(pulse_after(bench_rise(SERVO_PIN, frame)) == there);
    }
}

static void a_servo_stays_when_its_profile_is_overwritten(void)
{
    start_over();
    const uint8_t turns[] = {SLEW, 0};
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(300);
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    for (unsigned i = 0; i < 3; i++) {
        bench_profile(KIND_STEPPER, ramp, COUNT(ramp), 40000);
    }
    bench_clear_edges();
    bench_run_ms(100);
    for (unsigned frame = 0; frame < 4; frame++) {
        CHECK(pulse_after(bench_rise(SERVO_PIN, frame)) == 4000);
    }
}

static void turns_follow_each_other_in_time(void)
{
    start_over();
    const uint8_t turns[] = {
        SLEW,
        0, /* 0 to 250 ms */
        TIMING_DELAY << TURN_BIT_TIMING_SHIFT | SHORT,
        2,
        100,
        0,
        0, /* at 100 us */
        TIMING_AFTER_PREVIOUS << TURN_BIT_TIMING_SHIFT | SHORT,
        2, /* at 5.1 ms */
        SHORT,
        2, /* at 250 ms */
    };
    uint64_t go = bench_now() + GO_LEAD;
    bench_play(turns, sizeof turns, 4);
    bench_run_ms(400);
    CHECK(bench_rise(STEP2_PIN, 0) == go + 200 + 2000);
    CHECK(bench_rise(STEP2_PIN, 4) == go + 200 + 10000 + 2000);
    CHECK(bench_rise(STEP2_PIN, 8) == go + 500000 + 2000);
    CHECK(bench_status().executed == 510000);
    CHECK(bench_status().turns_done == 4);
    CHECK(bench_status().late == 0);
}

static void hold_finishes_the_turn_and_go_resumes(void)
{
    start_over();
    const uint8_t turns[] = {SHORT, 2, SHORT, 2, SHORT, 2, SHORT, 2, SHORT, 2, SHORT, 2};
    bench_play(turns, sizeof turns, 6);
    bench_run_ms(9);
    bench_command(MESSAGE_HOLD, 0, 0);
    CHECK(bench_status().state == STATE_HOLDING);
    bench_run_ms(500);
    struct status held = bench_status();
    CHECK(held.state == STATE_HELD);
    CHECK(held.turns_done < 6 && bench_rises(STEP2_PIN) == held.turns_done * 4u);
    bench_command(MESSAGE_GO, 0, 0);
    bench_run_ms(100);
    CHECK(bench_status().turns_done == 6);
    CHECK(bench_rises(STEP2_PIN) == 24);
    CHECK(bench_status().executed > 60000 + 450 * TICKS_A_MS);
}

/* Plays a short turn with GO_AT a tick. Returns the status after it. */
static struct status gone_at(uint64_t tick)
{
    const uint8_t turns[] = {SHORT, 2};
    const struct plan_begin begin = {.plan = 8, .turns = 1};
    const struct go_at at = {.tick = (uint32_t)tick};
    bench_command(MESSAGE_PLAN_BEGIN, &begin, sizeof begin);
    bench_command(MESSAGE_TURNS, turns, sizeof turns);
    bench_command(MESSAGE_GO_AT, &at, sizeof at);
    CHECK(bench_status().state == STATE_RUNNING);
    bench_run_ms(300);
    return bench_status();
}

static void a_plan_starts_at_the_tick_told(void)
{
    start_over();
    uint8_t late = bench_status().late;
    uint64_t go = bench_now() + 200 * TICKS_A_MS + 3;
    struct status status = gone_at(go);
    CHECK(bench_rise(STEP2_PIN, 0) == go + 2000);
    CHECK(status.state == STATE_IDLE && status.late == late);
    CHECK(status.executed == 10000 && status.now == (uint32_t)bench_now());
}

static void a_tick_that_has_passed_is_late(void)
{
    start_over();
    uint8_t late = bench_status().late;
    uint64_t now = bench_now();
    struct status status = gone_at(now - 100 * TICKS_A_MS);
    CHECK(status.late == (uint8_t)(late + 1) && status.turns_done == 1);
    CHECK(bench_rise(STEP2_PIN, 0) >= now + GO_LEAD);
}

static void a_plan_under_way_is_not_started_again(void)
{
    start_over();
    const uint8_t turns[] = {SHORT, 2, SHORT, 2};
    const struct go_at at = {.tick = (uint32_t)bench_now()};
    bench_play(turns, sizeof turns, 2);
    bench_command(MESSAGE_GO_AT, &at, sizeof at);
    CHECK(bench_status().fault == FAULT_BAD_STATE);
}

static void a_dry_queue_is_reported_and_loses_nothing(void)
{
    start_over();
    uint8_t underruns = bench_status().underruns;
    const uint8_t turns[] = {SHORT, 2};
    bench_play(turns, sizeof turns, 2);
    bench_run_ms(100);
    CHECK(bench_status().underruns == underruns + 1);
    CHECK(bench_status().state == STATE_RUNNING);
    bench_command(MESSAGE_TURNS, turns, sizeof turns);
    bench_run_ms(100);
    CHECK(bench_status().state == STATE_IDLE);
    CHECK(bench_rises(STEP2_PIN) == 8);
}

static void expect_fault(uint8_t fault, const uint8_t *turns, uint8_t length)
{
    bench_play(turns, length, 1);
    bench_run_ms(50);
    CHECK(bench_status().fault == fault);
    CHECK(bench_rises(STEP_PIN) + bench_rises(STEP2_PIN) == 0);
}

static void what_must_not_be_is_refused(void)
{
    start_over();
    expect_fault(FAULT_NOT_HOMED, (const uint8_t[]){SHORT, 1}, 2);
    start_over();
    expect_fault(FAULT_BAD_TURN, (const uint8_t[]){9, 2}, 2);
    start_over();
    expect_fault(FAULT_BAD_TURN, (const uint8_t[]){SLEW, 2}, 2);
    start_over();
    expect_fault(FAULT_BAD_MESSAGE, (const uint8_t[]){SHORT}, 1);
    start_over();
    const struct step_segment far[] = {{200, 10001, 0}};
    bench_profile(KIND_STEPPER, far, 1, 10001 * 200);
    expect_fault(FAULT_OUT_OF_RANGE, (const uint8_t[]){3, 2}, 2);
    start_over();
    const struct step_segment fast[] = {{99, 10, 0}};
    bench_profile(KIND_STEPPER, fast, 1, 990);
    expect_fault(FAULT_BAD_PROFILE, (const uint8_t[]){3, 2}, 2);
    start_over();
    const struct step_segment fast_at_last[] = {{200, 52, -2}}; /* 98 ticks before the last step */
    bench_profile(KIND_STEPPER, fast_at_last, 1, 7748);
    expect_fault(FAULT_BAD_PROFILE, (const uint8_t[]){3, 2}, 2);
}

/* Runs at and beyond the limits, forwards and backwards. */
static void runs_have_limits(void)
{
    static const struct {
        struct step_segment run;
        uint8_t fault;
    } rows[] = {
        {{200, 1, 0}, FAULT_NONE},
        {{200, -1, 0}, FAULT_NONE},
        {{200, 0, 0}, FAULT_BAD_PROFILE},
        {{200, INT16_MIN, 0}, FAULT_BAD_PROFILE},
        {{100, 2, 0}, FAULT_NONE},
        {{99, 2, 1}, FAULT_BAD_PROFILE},
        {{200, -51, -2}, FAULT_NONE},
        {{200, -52, -2}, FAULT_BAD_PROFILE},
        {{PROTOCOL_MAX_INTERVAL, 2, 0}, FAULT_NONE},
        {{PROTOCOL_MAX_INTERVAL + 1, 2, -1}, FAULT_BAD_PROFILE},
        {{PROTOCOL_MAX_INTERVAL - 2, 3, 1}, FAULT_NONE},
        {{PROTOCOL_MAX_INTERVAL - 2, 4, 1}, FAULT_BAD_PROFILE},
        {{PROTOCOL_MAX_INTERVAL - 2, -4, 1}, FAULT_BAD_PROFILE},
    };
    for (unsigned i = 0; i < COUNT(rows); i++) {
        int16_t count = rows[i].run.count;
        start_over();
        const struct step_segment runs[] = {{200, 1, 0}, rows[i].run}; /* checks the second too */
        bench_profile(KIND_STEPPER, runs, 2, 200000);
        const uint8_t turns[] = {3, 2};
        bench_play(turns, sizeof turns, 1);
        bench_run_ms(300);
        CHECK(bench_status().fault == rows[i].fault);
        unsigned steps = rows[i].fault ? 0 : 1u + (unsigned)(count < 0 ? -count : count);
        CHECK(bench_rises(STEP2_PIN) == steps);
        CHECK(actuators[2].position == (rows[i].fault ? 0 : 1 + count));
    }
    const struct servo_segment out[] = {{4000, 400000}, {5001, 100000}};
    start_over();
    bench_profile(KIND_SERVO, out, 2, 500000);
    expect_fault(FAULT_OUT_OF_RANGE, (const uint8_t[]){3, 0}, 2);
}

/* Plays a turn of one segment. Returns false if the board rejects it as out of range. */
static bool reaches(const void *segments, uint8_t kind, uint8_t turn, uint32_t duration)
{
    start_over();
    bench_profile(kind, segments, 1, duration);
    const uint8_t turns[] = {3, turn};
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(1100);
    CHECK(bench_status().fault == FAULT_NONE || bench_status().fault == FAULT_OUT_OF_RANGE);
    return bench_status().turns_done == 1 && bench_status().fault == FAULT_NONE;
}

static void limits_belong_to_the_range(void)
{
    const struct step_segment far[] = {{200, 10000, 0}}, farther[] = {{200, 10001, 0}};
    CHECK(reaches(far, KIND_STEPPER, 2, 2000000) && bench_rises(STEP2_PIN) == 10000);
    CHECK(reaches(far, KIND_STEPPER, 2 | TURN_BIT_REVERSE, 2000000));
    CHECK(!reaches(farther, KIND_STEPPER, 2 | TURN_BIT_REVERSE, 2000200));
    const struct step_segment fastest[] = {{200, 51, -2}};
    CHECK(reaches(fastest, KIND_STEPPER, 2, 7650) && bench_rises(STEP2_PIN) == 51);
    const struct servo_segment top[] = {{5000, 500000}}, above[] = {{5001, 500000}};
    CHECK(reaches(top, KIND_SERVO, 0, 500000));
    CHECK(pulse_after(bench_now() - 3 * PROTOCOL_SERVO_FRAME) == 5000);
    CHECK(!reaches(above, KIND_SERVO, 0, 500000));
    const struct servo_segment bottom[] = {{1000, 500000}}, below[] = {{999, 500000}};
    CHECK(reaches(bottom, KIND_SERVO, 0, 500000));
    CHECK(!reaches(below, KIND_SERVO, 0, 500000));
}

static void a_full_queue_refuses_without_losing(void)
{
    start_over();
    uint8_t turns[40];
    for (unsigned i = 0; i < sizeof turns; i += 2) {
        turns[i] = SHORT;
        turns[i + 1] = 2;
    }
    struct plan_begin begin = {.plan = 1, .turns = 1000};
    bench_command(MESSAGE_PLAN_BEGIN, &begin, sizeof begin);
    for (unsigned i = 0; i < 8; i++) {
        CHECK(bench_command(MESSAGE_TURNS, turns, sizeof turns));
    }
    CHECK(bench_status().free == 0);
    CHECK(!bench_command(MESSAGE_TURNS, turns, sizeof turns));
    CHECK(bench_status().fault == FAULT_NONE);
}

/* Sends more turns than fit as room becomes free, so that the queue wraps around. */
static void a_queue_goes_round_its_end(void)
{
    start_over();
    uint8_t turns[40];
    for (unsigned i = 0; i < sizeof turns; i += 2) {
        turns[i] = SHORT;
        turns[i + 1] = i % 4 ? 2 | TURN_BIT_REVERSE : 2;
    }
    const unsigned messages = 10; /* of 20 turns; eight fill the queue */
    bench_play(turns, sizeof turns, 20 * messages);
    for (unsigned given = 1; given < messages; bench_run_ms(1)) {
        if (bench_status().free >= sizeof turns) {
            given += bench_command(MESSAGE_TURNS, turns, sizeof turns);
        }
    }
    bench_run_ms(5000);
    CHECK(bench_status().fault == FAULT_NONE && bench_status().state == STATE_IDLE);
    CHECK(bench_status().turns_done == (uint16_t)(20 * messages));
    CHECK(bench_rises(STEP2_PIN) == 4 * 20 * messages);
}

int main(void)
{
    steps_fall_on_their_ticks();
    direction_changes_between_steps();
    servo_pulses_lead_to_the_end_in_time();
    an_eased_servo_follows_its_pieces();
    pulses_are_exact_beside_steps();
    a_servo_stopped_on_its_way_stays();
    a_servo_stays_when_its_profile_is_overwritten();
    turns_follow_each_other_in_time();
    hold_finishes_the_turn_and_go_resumes();
    a_plan_starts_at_the_tick_told();
    a_tick_that_has_passed_is_late();
    a_plan_under_way_is_not_started_again();
    a_dry_queue_is_reported_and_loses_nothing();
    what_must_not_be_is_refused();
    runs_have_limits();
    limits_belong_to_the_range();
    a_full_queue_refuses_without_losing();
    a_queue_goes_round_its_end();
    return bench_result();
}
