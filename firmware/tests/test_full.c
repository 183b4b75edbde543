/* A board with the maximum number of actuators: the first and the last behave like any other. */
#include <string.h>

#include "actuators.h"
#include "bench.h"
#include "board.h"
#include "commands.h"
#include "safety.h"

#define COUNTED BOARD_ACTUATORS
#define LAST (COUNTED - 1)
#define ALL 0xff
#define GO_LEAD 4000
#define SLOT 5000
#define INDEX_PIN 31
#define PERIOD 100
#define WITH (TIMING_WITH << TURN_BIT_TIMING_SHIFT)

static const struct config_begin usual = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
static const struct step_segment turn_run[] = {{200, PERIOD, 0}}, slow_run[] = {{40000, 5, 0}};
static const struct servo_segment slew[] = {{4000, 400000}};

enum { TURN, SLOW, SLEW };

static uint8_t pin_of(unsigned actuator)
{
    return (uint8_t)(10 + 2 * actuator);
}

/* Configures servos, or steppers, one of which may have a sensor to check after turns. */
static void configure(uint8_t kind, unsigned sensed)
{
    struct config_actuator setups[COUNTED];
    for (unsigned i = 0; i < COUNTED; i++) {
        setups[i] = kind == KIND_SERVO ? bench_servo() : bench_stepper(false);
        setups[i].flags |= ACTUATOR_FLAG_SAFE_OFF;
        setups[i].pin = pin_of(i);
        if (kind == KIND_STEPPER) {
            setups[i].direction_pin = pin_of(i) + 1;
        }
        if (i == sensed) {
            setups[i].sensor_pin = INDEX_PIN;
            setups[i].check_period = PERIOD;
        }
    }
    bench_command(MESSAGE_ABORT, 0, 0);
    bench_run_ms(2000);
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure_as(usual, setups, COUNTED);
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_STEPPER, turn_run, 1, 20000);
    bench_profile(KIND_STEPPER, slow_run, 1, 200000);
    bench_profile(KIND_SERVO, slew, 1, 400000);
    bench_home(ALL);
    bench_run_ms(300);
    bench_clear_edges();
    CHECK(bench_status().homed == ALL && bench_status().fault == FAULT_NONE);
}

static void play_all(uint8_t profile)
{
    uint8_t turns[2 * COUNTED];
    for (uint8_t i = 0; i < COUNTED; i++) {
        turns[2 * i] = profile | WITH;
        turns[2 * i + 1] = i;
    }
    bench_play(turns, sizeof turns, COUNTED);
}

static void all_motors_turn_together(void)
{
    configure(KIND_STEPPER, COUNTED);
    uint8_t late = bench_status().late;
    uint64_t start = bench_now() + GO_LEAD;
    play_all(TURN);
    CHECK(bench_status().moving == ALL);
    bench_run_ms(50);
    for (unsigned i = 0; i < COUNTED; i++) {
        CHECK(bench_rises(pin_of(i)) == PERIOD);
        for (unsigned step = 0; step < PERIOD; step++) {
            CHECK(bench_rise(pin_of(i), step) == start + 200 * (step + 1));
        }
    }
    struct status status = bench_status();
    CHECK(status.turns_done == COUNTED && status.moving == 0 && status.late == late);
    struct whereabouts told;
    CHECK(commands_whereabouts(&told) == sizeof told);
    for (unsigned i = 0; i < COUNTED; i++) {
        CHECK(told.each[i] == PERIOD);
    }
    CHECK(told.head.known == ALL);
    const struct hello hello = {.version = PROTOCOL_VERSION, .nonce = 1};
    bench_send(1, 0, MESSAGE_HELLO, &hello, sizeof hello);
    bench_clear_sent();
    bench_send(1, 0, MESSAGE_LOCATE, 0, 0); /* has the longest answer of all */
    CHECK(sent_count == 1 && memcmp(sent[0].payload, &told, sizeof told) == 0);
}

/* Each servo has its own slot of the frame. */
static void all_servos_have_their_pulses(void)
{
    configure(KIND_SERVO, COUNTED);
    play_all(SLEW);
    bench_run_ms(300);
    uint64_t first = bench_rise(pin_of(0), 5);
    for (unsigned i = 0; i < COUNTED; i++) {
        unsigned pulse = 5;
        pulse -= bench_rise(pin_of(i), pulse) > first + PROTOCOL_SERVO_FRAME ? 1 : 0;
        uint64_t apart = bench_rise(pin_of(i), pulse) + PROTOCOL_SERVO_FRAME - first;
        CHECK(apart % PROTOCOL_SERVO_FRAME == i * SLOT);
        CHECK(bench_rises(pin_of(i)) >= 14);
    }
    CHECK(bench_status().turns_done == COUNTED);
    bench_command(MESSAGE_RELEASE, 0, 0);
    bench_run_ms(40);
    bench_clear_edges();
    bench_run_ms(100);
    CHECK(edge_count == 0 && bench_status().homed == 0);
}

static void homing_is_aborted_for_all(void)
{
    configure(KIND_SERVO, COUNTED);
    bench_command(MESSAGE_RELEASE, 0, 0);
    bench_home(ALL);
    bench_run_ms(50);
    CHECK(bench_status().state == STATE_HOMING && bench_status().moving == ALL);
    bench_command(MESSAGE_ABORT, 0, 0);
    CHECK(bench_status().state == STATE_IDLE && bench_status().moving == 0);
    bench_run_ms(100);
    CHECK(bench_status().homed == 0 && bench_status().fault == FAULT_NONE);
}

/* A plan cannot start while the motors seek their end stops: each motor has one owner, even on a
 * board whose motors need no homing. */
static void motors_that_home_make_no_turns(void)
{
    static const uint8_t turns[] = {TURN, 0, TURN | WITH, LAST};
    static const struct plan_begin plan = {.plan = 1, .turns = 2};
    struct config_actuator setups[COUNTED];
    configure(KIND_STEPPER, COUNTED);
    for (unsigned i = 0; i < COUNTED; i++) {
        setups[i] = bench_stepper(true);
        setups[i].flags &= (uint8_t)~ACTUATOR_FLAG_MUST_HOME;
        setups[i].pin = pin_of(i);
        setups[i].direction_pin = pin_of(i) + 1;
        setups[i].home_travel = 5;
    }
    inputs[SENSOR_PIN] = true; /* not active */
    bench_configure_as(usual, setups, COUNTED);
    bench_command(MESSAGE_PLAN_BEGIN, &plan, sizeof plan);
    bench_command(MESSAGE_TURNS, turns, sizeof turns);
    bench_home(ALL);
    bench_clear_edges();
    bench_command(MESSAGE_GO, 0, 0);
    CHECK(bench_status().fault == FAULT_BAD_STATE && bench_status().fault_detail == MESSAGE_GO);
    CHECK(stepper_count() == COUNTED && bench_status().moving == ALL);
    bench_run_ms(300);
    for (unsigned i = 0; i < COUNTED; i++) {
        CHECK(bench_rises(pin_of(i)) == 5);
    }
    CHECK(stepper_count() == 0 && bench_status().moving == 0 && bench_status().turns_done == 0);
}

/* Every kind of stop stops all motors, and none turns again before it is homed. */
static void all_stop_at_once(void)
{
    static const uint8_t causes[] = {0, FAULT_EMERGENCY_STOP};
    for (unsigned i = 0; i < COUNT(causes); i++) {
        configure(KIND_STEPPER, COUNTED);
        play_all(SLOW);
        bench_run_ms(45);
        unsigned changes = bench_changes;
        if (causes[i]) {
            safety_stop(causes[i]);
        } else {
            bench_command(MESSAGE_RELEASE, 0, 0);
        }
        CHECK(bench_changes == changes + COUNTED);
        bench_run_ms(1);
        CHECK(bench_status().fault == causes[i] && bench_status().homed == 0);
        CHECK(actuators_mask(actuator_is_placed) == 0 && bench_status().moving == 0);
        bench_run_ms(200);
        for (unsigned actuator = 0; actuator < COUNTED; actuator++) {
            CHECK(bench_rises(pin_of(actuator)) == 2 && !actuators[actuator].powered);
        }
    }
}

/* An index sensor, active low at every hundredth step from home. */
static int where;
static unsigned sensed_pin;
static int left_from, left_to; /* steps between which the sensor releases */
static unsigned wrong;         /* number of wrong readings to give next at rest */

static void turn_disc(uint8_t pin, bool level)
{
    if (pin == sensed_pin && level) {
        where += levels[pin + 1] ? 1 : -1;
    }
    inputs[INDEX_PIN] = where > left_from && where < left_to;
}

static void mislead(uint8_t pin)
{
    if (pin == INDEX_PIN && where == PERIOD && wrong) {
        inputs[INDEX_PIN] = --wrong;
    }
}

static void start_disc(unsigned actuator)
{
    where = 0;
    wrong = 0;
    left_from = 0;
    left_to = PERIOD;
    sensed_pin = pin_of(actuator);
    inputs[INDEX_PIN] = false;
    configure(KIND_STEPPER, actuator);
    on_edge = turn_disc;
}

static void an_index_is_looked_at_wherever_it_is(void)
{
    static const uint8_t places[] = {0, 3, LAST};
    for (unsigned i = 0; i < COUNT(places); i++) {
        for (unsigned jammed = 0; jammed < 2; jammed++) {
            start_disc(places[i]);
            on_edge = jammed ? 0 : turn_disc;
            play_all(TURN);
            bench_run_ms(50);
            struct status status = bench_status();
            CHECK(status.fault == (jammed ? FAULT_NOT_IN_PLACE : FAULT_NONE));
            CHECK(status.fault_detail == (jammed ? places[i] : 0));
            CHECK(status.turns_done == COUNTED - jammed);
            CHECK(status.homed == (jammed ? ALL & ~(1 << places[i]) : ALL));
        }
    }
    on_edge = 0;
}

/* Cancels the turn of the first or the last motor, which has not begun when another fails. */
static void what_has_not_begun_does_not_begin(void)
{
    for (unsigned last = 0; last < 2; last++) {
        uint8_t other = last ? LAST : 0;
        start_disc(last ? 0 : LAST);
        on_edge = 0; /* jammed */
        const uint8_t turns[] = {TURN, last ? 0 : LAST, WITH | SLOW, other};
        bench_play(turns, sizeof turns, 2);
        bench_run_ms(300);
        CHECK(bench_status().fault == FAULT_NOT_IN_PLACE);
        CHECK(bench_rises(pin_of(other)) == 0 && (bench_status().homed & 1 << other) == 0);
    }
}

/* While another motor is stepping, the main loop runs often enough to sample the sensor. */
static void a_sensor_is_looked_at_each_millisecond(void)
{
    start_disc(0);
    const struct step_segment slower[] = {{2000, PERIOD, 0}}, fine[] = {{100, 2200, 0}};
    bench_profile(KIND_STEPPER, slower, 1, 200000);
    bench_profile(KIND_STEPPER, fine, 1, 220000);
    on_edge = 0; /* jammed: the sensor never changes */
    const uint8_t turns[] = {3, 0, WITH | 4, 1};
    bench_play(turns, sizeof turns, 2);
    bench_run_ms(20);
    unsigned reads = bench_reads;
    bench_run_ms(64);
    unsigned looks = (bench_reads - reads) / 3;
    CHECK(looks >= 61 && looks <= 64);
    bench_run_ms(100);
    CHECK(bench_status().fault == FAULT_NOT_IN_PLACE);
}

/* The firmware tolerates two wrong readings in a row, not three. */
static void wrong_readings_are_few(void)
{
    for (unsigned readings = 0; readings <= 3; readings++) {
        start_disc(LAST);
        wrong = readings + 1; /* the last reading is right */
        on_read = mislead;
        const uint8_t turns[] = {TURN, LAST};
        bench_play(turns, sizeof turns, 1);
        bench_run_ms(50);
        on_read = 0;
        CHECK(bench_status().fault == (readings < 3 ? FAULT_NONE : FAULT_NOT_IN_PLACE));
    }
    on_edge = 0;
}

/* Turns to and from positions without a mark, too short to sample the sensor on the way. */
static void short_turns_between_marks_are_in_place(void)
{
    start_disc(0);
    const struct step_segment tiny[] = {{137, 5, 0}};
    bench_profile(KIND_STEPPER, tiny, 1, 685);
    uint8_t turns[2 * 20];
    for (unsigned i = 0; i < sizeof turns; i += 2) {
        turns[i] = 3;
        turns[i + 1] = i % 4 ? TURN_BIT_REVERSE : 0;
    }
    bench_play(turns, sizeof turns, 20);
    bench_run_ms(300);
    CHECK(bench_status().fault == FAULT_NONE && bench_status().turns_done == 20 && where == 0);
    on_edge = 0;
}

/* Home need not be at a mark. The next mark is a known number of steps away. */
static void marks_are_counted_from_a_position(void)
{
    for (int off = -1; off <= 1; off++) {
        struct config_actuator setup = bench_stepper(false);
        setup.pin = pin_of(0);
        setup.direction_pin = pin_of(0) + 1;
        setup.sensor_pin = INDEX_PIN;
        setup.check_period = PERIOD;
        setup.check_position = (int16_t)(20 + off);
        start_disc(0);
        left_from = -81;
        left_to = 20;
        inputs[INDEX_PIN] = true;
        bench_configure_as(usual, &setup, 1);
        bench_home(1);
        const struct step_segment ahead[] = {{200, 20, 0}};
        bench_profile(KIND_STEPPER, ahead, 1, 4000);
        const uint8_t turns[] = {3, 0};
        bench_play(turns, sizeof turns, 1);
        bench_run_ms(50);
        CHECK(where == 20);
        CHECK(bench_status().fault == (off ? FAULT_NOT_IN_PLACE : FAULT_NONE));
    }
    on_edge = 0;
}

int main(void)
{
    all_motors_turn_together();
    all_servos_have_their_pulses();
    homing_is_aborted_for_all();
    motors_that_home_make_no_turns();
    all_stop_at_once();
    an_index_is_looked_at_wherever_it_is();
    what_has_not_begun_does_not_begin();
    a_sensor_is_looked_at_each_millisecond();
    wrong_readings_are_few();
    short_turns_between_marks_are_in_place();
    marks_are_counted_from_a_position();
    return bench_result();
}
