/* The limits of an actuator's configuration, and the states of its pins when it is set up, homed,
 * and removed. */
#include <limits.h>

#include "bench.h"
#include "servo.h"
#include "board.h"

#define SERVO_MASK (1 << 0)
#define SWITCHED_MASK (1 << 1)
#define PLAIN_MASK (1 << 2)

static const struct config_begin usual = {.silence_hold_ms = 200, .silence_safe_ms = 1000};

static uint8_t fault_of(const struct config_actuator *setups, unsigned count)
{
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure_as(usual, setups, count);
    struct status status = bench_status();
    CHECK(!status.fault || status.state == STATE_FAULT);
    bench_command(MESSAGE_CLEAR, 0, 0);
    return status.fault;
}

static bool is_taken(const struct config_actuator *setup)
{
    uint8_t fault = fault_of(setup, 1);
    CHECK(fault == FAULT_NONE || fault == FAULT_BAD_CONFIG);
    return fault == FAULT_NONE;
}

/* Tests one field of the servo, or of the stepper with an end stop, at its limit and beyond. */
#define LIMIT(setup, field, good, bad)                                                             \
    do {                                                                                           \
        struct config_actuator at = (setup), beyond = (setup);                                     \
        at.field = (good);                                                                         \
        beyond.field = (bad);                                                                      \
        CHECK(is_taken(&at));                                                                      \
        CHECK(!is_taken(&beyond));                                                                 \
    } while (0)

static void limits_of_any_actuator(void)
{
    const struct config_actuator setups[] = {bench_servo(), bench_stepper(true)};
    for (unsigned i = 0; i < COUNT(setups); i++) {
        LIMIT(setups[i], pin, PIN_COUNT - 1, PIN_COUNT);
        LIMIT(setups[i], pin, 0, PROTOCOL_NO_PIN);
        LIMIT(setups[i], direction_pin, PIN_COUNT - 1, PIN_COUNT);
        LIMIT(setups[i], enable_pin, PIN_COUNT - 1, PIN_COUNT);
        LIMIT(setups[i], enable_pin, PROTOCOL_NO_PIN, PROTOCOL_NO_PIN - 1);
        LIMIT(setups[i], sensor_pin, PIN_COUNT - 1, PIN_COUNT);
        LIMIT(setups[i], home_position, setups[i].minimum, setups[i].minimum - 1);
        LIMIT(setups[i], home_position, setups[i].maximum, setups[i].maximum + 1);
        LIMIT(setups[i], minimum, setups[i].home_position, setups[i].home_position + 1);
        LIMIT(setups[i], maximum, setups[i].home_position, setups[i].home_position - 1);
        LIMIT(setups[i], kind, setups[i].kind, KIND_STEPPER + 1);
        struct config_actuator fixed = setups[i]; /* a range of a single position */
        fixed.minimum = fixed.maximum = fixed.home_position;
        CHECK(is_taken(&fixed));
    }
}

static void limits_of_a_servo(void)
{
    LIMIT(bench_servo(), minimum, PROTOCOL_MIN_PULSE, PROTOCOL_MIN_PULSE - 1);
    LIMIT(bench_servo(), maximum, PROTOCOL_MAX_PULSE, PROTOCOL_MAX_PULSE + 1);
}

static void limits_of_a_stepper(void)
{
    const struct config_actuator stepper = bench_stepper(true);
    LIMIT(stepper, direction_pin, 0, PROTOCOL_NO_PIN);
    LIMIT(stepper, sensor_pin, 0, PROTOCOL_NO_PIN);
    LIMIT(stepper, min_interval, BOARD_MIN_INTERVAL, BOARD_MIN_INTERVAL - 1);
    LIMIT(stepper, home_interval, stepper.min_interval, stepper.min_interval - 1);
    LIMIT(stepper, home_interval, stepper.home_slow_interval, stepper.home_slow_interval + 1);
    LIMIT(stepper, home_slow_interval, PROTOCOL_MAX_INTERVAL, PROTOCOL_MAX_INTERVAL + 1);
    LIMIT(stepper, home_backoff, 1, 0);
    LIMIT(stepper, home_backoff, INT16_MAX / 4, INT16_MAX / 4 + 1);
    LIMIT(stepper, home_travel, 1, 0);
}

/* Homing parameters do not matter without an end stop, but a sensor to check does. */
static void what_is_not_used_is_not_limited(void)
{
    struct config_actuator plain = bench_stepper(false);
    plain.home_backoff = 0;
    plain.home_travel = 0;
    plain.home_interval = 0;
    CHECK(is_taken(&plain));
    plain.check_period = 1;
    CHECK(!is_taken(&plain));
    plain.sensor_pin = SENSOR_PIN;
    CHECK(is_taken(&plain));
}

static void eight_actuators_fit(void)
{
    struct config_actuator setups[BOARD_ACTUATORS + 1];
    for (unsigned i = 0; i < COUNT(setups); i++) {
        setups[i] = bench_stepper(false);
        setups[i].pin = (uint8_t)(10 + i);
    }
    CHECK(fault_of(setups, 0) == FAULT_CONFIG_CRC);
    CHECK(fault_of(setups, BOARD_ACTUATORS) == FAULT_NONE);
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure_as(usual, setups, BOARD_ACTUATORS + 1);
    CHECK(bench_status().fault == FAULT_BAD_CONFIG);
    CHECK(bench_status().fault_detail == BOARD_ACTUATORS);
    bench_command(MESSAGE_CLEAR, 0, 0);
}

/* Enable pins are active low by default. */
static void a_motor_has_power_from_homing_to_release(bool high)
{
    struct config_actuator setups[] = {bench_stepper(true), bench_stepper(false)};
    for (unsigned i = 0; i < COUNT(setups); i++) {
        setups[i].flags |= high ? ACTUATOR_FLAG_ENABLE_HIGH : 0;
    }
    inputs[SENSOR_PIN] = true;
    CHECK(fault_of(setups, 2) == FAULT_NONE);
    CHECK(levels[ENABLE_PIN] == !high && !levels[STEP_PIN] && !levels[DIRECTION_PIN]);
    bench_home(1 << 0);
    CHECK(levels[ENABLE_PIN] == high && bench_status().moving == 1 << 0);
    bench_home(1 << 1); /* homes in place, but rejected because the other one moves */
    CHECK(bench_status().fault == FAULT_BAD_STATE);
    bench_command(MESSAGE_RELEASE, 0, 0);
    CHECK(levels[ENABLE_PIN] == !high && bench_status().moving == 0);
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_home(1 << 1);
    CHECK(levels[ENABLE_PIN] == high && bench_status().homed == 1 << 1);
    bench_command(MESSAGE_RELEASE, 0, 0);
    CHECK(levels[ENABLE_PIN] == !high && bench_status().homed == 0);
}

/* A range need not be symmetric about home. Every run of a turn must stay in it. */
static void a_range_has_two_ends(void)
{
    static const struct {
        int16_t counts[2];
        bool reverse;
        bool in_range;
    } rows[] = {
        {{299, 1}, false, true},   {{299, 2}, false, false},   {{99, 1}, true, true},
        {{99, 2}, true, false},    {{-99, -1}, false, true},   {{-99, -2}, false, false},
        {{-299, -1}, true, true},  {{-299, -2}, true, false},  {{301, -10}, false, false},
        {{101, -10}, true, false}, {{300, -400}, false, true},
    };
    struct config_actuator setup = bench_stepper(false);
    setup.minimum = -100;
    setup.maximum = 300;
    for (unsigned i = 0; i < COUNT(rows); i++) {
        const struct step_segment runs[] = {{200, rows[i].counts[0], 0},
                                            {200, rows[i].counts[1], 0}};
        const uint8_t turns[] = {0, rows[i].reverse ? TURN_BIT_REVERSE : 0};
        CHECK(is_taken(&setup));
        bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
        bench_profile(KIND_STEPPER, runs, 2, 160000);
        bench_home(1 << 0);
        bench_clear_edges();
        bench_play(turns, sizeof turns, 1);
        bench_run_ms(150);
        CHECK(bench_status().fault == (rows[i].in_range ? FAULT_NONE : FAULT_OUT_OF_RANGE));
        CHECK((bench_rises(STEP2_PIN) > 0) == rows[i].in_range);
    }
}

/* Two motors share a driver's enable pin. The safe state of one is off, that of the other on. */
static void a_shared_pin_has_power_while_one_needs_it(void)
{
    static const uint8_t stop[] = PROTOCOL_STOP_PATTERN;
    for (unsigned held = 0; held < 3; held++) { /* the third round holds neither */
        struct config_actuator setups[] = {bench_stepper(false), bench_stepper(false)};
        setups[1].pin = STEP_PIN;
        for (unsigned i = 0; i < COUNT(setups); i++) {
            setups[i].flags |= i == held ? 0 : ACTUATOR_FLAG_SAFE_OFF;
        }
        CHECK(fault_of(setups, COUNT(setups)) == FAULT_NONE);
        bench_home(1 << 0 | 1 << 1);
        CHECK(!levels[ENABLE_PIN]); /* active low */
        bench_bytes(stop, sizeof stop);
        bench_bytes((const uint8_t *)"", 1);
        CHECK(bench_status().fault == FAULT_EMERGENCY_STOP && bench_status().homed == 0);
        CHECK(levels[ENABLE_PIN] == (held == 2));
    }
    bench_command(MESSAGE_CLEAR, 0, 0);
}

/* Releases exactly the pins in use. The end of a high pulse releases its servo's pin. */
static void all_pins_are_let_go_once(void)
{
    static const uint32_t used = 1u << STEP_PIN | 1u << DIRECTION_PIN | 1u << ENABLE_PIN |
                                 1u << SENSOR_PIN | 1u << STEP2_PIN | 1u << DIRECTION2_PIN;
    for (unsigned high = 0; high < 2; high++) {
        bench_command(MESSAGE_CLEAR, 0, 0);
        bench_configure();
        bench_home(SERVO_MASK);
        for (unsigned ms = 0; ms < 200 || levels[SERVO_PIN] != high; ms++) {
            bench_run_ms(1);
        }
        bench_released = 0;
        bench_command(MESSAGE_CONFIG_BEGIN, &usual, sizeof usual);
        CHECK(bench_released == (high ? used : (used | 1u << SERVO_PIN)));
        CHECK(levels[SERVO_PIN] == high);
        CHECK((servo_event(0, UINT16_MAX) == UINT16_MAX) == !high); /* waits only for a pulse */
        bench_run_ms(5);
        CHECK(!levels[SERVO_PIN]);
        CHECK(servo_event(0, UINT16_MAX) == UINT16_MAX);
    }
}

/* Reconfiguring releases the pins of all removed actuators, regardless of their use. */
static void reconfiguring_lets_all_pins_go(void)
{
    static const uint8_t pins[] = {SERVO_PIN, STEP_PIN, DIRECTION_PIN, ENABLE_PIN, STEP2_PIN};
    bench_command(MESSAGE_CLEAR, 0, 0);
    const struct config_actuator alone = bench_stepper(true); /* either kind may come first */
    for (unsigned first = 0; first < 2; first++) {
        first ? (void)bench_configure_as(usual, &alone, 1) : bench_configure();
        CHECK(levels[ENABLE_PIN]);
        bench_command(MESSAGE_CONFIG_BEGIN, &usual, sizeof usual);
        for (unsigned i = 0; i < COUNT(pins); i++) {
            CHECK(!levels[pins[i]]);
        }
        CHECK(bench_status().state == STATE_UNCONFIGURED);
    }
}

static void a_servo_has_no_pulses_before_it_is_homed(void)
{
    bench_command(MESSAGE_CLEAR, 0, 0);
    for (unsigned time = 0; time < 2; time++) { /* also after pulses and a new setup */
        bench_configure();
        bench_run_ms(25); /* lets a pulse in progress end */
        bench_clear_edges();
        bench_run_ms(100);
        CHECK(bench_rises(SERVO_PIN) == 0 && bench_status().homed == 0);
        bench_home(SERVO_MASK);
        bench_run_ms(150);
        CHECK(bench_rises(SERVO_PIN) >= 6 && bench_status().homed == SERVO_MASK);
    }
}

/* Homing a servo takes a millisecond more than configured. */
static void a_servo_takes_its_time_to_home(void)
{
    bench_configure();
    bench_home(SERVO_MASK);
    bench_run_ms(100);
    CHECK(bench_status().state == STATE_HOMING && bench_status().moving == SERVO_MASK);
    bench_run_ms(2);
    CHECK(bench_status().state == STATE_IDLE && bench_status().homed == SERVO_MASK);
}

static void only_what_is_there_is_homed(void)
{
    bench_configure();
    bench_home(SERVO_MASK | PLAIN_MASK);
    bench_run_ms(200);
    CHECK(bench_status().homed == (SERVO_MASK | PLAIN_MASK));
    bench_home(1 << 3);
    CHECK(bench_status().fault == FAULT_BAD_STATE);
    bench_command(MESSAGE_CLEAR, 0, 0);
}

/* An inverted motor turns the other way for the same turn. */
static void a_direction_may_be_inverted(void)
{
    static const struct step_segment run[] = {{2000, 4, 0}};
    for (unsigned inverted = 0; inverted < 2; inverted++) {
        for (unsigned reverse = 0; reverse < 2; reverse++) {
            struct config_actuator setup = bench_stepper(false);
            setup.flags |= inverted ? ACTUATOR_FLAG_INVERT_DIRECTION : 0;
            CHECK(is_taken(&setup));
            bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
            bench_profile(KIND_STEPPER, run, 1, 10000);
            bench_home(1 << 0);
            const uint8_t turns[] = {0, reverse ? TURN_BIT_REVERSE : 0};
            bench_play(turns, sizeof turns, 1);
            bench_run_ms(20);
            CHECK(bench_status().turns_done == 1);
            CHECK(levels[DIRECTION2_PIN] == (inverted == reverse));
        }
    }
}

/* Runs one pass of the firmware's main loop. */
static void look(void)
{
    bench_command(MESSAGE_CLEAR, 0, 0);
}

/* The configured milliseconds of silence until hold and safe state. Rejects values out of range. */
static void silence_is_as_told_within_its_limits(void)
{
    static const struct {
        uint16_t hold, safe, holds_after, safe_after;
    } rows[] = {
        {100, 100, 100, 100},
        {2000, 2500, 2000, 2500},
        {99, 1000, PROTOCOL_SILENCE_HOLD_MS, PROTOCOL_SILENCE_SAFE_MS},
        {2001, 5000, PROTOCOL_SILENCE_HOLD_MS, PROTOCOL_SILENCE_SAFE_MS},
        {500, 499, PROTOCOL_SILENCE_HOLD_MS, PROTOCOL_SILENCE_SAFE_MS},
    };
    static const struct step_segment slow[] = {{40000, 200, 0}};
    const struct hello hello = {.version = PROTOCOL_VERSION, .nonce = 1};
    for (unsigned i = 0; i < COUNT(rows); i++) {
        struct config_begin begin = {rows[i].hold, rows[i].safe};
        struct config_actuator setup = bench_stepper(false);
        bench_send(9, 0, MESSAGE_HELLO, &hello, sizeof hello);
        bench_command(MESSAGE_CLEAR, 0, 0);
        bench_configure_as(begin, &setup, 1);
        bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
        bench_profile(KIND_STEPPER, slow, 1, 9000000);
        bench_home(1 << 0);
        const uint8_t turns[] = {0, 0};
        bench_play(turns, sizeof turns, 1);
        bench_run_ms(5);
        const uint8_t held = bench_status().held;
        bench_send(9, 0, MESSAGE_PING, &held, 1);
        uint32_t moment = silent_ms;
        bool both = rows[i].safe_after == rows[i].holds_after;
        silent_ms = moment + rows[i].holds_after;
        look();
        CHECK(bench_status().held == held && bench_status().state == STATE_RUNNING);
        silent_ms++;
        look();
        CHECK(bench_status().held == (uint8_t)(held + 1));
        CHECK(bench_status().state == (both ? STATE_FAULT : STATE_HOLDING));
        silent_ms = moment + rows[i].safe_after + both;
        look();
        CHECK(both || (bench_status().fault == FAULT_NONE && bench_status().moving));
        silent_ms++;
        look();
        CHECK(bench_status().fault == (both ? FAULT_NONE : FAULT_HOST_LOST));
        CHECK(bench_status().moving == 0 && bench_status().homed == 0);
        look();
    }
}

int main(void)
{
    limits_of_any_actuator();
    limits_of_a_servo();
    limits_of_a_stepper();
    what_is_not_used_is_not_limited();
    eight_actuators_fit();
    a_motor_has_power_from_homing_to_release(false);
    a_motor_has_power_from_homing_to_release(true);
    reconfiguring_lets_all_pins_go();
    a_range_has_two_ends();
    a_shared_pin_has_power_while_one_needs_it();
    all_pins_are_let_go_once();
    a_servo_has_no_pulses_before_it_is_homed();
    a_servo_takes_its_time_to_home();
    only_what_is_there_is_homed();
    a_direction_may_be_inverted();
    silence_is_as_told_within_its_limits();
    return bench_result();
}
