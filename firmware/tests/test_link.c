/* The link as seen on the wire: sessions, order, duplicates, emergency stop, silence. */
#include <string.h>

#include "actuators.h"
#include "bench.h"
#include "board.h"
#include "homing.h"
#include "link.h"
#include "player.h"
#include "safety.h"

#define SESSION 17

static const struct step_segment slow[] = {{20000, 100, 0}};

static void greet(uint8_t session, uint16_t nonce)
{
    struct hello hello = {.version = PROTOCOL_VERSION, .nonce = nonce};
    bench_clear_sent();
    bench_send(session, 0, MESSAGE_HELLO, &hello, sizeof hello);
}

static void open_session(uint8_t session)
{
    greet(session, 0x4321);
}

static const struct frame *last_sent(void)
{
    return &sent[sent_count - 1];
}

static void hello_is_answered(void)
{
    open_session(SESSION);
    CHECK(sent_count == 1 && last_sent()->type == MESSAGE_WELCOME);
    struct welcome welcome;
    memcpy(&welcome, last_sent()->payload, sizeof welcome);
    CHECK(welcome.nonce == 0x4321 && welcome.boot_id == 0x12345678);
    CHECK(last_sent()->session == SESSION && last_sent()->ack == 255);
}

static void run_with_heartbeat(uint8_t session, unsigned ms)
{
    for (; ms >= 50; ms -= 50) {
        bench_run_ms(50);
        bench_send(session, 0, MESSAGE_PING, 0, 0);
    }
}

static struct status last_status(void)
{
    struct status status;
    CHECK(sent_count && last_sent()->type == MESSAGE_STATUS);
    memcpy(&status, last_sent()->payload, sizeof status);
    return status;
}

/* The firmware greets a host that missed its reset and executes none of its messages. */
static void without_a_session_everybody_is_greeted(void)
{
    static const uint8_t others[] = {5, 1, 0};
    for (unsigned i = 0; i < COUNT(others); i++) {
        bench_clear_sent();
        bench_send(others[i], 0, MESSAGE_PING, "\x11", 1);
        CHECK(sent_count == 1 && last_sent()->type == MESSAGE_WELCOME);
        CHECK(last_sent()->session == 0);
    }
    bench_clear_sent();
    bench_configure();
    bench_run_ms(10);
    CHECK(bench_status().state == STATE_IDLE && sent_count == 0); /* no host to report to */
}

static void a_hello_has_its_length_and_a_session(void)
{
    const struct hello hello = {.version = PROTOCOL_VERSION, .nonce = 0x99};
    uint8_t longer[sizeof hello + 1] = {0};
    memcpy(longer, &hello, sizeof hello);
    bench_clear_sent();
    bench_send(3, 0, MESSAGE_HELLO, longer, sizeof longer);
    bench_send(3, 0, MESSAGE_HELLO, longer, sizeof hello - 1);
    bench_send(0, 0, MESSAGE_HELLO, &hello, sizeof hello);
    CHECK(sent_count == 0);
    greet(1, 7);
    CHECK(sent_count == 1 && last_sent()->session == 1);
    bench_clear_sent();
    bench_command(0x55, 0, 0);
    bench_run_ms(10);
    CHECK(sent_count == 1 && last_status().fault == FAULT_BAD_MESSAGE);
    bench_command(MESSAGE_CLEAR, 0, 0);
}

/* The firmware answers each question once. */
static void each_question_is_answered_once(void)
{
    static const uint8_t questions[] = {MESSAGE_PING, MESSAGE_LOCATE, MESSAGE_PING};
    open_session(2);
    for (unsigned i = 0; i < COUNT(questions); i++) {
        bench_clear_sent();
        bench_send(2, 0, questions[i], "\x11", questions[i] == MESSAGE_PING);
        bench_run_ms(50);
        CHECK(sent_count == 1);
    }
    CHECK(last_status().echo == 0x11);
    open_session(3);
    bench_clear_sent();
    bench_send(3, 0, 0x10, 0, 0); /* the lowest sequenced type, with a bad length */
    struct status status = last_status(); /* sent unasked */
    CHECK(status.echo == 0 && status.fault == FAULT_BAD_MESSAGE);
    CHECK(last_sent()->ack == 0);
    bench_command(MESSAGE_CLEAR, 0, 0);
}

/* Delivers a frame while the board's transmit line is busy, so that no answer leaves. */
static void deliver(uint8_t session, uint8_t seq, uint8_t type, const void *payload, uint8_t length)
{
    struct frame frame = {.session = session, .seq = seq, .type = type};
    uint8_t encoded[FRAME_MAX + 2];
    memcpy(frame.payload, payload, length);
    uint8_t size = cobs_encode(&frame.session, frame_seal(&frame, length), encoded);
    for (uint8_t i = 0; i < size; i++) {
        link_receive(encoded[i]);
    }
    for (unsigned round = 0; round < 4; round++) {
        link_poll();
    }
}

/* A new answer does not overwrite the one being sent. A status also acknowledges. */
static void an_answer_under_way_is_ended(void)
{
    open_session(4);
    bench_clear_sent();
    deliver(4, 0, MESSAGE_PING, "\x21", 1);
    deliver(4, 0, MESSAGE_CLEAR, "", 0);
    deliver(4, 0, MESSAGE_PING, "\x22", 1);
    bench_run_ms(20);
    CHECK(sent_count == 2);
    struct status status;
    memcpy(&status, sent[0].payload, sizeof status);
    CHECK(sent[0].type == MESSAGE_STATUS && status.echo == 0x21 && sent[0].ack == 255);
    CHECK(last_status().echo == 0x22 && last_sent()->ack == 0);
}

static uint16_t bad_frames(uint8_t session)
{
    bench_clear_sent();
    bench_send(session, 0, MESSAGE_PING, "", 1);
    return last_status().bad_frames;
}

static void blocks_that_are_no_frames_are_counted(void)
{
    static const uint8_t bytes[FRAME_MAX + 40] = {1}, one[] = {1, 0};
    uint8_t noise[sizeof bytes];
    open_session(5);
    uint16_t before = bad_frames(5);
    bench_bytes((const uint8_t *)"\0\0\0", 3); /* empty blocks */
    CHECK(bad_frames(5) == before);
    bench_bytes(one, sizeof one);
    CHECK(bad_frames(5) == (uint16_t)(before + 1));
    memset(noise, 3, sizeof noise);
    bench_bytes(noise, sizeof noise); /* too long, but still one block */
    bench_bytes((const uint8_t *)"", 1);
    CHECK(bad_frames(5) == (uint16_t)(before + 2));
}

/* A repeated Hello counts as a sign of life. */
static void a_greeting_is_heard(void)
{
    static const uint8_t turns[] = {0, 2};
    open_session(6);
    run_with_heartbeat(6, 1200);
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure();
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_STEPPER, slow, 1, 2000000);
    bench_home(1 << 2);
    bench_play(turns, sizeof turns, 1);
    for (unsigned i = 0; i < 5; i++) {
        bench_run_ms(150);
        open_session(6);
    }
    CHECK(bench_status().state == STATE_RUNNING);
    bench_command(MESSAGE_ABORT, 0, 0);
    run_with_heartbeat(6, 1200);
    CHECK(bench_status().state == STATE_IDLE);
}

/* The stop pattern counts from its first byte, even right after a partial match. */
static void a_stop_is_seen_behind_its_own_beginning(void)
{
    static const uint8_t pattern[] = PROTOCOL_STOP_PATTERN;
    uint8_t doubled[sizeof pattern + 1];
    doubled[0] = pattern[0];
    memcpy(doubled + 1, pattern, sizeof pattern);
    open_session(7);
    bench_command(MESSAGE_CLEAR, 0, 0);
    for (unsigned time = 0; time < 2; time++) {
        doubled[0] = doubled[1] = pattern[1];
        bench_bytes(doubled, sizeof doubled); /* its second byte does not start a match */
        bench_bytes((const uint8_t *)"", 1);
        CHECK(bench_status().fault == FAULT_NONE);
        doubled[0] = doubled[1] = pattern[0];
        bench_bytes(doubled, sizeof doubled);
        CHECK(bench_status().fault == FAULT_EMERGENCY_STOP);
        bench_command(MESSAGE_CLEAR, 0, 0);
        bench_bytes(pattern + 1, sizeof pattern - 1); /* nor does a complete match */
        bench_bytes((const uint8_t *)"", 1);
        CHECK(bench_status().fault == FAULT_NONE);
    }
}

/* Sends a Clear, which changes nothing here, and returns its acknowledgement. */
static uint8_t ack_after(uint8_t session, uint8_t seq)
{
    bench_clear_sent();
    bench_send(session, seq, MESSAGE_CLEAR, 0, 0);
    return sent_count ? last_sent()->ack : 0xee;
}

static void frames_are_taken_in_order_only(void)
{
    CHECK(ack_after(SESSION, 0) == 0);
    CHECK(ack_after(SESSION, 2) == 0); /* number 1 is missing */
    CHECK(ack_after(SESSION, 1) == 1);
    CHECK(ack_after(SESSION, 1) == 1); /* repeated */
    CHECK(ack_after(SESSION, 0) == 1);
    CHECK(ack_after(SESSION + 1, 2) == 0xee); /* another session: no answer */
    for (unsigned seq = 2; seq < 600; seq++) {
        CHECK(ack_after(SESSION, (uint8_t)seq) == (uint8_t)seq);
    }
}

static void a_repeated_hello_keeps_the_session(void)
{
    open_session(SESSION);
    CHECK(last_sent()->ack == (uint8_t)599);
    open_session(SESSION + 1);
    CHECK(last_sent()->ack == 255);
}

static void another_host_with_the_same_number_begins_anew(void)
{
    CHECK(ack_after(SESSION + 1, 0) == 0);
    greet(SESSION + 1, 0x1234);
    CHECK(last_sent()->ack == 255);
    CHECK(ack_after(SESSION + 1, 0) == 0);
}

static void start_turning(uint8_t session)
{
    open_session(session);
    run_with_heartbeat(session, 1200); /* lets motion from an earlier session end */
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure();
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_STEPPER, slow, 1, 2000000);
    bench_home(1 << 0 | 1 << 2);
    run_with_heartbeat(session, 200);
    const uint8_t turns[] = {0, 2, 0, 2};
    bench_clear_edges();
    bench_play(turns, sizeof turns, 2);
    bench_run_ms(105);
    CHECK(bench_rises(STEP2_PIN) == 10);
}

static void emergency_stop_ends_all_steps(void)
{
    static const uint8_t pattern[] = PROTOCOL_STOP_PATTERN;
    start_turning(20);
    const uint8_t half_frame[] = {9, 1, 2, 3};
    bench_bytes(half_frame, sizeof half_frame);
    bench_bytes(pattern, sizeof pattern);
    bench_run_ms(500);
    bench_bytes((const uint8_t *)"", 1); /* ends the block that began before the stop */
    CHECK(bench_rises(STEP2_PIN) == 10);
    struct status status = bench_status();
    CHECK(status.fault == FAULT_EMERGENCY_STOP && status.homed == 0 && status.moving == 0);
    CHECK(actuators_mask(actuator_is_placed) == 0);
    bench_clear_edges();
    bench_run_ms(100);
    CHECK(bench_rises(SERVO_PIN) == 0); /* its safe state is off */
}

static void an_emergency_stop_is_told_rather_than_what_was_before(void)
{
    static const uint8_t pattern[] = PROTOCOL_STOP_PATTERN;
    start_turning(25);
    bench_command(0x55, 0, 0);
    CHECK(bench_status().fault == FAULT_BAD_STATE && bench_status().fault_detail == 0x55);
    bench_bytes(pattern, sizeof pattern);
    bench_run_ms(1);
    CHECK(bench_status().fault == FAULT_EMERGENCY_STOP && bench_status().fault_detail == 0);
    bench_command(MESSAGE_CLEAR, 0, 0);
    CHECK(bench_status().state == STATE_IDLE);
    bench_run_ms(300);
    CHECK(bench_status().fault == FAULT_NONE && bench_rises(STEP2_PIN) == 10);
}

/* Sends a Clear from a host that has learned of `stops` stops. */
static void clear_after(uint8_t session, uint8_t seq, uint8_t stops)
{
    struct frame clear = {.session = session, .seq = seq, .ack = stops, .type = MESSAGE_CLEAR};
    uint8_t encoded[FRAME_MAX + 2];
    bench_bytes(encoded, cobs_encode(&clear.session, frame_seal(&clear, 0), encoded));
}

/* A host sends a frame again until it is acknowledged, even after a stop that it has not learned
 * of. */
static void a_frame_from_before_a_stop_is_dropped(void)
{
    static const uint8_t pattern[] = PROTOCOL_STOP_PATTERN;
    start_turning(30);
    for (uint8_t stops = 1; stops <= 2; stops++) {
        bench_bytes(pattern, sizeof pattern);
        bench_run_ms(1);
        for (uint8_t before = 0; before < stops; before++) {
            clear_after(30, 0, before);
            CHECK(bench_status().fault == FAULT_EMERGENCY_STOP);
        }
        CHECK(last_sent()->ack == 255 && last_sent()->seq == stops);
    }
    clear_after(30, 0, 2);
    CHECK(bench_status().fault == FAULT_NONE && last_sent()->ack == 0);
}

static void a_stop_needs_no_round_of_the_main_loop(void)
{
    start_turning(28);
    CHECK(actuators[2].motor.stepper.active);
    safety_stop(FAULT_EMERGENCY_STOP);
    CHECK(!actuators[2].motor.stepper.active);
    bench_run_ms(1);
}

/* The receive interrupt may occur after the main loop's check and before it starts a motion. */
static void a_stop_comes_before_whatever_is_about_to_start(void)
{
    start_turning(29);
    static const uint8_t turns[] = {0, 2};
    bench_command(MESSAGE_ABORT, 0, 0);
    run_with_heartbeat(29, 2500);
    CHECK(bench_status().state == STATE_IDLE);
    const struct plan_begin begin = {.plan = 8, .turns = 1};
    bench_command(MESSAGE_PLAN_BEGIN, &begin, sizeof begin);
    bench_command(MESSAGE_TURNS, turns, sizeof turns);
    player_go();
    safety_stop(FAULT_EMERGENCY_STOP);
    player_poll();
    CHECK(!actuators[2].motor.stepper.active);
    bench_run_ms(1);
    CHECK(bench_status().fault == FAULT_EMERGENCY_STOP);

    inputs[SENSOR_PIN] = true; /* not pressed */
    bench_home_travel = 40000; /* needs two motions */
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure();
    bench_home(1 << 1);
    run_with_heartbeat(29, 50);
    CHECK(actuators[1].motor.stepper.active);
    safety_stop(FAULT_EMERGENCY_STOP);
    homing_poll();
    CHECK(!actuators[1].motor.stepper.active);
    bench_run_ms(1);
    CHECK(bench_status().fault == FAULT_EMERGENCY_STOP);
    bench_home_travel = 500;
}

static void what_is_released_does_not_go_on(void)
{
    start_turning(26);
    bench_command(MESSAGE_RELEASE, 0, 0);
    CHECK(bench_status().state == STATE_IDLE && bench_status().homed == 0);
    run_with_heartbeat(26, 2500);
    CHECK(bench_status().state == STATE_IDLE && bench_rises(STEP2_PIN) == 10);
    CHECK(bench_status().free == BOARD_QUEUE_BYTES);
    bench_command(MESSAGE_GO, 0, 0); /* no plan is left to resume */
    CHECK(bench_status().fault == FAULT_BAD_STATE);
    bench_command(MESSAGE_CLEAR, 0, 0);
}

static void silence_ends_homing(void)
{
    start_turning(27);
    bench_command(MESSAGE_RELEASE, 0, 0);
    run_with_heartbeat(27, 50);
    inputs[SENSOR_PIN] = true; /* not pressed */
    bench_clear_edges();
    bench_home(1 << 1);
    run_with_heartbeat(27, 100);
    CHECK(bench_status().state == STATE_HOMING && bench_rises(STEP_PIN) > 0);
    bench_run_ms(250);
    unsigned steps = bench_rises(STEP_PIN);
    bench_run_ms(200);
    CHECK(bench_rises(STEP_PIN) == steps && bench_status().moving == 0);
    CHECK(bench_status().homed == 0 && actuators[1].powered);
    bench_run_ms(1000);
    CHECK(bench_status().fault == FAULT_HOST_LOST && !actuators[1].powered);
}

static void almost_an_emergency_stop_is_none(void)
{
    uint8_t pattern[] = PROTOCOL_STOP_PATTERN;
    start_turning(21);
    for (unsigned bit = 0; bit < sizeof pattern * 8; bit++) {
        pattern[bit / 8] ^= (uint8_t)(1u << bit % 8);
        bench_bytes(pattern, sizeof pattern);
        pattern[bit / 8] ^= (uint8_t)(1u << bit % 8);
        bench_bytes((const uint8_t *)"", 1);
    }
    CHECK(bench_status().fault == FAULT_NONE);
}

static void silence_holds_and_then_makes_safe(void)
{
    start_turning(22);
    bench_run_ms(250);
    CHECK(bench_status().state == STATE_HOLDING && bench_status().fault == FAULT_NONE);
    bench_run_ms(700); /* 1.3 s: the first turn has ended, the second has not begun */
    CHECK(bench_rises(STEP2_PIN) <= 100);
    bench_run_ms(500);
    CHECK(bench_status().fault == FAULT_HOST_LOST && bench_status().state == STATE_FAULT);
    CHECK(bench_status().fault_detail == 0);
    CHECK(bench_rises(STEP2_PIN) <= 100);
    CHECK(!levels[ENABLE_PIN]); /* the motor whose safe state is to hold keeps its power */
}

static void a_new_session_drops_the_plan(void)
{
    start_turning(23);
    open_session(24);
    run_with_heartbeat(24, 2000);
    CHECK(bench_rises(STEP2_PIN) == 100);
    CHECK(bench_status().state == STATE_IDLE && bench_status().turns_done == 1);
}

/* The firmware reports a change of fault unasked, and reports it once. */
static void a_fault_is_told_once(void)
{
    open_session(SESSION);
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_configure();
    bench_run_ms(50);
    bench_clear_sent();
    const uint8_t turns[] = {0, 1}; /* not homed */
    bench_play(turns, sizeof turns, 1);
    for (unsigned ms = 0; ms < 100; ms++) {
        bench_run_ms(1);
    }
    unsigned faulty = 0;
    for (unsigned i = 0; i < sent_count; i++) {
        struct status status;
        memcpy(&status, sent[i].payload, sizeof status);
        faulty += sent[i].type == MESSAGE_STATUS && status.fault != FAULT_NONE;
    }
    CHECK(faulty == 1);
    bench_command(MESSAGE_CLEAR, 0, 0);
}

static void garbage_is_counted_and_forgotten(void)
{
    open_session(25);
    uint16_t before = bench_status().bad_frames;
    uint8_t noise[500];
    uint32_t state = 1;
    for (unsigned i = 0; i < sizeof noise; i++) {
        state = state * 1664525u + 1013904223u;
        noise[i] = (uint8_t)(state >> 24);
    }
    bench_bytes(noise, sizeof noise);
    bench_bytes((const uint8_t *)"", 1);
    CHECK(ack_after(25, 0) == 0);
    bench_clear_sent();
    bench_send(25, 0, MESSAGE_PING, 0, 0);
    struct status status;
    memcpy(&status, last_sent()->payload, sizeof status);
    CHECK(last_sent()->type == MESSAGE_STATUS && status.bad_frames > before);
}

static uint8_t lost_as_told(uint8_t seq)
{
    struct status status;
    bench_run_ms(1); /* handles the received bytes */
    bench_bytes((const uint8_t *)"", 1);
    bench_clear_sent();
    bench_send(26, seq, MESSAGE_PING, 0, 0);
    CHECK(sent_count);
    memcpy(&status, sent[0].payload, sizeof status);
    return status.lost_bytes;
}

/* Bytes that arrive faster than the main loop handles them. The count saturates. */
static void bytes_without_room_are_counted(void)
{
    open_session(26);
    uint8_t before = lost_as_told(0);
    for (unsigned i = 0; i < BOARD_RX_BYTES + 9; i++) {
        link_receive(1);
    }
    CHECK(lost_as_told(1) == before + 10); /* one place stays free */
    for (unsigned i = 0; i < BOARD_RX_BYTES + 300; i++) {
        link_receive(1);
    }
    CHECK(lost_as_told(2) == UINT8_MAX);
}

int main(void)
{
    without_a_session_everybody_is_greeted();
    a_hello_has_its_length_and_a_session();
    each_question_is_answered_once();
    an_answer_under_way_is_ended();
    blocks_that_are_no_frames_are_counted();
    a_greeting_is_heard();
    a_stop_is_seen_behind_its_own_beginning();
    hello_is_answered();
    frames_are_taken_in_order_only();
    a_repeated_hello_keeps_the_session();
    another_host_with_the_same_number_begins_anew();
    emergency_stop_ends_all_steps();
    an_emergency_stop_is_told_rather_than_what_was_before();
    a_frame_from_before_a_stop_is_dropped();
    a_stop_comes_before_whatever_is_about_to_start();
    a_stop_needs_no_round_of_the_main_loop();
    what_is_released_does_not_go_on();
    silence_ends_homing();
    almost_an_emergency_stop_is_none();
    silence_holds_and_then_makes_safe();
    a_new_session_drops_the_plan();
    a_fault_is_told_once();
    garbage_is_counted_and_forgotten();
    bytes_without_room_are_counted();
    return bench_result();
}
