/* Pulses of a board whose hardware repeats them by itself: set one after another, never early, and
 * at most a frame late. */
#include "bench.h"

#define GO_LEAD (2 * TICKS_A_MS)
#define SLOT (PROTOCOL_SERVO_FRAME / BOARD_ACTUATORS)
#define FROM 3000
#define TO 4000
#define TRAVEL 400000
#define SERVO 1 /* bit mask of actuators */

static const struct servo_segment slew[] = {{TO, TRAVEL}, {TO, 100000}};
static const uint8_t turns[] = {0, 0};

static void start_over(void)
{
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure();
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_SERVO, slew, COUNT(slew), 500000);
    bench_home(SERVO);
    bench_run_ms(150);
    set_pulse_count = 0;
}

static void one_pulse_a_frame_is_the_position_at_its_end(void)
{
    start_over();
    uint64_t go = bench_now() + GO_LEAD;
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(300);
    CHECK(set_pulse_count == 15);
    for (unsigned i = 0; i < set_pulse_count; i++) {
        const struct set_pulse *pulse = &set_pulses[i];
        CHECK(i == 0 || pulse->time - set_pulses[i - 1].time == PROTOCOL_SERVO_FRAME);
        CHECK(pulse->time % SLOT == 0 && pulse->pin == SERVO_PIN);
        int64_t passed = (int64_t)(pulse->time + PROTOCOL_SERVO_FRAME - go);
        int64_t due = passed <= 0       ? FROM
                      : passed < TRAVEL ? FROM + (TO - FROM) * passed / TRAVEL
                                        : TO;
        int64_t off = (int64_t)pulse->ticks - due;
        CHECK(off >= -1 && off <= 1); /* rounding, as interpolation halves the times */
    }
    CHECK(set_pulses[set_pulse_count - 1].ticks == TO);
    CHECK(bench_status().executed == 500000);
}

static void released_it_has_no_pulses_within_a_frame(void)
{
    start_over();
    bench_command(MESSAGE_RELEASE, 0, 0);
    bench_run_ms(20);
    CHECK(set_pulse_count == 1 && set_pulses[0].ticks == 0);
}

static void an_emergency_stop_ends_its_pulses(void)
{
    start_over();
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(100);
    uint16_t there = set_pulses[set_pulse_count - 1].ticks;
    static const uint8_t stop[] = PROTOCOL_STOP_PATTERN;
    bench_bytes(stop, sizeof stop);
    bench_bytes((const uint8_t *)"", 1);
    bench_run_ms(300);
    CHECK(bench_status().fault == FAULT_EMERGENCY_STOP);
    CHECK(there > FROM && there < TO && set_pulses[set_pulse_count - 1].ticks == 0);
}

static void a_pulse_that_fails_is_named_and_its_place_lost(void)
{
    start_over();
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(50);
    bench_pulses_fail = true;
    bench_run_ms(300);
    struct status status = bench_status();
    CHECK(status.fault == FAULT_PULSE_FAILED && status.fault_detail == 0);
    CHECK(!(status.homed & SERVO));
    bench_pulses_fail = false;
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_home(SERVO);
    bench_run_ms(150);
    CHECK(bench_status().fault == FAULT_NONE && bench_status().homed & SERVO);
}

static void late_pulses_are_counted_while_a_plan_runs(void)
{
    start_over();
    uint8_t before = bench_status().late;
    bench_is_late = true;
    bench_run_ms(100);
    CHECK(bench_status().late == before);
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(60);
    bench_is_late = false;
    CHECK((uint8_t)(bench_status().late - before) == 3);
}

int main(void)
{
    one_pulse_a_frame_is_the_position_at_its_end();
    released_it_has_no_pulses_within_a_frame();
    an_emergency_stop_ends_its_pulses();
    a_pulse_that_fails_is_named_and_its_place_lost();
    late_pulses_are_counted_while_a_plan_runs();
    return bench_result();
}
