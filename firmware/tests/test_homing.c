/* Homing of a stepper against an end stop that lies at position -100, active low. */
#include <limits.h>

#include "actuators.h"
#include "bench.h"

static int where;
static bool broken;
static bool stuck;
static unsigned bounces; /* steps around the edge within which the contacts chatter */
static int disturbed = INT_MAX; /* position at which the end stop reads wrongly */
static int disturbed_to = INT_MAX; /* ... and at every `disturbed_every`th step down to this one */
static int disturbed_every = 1;
static int sticks_at = INT_MIN; /* position from which the end stop stays pressed */
static int breaks_at = INT_MAX; /* first position after the end stop at which it breaks */

static void follow(uint8_t pin, bool level)
{
    if (pin == STEP_PIN && level) {
        where += levels[DIRECTION_PIN] ? 1 : -1;
    }
    bool pressed = where <= -100;
    if (bounces && where > -100 - (int)bounces && where < -100 + (int)bounces) {
        pressed = where % 2;
    }
    bool wrong = where == disturbed || (where < disturbed && where >= disturbed_to &&
                                        (where - disturbed_to) % disturbed_every == 0);
    pressed = pressed != wrong;
    stuck = stuck || where == sticks_at;
    broken = broken || (where == breaks_at && levels[DIRECTION_PIN]);
    inputs[SENSOR_PIN] = !((pressed && !broken) || stuck);
}

/* Homes again without resetting the motor's state from the previous motion. */
static struct status home_again_from(int start)
{
    where = start;
    follow(0, false);
    bench_home(1 << 1);
    for (unsigned s = 0; s < 200 && bench_status().state == STATE_HOMING; s++) {
        bench_run_ms(1000);
    }
    return bench_status();
}

static struct status home_from(int start)
{
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure();
    return home_again_from(start);
}

static void finds_the_edge_from_both_sides(void)
{
    struct status status = home_from(0);
    CHECK(status.fault == FAULT_NONE && status.homed == 1 << 1);
    int edge = where;
    CHECK(edge == -102); /* the third step with an active end stop */
    status = home_from(-110);
    CHECK(status.homed == 1 << 1 && where == edge);
}

static void contacts_may_bounce(void)
{
    bounces = 2;
    struct status status = home_from(-50);
    CHECK(status.homed == 1 << 1 && where <= -100 && where >= -106);
    bounces = 0;
}

static void one_false_reading_is_no_edge(void)
{
    home_from(0);
    int edge = where;
    disturbed = -60;
    home_from(0);
    CHECK(where == edge);
    disturbed = -129; /* the first step on the way out: earlier readings do not count */
    struct status status = home_again_from(-130);
    CHECK(status.fault == FAULT_NONE && status.homed == 1 << 1 && where == edge);
    disturbed = -60;
    disturbed_to = -62; /* three wrong readings with right ones between */
    for (disturbed_every = 2; disturbed_to >= -66; disturbed_to -= 2) {
        home_from(0);
        CHECK(where == edge);
    }
    disturbed_every = 1;
    disturbed_to = -61; /* two in a row, after one */
    home_from(0);
    CHECK(where == edge);
    disturbed = -1; /* the very first two */
    disturbed_to = -2;
    home_from(0);
    CHECK(where == edge);
    disturbed = INT_MAX;
    disturbed_to = INT_MAX;
}

/* The slow approach does not reuse the reading of the fast seek. */
static void an_end_stop_may_break_on_the_way(void)
{
    breaks_at = -85;
    struct status status = home_from(0);
    CHECK(status.fault == FAULT_HOME_MISSING && status.homed == 0);
    CHECK(where == -82 - 80);
    broken = false;
    breaks_at = INT_MAX;
}

static void an_end_stop_may_stick_on_the_way(void)
{
    sticks_at = -101;
    struct status status = home_from(0);
    CHECK(status.fault == FAULT_HOME_STUCK && status.fault_detail == 1 && status.homed == 0);
    CHECK(where == -102 + 20 && status.moving == 0);
    stuck = false;
    sticks_at = INT_MIN;
}

/* Every homing motion has a constant speed, even after a servo's motion in the same memory. */
static void each_motion_has_one_speed(void)
{
    struct config_actuator setups[] = {bench_servo(), bench_servo()};
    const struct config_begin begin = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
    setups[1].pin = 20;
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure_as(begin, setups, COUNT(setups));
    bench_home(1 << 1);
    bench_run_ms(200);
    bench_clear_edges();
    home_from(0);
    CHECK(bench_rises(STEP_PIN) == 102 + 20 + 20);
    for (unsigned i = 1; i < 102 + 20 + 20; i++) {
        uint64_t wait = bench_rise(STEP_PIN, i) - bench_rise(STEP_PIN, i - 1);
        if (i == 102 || i == 102 + 20) { /* a motion begins after its lead time */
            CHECK(wait > 10000);
        } else {
            CHECK(wait == (i < 102 + 20 ? 2000 : 8000));
        }
    }
}

/* While an actuator homes again its position is unknown. */
static void homing_again_begins_anew(void)
{
    static const struct step_segment run[] = {{2000, 40, 0}};
    const uint8_t turns[] = {0, 1, 0, 2};
    home_from(0);
    bench_home(1 << 2);
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_STEPPER, run, 1, 80000);
    bench_play(turns, sizeof turns, 2);
    bench_run_ms(200);
    CHECK(actuators[1].position == 40 && actuators[2].position == 40);
    bench_home(1 << 1);
    CHECK(bench_status().homed == 1 << 2 && !actuators[1].placed && actuators[2].placed);
    for (unsigned s = 0; s < 20 && bench_status().state == STATE_HOMING; s++) {
        bench_run_ms(1000);
    }
    CHECK(bench_status().homed == (1 << 1 | 1 << 2) && where == -102);
    CHECK(actuators[1].position == 0 && actuators[2].position == 40);
}

/* A stepper without an end stop keeps a known position; otherwise it counts as at home. */
static void a_known_place_is_kept(void)
{
    static const uint8_t stop[] = PROTOCOL_STOP_PATTERN;
    static const struct step_segment run[] = {{2000, 40, 0}};
    const struct config_begin begin = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
    struct config_actuator setup = bench_stepper(false);
    const uint8_t turns[] = {0, 0};
    setup.home_position = 7;
    bench_configure_as(begin, &setup, 1);
    CHECK(actuators[0].position == 7 && !actuators[0].placed);
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_STEPPER, run, 1, 80000);
    bench_home(1);
    bench_play(turns, sizeof turns, 1);
    bench_run_ms(100);
    CHECK(actuators[0].position == 47);
    bench_command(MESSAGE_RELEASE, 0, 0);
    bench_home(1);
    CHECK(actuators[0].position == 47 && actuators[0].placed);
    bench_bytes(stop, sizeof stop);
    bench_bytes((const uint8_t *)"", 1);
    CHECK(!actuators[0].placed);
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_home(1);
    CHECK(actuators[0].position == 7 && actuators[0].placed && bench_status().homed == 1);
}

/* An actuator that is switched off is no longer homed, and loses its position only if the message
 * says so. The others hold. A servo resumes with its last pulse, not with the first of its slew. */
static void some_may_be_powered_down(void)
{
    static const struct servo_segment away[] = {{2400, 20 * TICKS_A_MS}};
    static const uint8_t turn[] = {0, 0};
    const struct config_begin begin = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
    const struct power_down power_down = {.actuators = 3, .lost = 2};
    struct config_actuator setups[] = {bench_servo(), bench_stepper(false), bench_servo()};
    setups[2].pin = STEP_PIN;
    bench_configure_as(begin, setups, COUNT(setups));
    bench_home(7);
    bench_run_ms(110);
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_SERVO, (const void *)away, 1, 20 * TICKS_A_MS);
    bench_play(turn, sizeof turn, 1);
    bench_run_ms(50);
    CHECK(bench_status().homed == 7 && actuators[0].motor.servo.pulse == 2400);
    bench_command(MESSAGE_POWER_DOWN, &power_down, sizeof power_down);
    CHECK(bench_status().homed == 4 && bench_status().fault == FAULT_NONE);
    CHECK(!actuators[0].powered && !actuators[1].powered && actuators[2].powered);
    CHECK(actuators[0].placed && !actuators[1].placed && actuators[2].placed);
    bench_run_ms(50);
    CHECK(actuators[0].motor.servo.pulse == 0);
    bench_home(1);
    CHECK(actuators[0].motor.servo.pulse == 2400);
}

static void a_servo_has_a_millisecond_more_than_told(void)
{
    bench_configure();
    bench_home(1 << 0);
    const struct actuator *servo = &actuators[0];
    CHECK(servo->end == (uint32_t)bench_now() + 101 * TICKS_A_MS);
    CHECK(servo->motor.servo.segments[0].duration == 101 * TICKS_A_MS);
    bench_run_ms(104);
    CHECK(servo->homed && servo->homing == 0);
    CHECK(servo->motor.servo.count == 0); /* at rest */
}

/* The main loop runs so late that a motion cannot start in time. */
static void an_overload_ends_homing(void)
{
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure();
    bench_elapsed = 54000;
    bench_clear_edges();
    bench_home(1 << 1);
    CHECK(bench_status().fault == FAULT_OVERLOAD && bench_status().fault_detail == 1);
    bench_elapsed = 0;
    CHECK(bench_status().moving == 0 && bench_status().homed == 0);
    bench_run_ms(100);
    CHECK(bench_rises(STEP_PIN) == 0);
    bench_command(MESSAGE_CLEAR, 0, 0);
}

/* One motion of the step interrupt has at most 32,767 steps. */
static void the_end_stop_may_be_far_away(void)
{
    home_from(0);
    int edge = where;
    bench_home_travel = 80000;
    struct status status = home_from(70000);
    CHECK(status.fault == FAULT_NONE && status.homed == 1 << 1 && where == edge);
    bench_home_travel = 70000;
    broken = true;
    status = home_from(0);
    CHECK(status.fault == FAULT_HOME_MISSING && where == -70000);
    broken = false;
    bench_home_travel = 500;
}

static void a_missing_end_stop_is_a_fault(void)
{
    broken = true;
    struct status status = home_from(0);
    CHECK(status.fault == FAULT_HOME_MISSING && status.fault_detail == 1);
    CHECK(status.homed == 0 && where == -500);
    broken = false;
}

static void a_stuck_end_stop_is_another(void)
{
    stuck = true;
    struct status status = home_from(0);
    CHECK(status.fault == FAULT_HOME_STUCK && status.homed == 0);
    CHECK(where == 80);
    stuck = false;
}

static void abort_ends_it(void)
{
    where = 0;
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure();
    follow(0, false);
    bench_home(1 << 1);
    bench_run_ms(20);
    CHECK(bench_status().state == STATE_HOMING);
    bench_command(MESSAGE_ABORT, 0, 0);
    int there = where;
    bench_run_ms(1000);
    CHECK(where == there && bench_status().homed == 0 && bench_status().state == STATE_IDLE);
}

/* Turns away from the home position and back. At rest, the sensor is active only there. */
static struct status turn(bool jammed, bool lossy)
{
    static const struct step_segment run[] = {{2000, 40, 0}};
    const uint8_t turns[] = {0, 1, 0, 1 | TURN_BIT_REVERSE};
    home_from(0);
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_STEPPER, run, 1, 100000);
    on_edge = jammed ? 0 : follow;
    bench_play(turns, 4, 2);
    bench_run_ms(60);
    where += lossy ? 30 : 0;
    bench_run_ms(200);
    on_edge = follow;
    return bench_status();
}

static void the_sensor_is_looked_at_after_turns(void)
{
    bench_check_turns = true;
    struct status status = turn(false, false);
    CHECK(status.fault == FAULT_NONE && status.turns_done == 2);
    status = turn(true, false);
    CHECK(status.fault == FAULT_NOT_IN_PLACE && status.fault_detail == 1);
    CHECK(status.turns_done == 0 && !(status.homed & 1 << 1));
    status = turn(false, true);
    CHECK(status.fault == FAULT_NOT_IN_PLACE && status.turns_done == 1);
    bench_check_turns = false;
}

/* One motor is blocked. Another motor's turn finishes if it has begun and is cancelled if not,
 * although the player has handed both turns to the step interrupt. */
static void what_has_begun_is_ended_when_another_misses_its_place(void)
{
    static const struct step_segment runs[][1] = {{{2000, 40, 0}}, {{10000, 12, 0}}};
    static const unsigned delays_us[] = {0, 44000}; /* the other turn has begun; has not begun */
    bench_check_turns = true;
    for (unsigned i = 0; i < COUNT(delays_us); i++) {
        home_from(0);
        bench_home(1 << 2);
        bench_run_ms(10);
        bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
        bench_profile(KIND_STEPPER, runs[0], 1, 90000);
        bench_profile(KIND_STEPPER, runs[1], 1, 125000);
        const uint8_t turns[] = {0,
                                 1,
                                 TIMING_DELAY << TURN_BIT_TIMING_SHIFT | 1,
                                 2,
                                 (uint8_t)delays_us[i],
                                 (uint8_t)(delays_us[i] >> 8),
                                 0};
        on_edge = 0; /* jammed */
        bench_clear_edges();
        bench_play(turns, sizeof turns, 2);
        bench_run_ms(200);
        on_edge = follow;
        struct status status = bench_status();
        CHECK(status.fault == FAULT_NOT_IN_PLACE && status.fault_detail == 1);
        CHECK(status.moving == 0 && bench_rises(STEP_PIN) == 40);
        CHECK(bench_rises(STEP2_PIN) == (delays_us[i] ? 0 : 12));
        CHECK((status.homed & 1 << 2) == (delays_us[i] ? 0 : 1 << 2));
    }
    bench_check_turns = false;
}

int main(void)
{
    on_edge = follow;
    finds_the_edge_from_both_sides();
    contacts_may_bounce();
    one_false_reading_is_no_edge();
    an_end_stop_may_break_on_the_way();
    the_end_stop_may_be_far_away();
    a_missing_end_stop_is_a_fault();
    a_stuck_end_stop_is_another();
    abort_ends_it();
    the_sensor_is_looked_at_after_turns();
    what_has_begun_is_ended_when_another_misses_its_place();
    an_end_stop_may_stick_on_the_way();
    each_motion_has_one_speed();
    homing_again_begins_anew();
    a_known_place_is_kept();
    some_may_be_powered_down();
    a_servo_has_a_millisecond_more_than_told();
    an_overload_ends_homing();
    return bench_result();
}
