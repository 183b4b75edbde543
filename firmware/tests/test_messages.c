/* Messages: the states and forms in which the board accepts them, and every field of its
 * answers. */
#include <string.h>

#include "bench.h"
#include "board.h"
#include "commands.h"

#define SESSION 40
#define ALL_HOMED (1 << 0 | 1 << 2)

static const struct step_segment run[] = {{20000, 10, 0}};
static const uint8_t turns[] = {0, 2, 0, 2};
static uint8_t payload[FRAME_MAX]; /* all zeros */
static uint16_t config_crc;

static void configure(void)
{
    const struct config_begin begin = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
    const struct config_actuator setups[] = {bench_servo(), bench_stepper(true),
                                             bench_stepper(false)};
    config_crc = bench_configure_as(begin, setups, COUNT(setups));
}

/* Homes the board and uploads a profile and a plan, without starting it. */
static void get_ready(void)
{
    bench_command(MESSAGE_ABORT, 0, 0);
    bench_run_ms(2000);
    bench_command(MESSAGE_CLEAR, 0, 0);
    configure();
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_STEPPER, run, 1, 200000);
    bench_home(ALL_HOMED);
    bench_run_ms(150);
    bench_clear_edges();
    const struct plan_begin begin = {.plan = 7, .turns = 2};
    bench_command(MESSAGE_PLAN_BEGIN, &begin, sizeof begin);
    bench_command(MESSAGE_TURNS, turns, sizeof turns);
    CHECK(bench_status().fault == FAULT_NONE && bench_status().homed == ALL_HOMED);
}

/* Each message, its length if fixed, and whether the board accepts it while motors turn. */
static const struct {
    uint8_t type;
    uint8_t size;
    bool while_turning;
} messages[] = {
    {MESSAGE_CONFIG_BEGIN, sizeof(struct config_begin), false},
    {MESSAGE_CONFIG_ACTUATOR, sizeof(struct config_actuator), false},
    {MESSAGE_CONFIG_END, sizeof(struct config_end), false},
    {MESSAGE_CLEAR_PROFILES, 0, false},
    {MESSAGE_PROFILE_BEGIN, sizeof(struct profile_begin), false},
    {MESSAGE_PLAN_BEGIN, sizeof(struct plan_begin), false},
    {MESSAGE_GO, 0, true},
    {MESSAGE_HOLD, 0, true},
    {MESSAGE_ABORT, 0, true},
    {MESSAGE_GO_AT, sizeof(struct go_at), false},
    {MESSAGE_HOME, sizeof(struct home), false},
    {MESSAGE_CLEAR, 0, true},
    {MESSAGE_RELEASE, 0, true},
    {MESSAGE_POWER_DOWN, sizeof(struct power_down), false},
};

static void a_wrong_length_is_named_with_its_message(void)
{
    for (unsigned i = 0; i < COUNT(messages); i++) {
        for (int off = messages[i].size ? -1 : 1; off <= 1; off += 2) {
            get_ready();
            bench_command(messages[i].type, payload, (uint8_t)(messages[i].size + off));
            struct status status = bench_status();
            CHECK(status.fault == FAULT_BAD_MESSAGE && status.fault_detail == messages[i].type);
            CHECK(status.homed == ALL_HOMED && status.state == STATE_FAULT);
        }
    }
    get_ready();
    bench_command(MESSAGE_TURNS, payload, 0);
    CHECK(bench_status().fault == FAULT_BAD_MESSAGE);
    get_ready();
    bench_command(0x7e, payload, 0);
    CHECK(bench_status().fault == FAULT_BAD_MESSAGE && bench_status().fault_detail == 0x7e);
}

/* The board rejects all turns of a message if any of them is bad, at any place. */
static void turns_must_be_whole(void)
{
    static const struct {
        uint8_t bytes[9];
        uint8_t length;
        bool whole;
    } rows[] = {
        {{0, 2, 0xc0, 2, 1, 2, 3}, 7, true},
        {{0xc0, 2, 1, 2, 3, 0, 2}, 7, true},
        {{0, 2, 0}, 3, false},
        {{0}, 1, false},
        {{0, 2, 0xc0, 2}, 4, false},
        {{0, 2, 0xc0, 2, 1, 2}, 6, false},
        {{0, 2, 0, 0x20}, 4, false},
        {{0, 0x20, 0, 2}, 4, false},
        {{0, 2, 0xc0, 2, 1, 2, 3, 0, 0x80}, 9, false},
    };
    for (unsigned i = 0; i < COUNT(rows); i++) {
        get_ready();
        const struct plan_begin begin = {.plan = 1, .turns = 9};
        bench_command(MESSAGE_PLAN_BEGIN, &begin, sizeof begin);
        bench_command(MESSAGE_TURNS, rows[i].bytes, rows[i].length);
        CHECK(bench_status().fault == (rows[i].whole ? FAULT_NONE : FAULT_BAD_MESSAGE));
        CHECK(bench_status().fault_detail == (rows[i].whole ? 0 : MESSAGE_TURNS));
        CHECK(bench_status().free == BOARD_QUEUE_BYTES - (rows[i].whole ? rows[i].length : 0));
    }
}

/* Turns queued for the old actuators must not move the new ones. */
static void a_new_configuration_forgets_the_plan(void)
{
    get_ready();
    configure();
    CHECK(bench_status().free == BOARD_QUEUE_BYTES && bench_status().homed == 0);
    bench_home(ALL_HOMED);
    bench_run_ms(150);
    bench_command(MESSAGE_GO, 0, 0);
    CHECK(bench_status().fault == FAULT_BAD_STATE && bench_status().fault_detail == MESSAGE_GO);
}

static void what_a_moving_robot_relies_on_is_not_changed(void)
{
    for (unsigned i = 0; i < COUNT(messages); i++) {
        get_ready();
        bench_command(MESSAGE_GO, 0, 0);
        bench_run_ms(30);
        CHECK(bench_status().moving == 1 << 2);
        bench_command(messages[i].type, payload, messages[i].size);
        struct status status = bench_status();
        CHECK(status.fault == (messages[i].while_turning ? FAULT_NONE : FAULT_BAD_STATE));
        CHECK(!status.fault || status.fault_detail == messages[i].type);
    }
}

/* Homing owns the actuators it moves: no plan starts, and no data it uses changes. */
static void homing_shares_nothing_with_a_plan(void)
{
    for (unsigned i = 0; i < COUNT(messages); i++) {
        get_ready();
        bench_home(1 << 1);
        bench_run_ms(30);
        CHECK(bench_status().state == STATE_HOMING);
        bench_clear_edges();
        bench_command(messages[i].type, payload, messages[i].size);
        bool allowed = messages[i].while_turning && messages[i].type != MESSAGE_GO;
        CHECK(bench_status().fault == (allowed ? FAULT_NONE : FAULT_BAD_STATE));
        CHECK(allowed || bench_status().fault_detail == messages[i].type);
        bench_run_ms(100);
        CHECK(bench_rises(STEP2_PIN) == 0 && bench_status().turns_done == 0);
    }
}

/* A dropped plan never resumes, no matter how it was dropped. */
static void a_dropped_plan_does_not_go_on(void)
{
    static const uint8_t dropping[] = {MESSAGE_ABORT, 0x7e};
    static const uint8_t types[] = {MESSAGE_GO, MESSAGE_GO_AT};
    static const uint8_t sizes[] = {0, sizeof(struct go_at)};
    for (unsigned i = 0; i < COUNT(dropping) * COUNT(types); i++) {
        get_ready();
        bench_command(MESSAGE_GO, 0, 0);
        bench_run_ms(30);
        bench_command(dropping[i / 2], 0, 0);
        bench_command(MESSAGE_CLEAR, 0, 0);
        CHECK(bench_status().moving == 1 << 2 && bench_status().fault == FAULT_NONE);
        bench_command(types[i % 2], payload, sizes[i % 2]);
        CHECK(bench_status().fault == FAULT_BAD_STATE);
        CHECK(bench_status().fault_detail == types[i % 2]);
        bench_run_ms(300);
        CHECK(bench_status().turns_done == 1 && bench_rises(STEP2_PIN) == 10);
    }
}

/* During a fault the board acknowledges all messages, but executes only those that end motion or
 * the fault. */
static void a_fault_bars_everything_else(void)
{
    for (unsigned i = 0; i < COUNT(messages); i++) {
        get_ready();
        bench_command(0x7e, payload, 0);
        CHECK(bench_command(messages[i].type, payload, messages[i].size));
        struct status status = bench_status();
        bool cleared = messages[i].type == MESSAGE_CLEAR;
        CHECK(status.fault == (cleared ? FAULT_NONE : FAULT_BAD_MESSAGE));
        CHECK(status.fault_detail == (cleared ? 0 : 0x7e));
        CHECK(status.homed == (messages[i].type == MESSAGE_RELEASE ? 0 : ALL_HOMED));
        CHECK(status.moving == 0);
    }
}

static void what_has_no_configuration_does_not_move(void)
{
    static const uint8_t types[] = {MESSAGE_GO, MESSAGE_GO_AT, MESSAGE_HOME};
    static const uint8_t sizes[] = {0, sizeof(struct go_at), sizeof(struct home)};
    for (unsigned i = 0; i < COUNT(types); i++) {
        get_ready();
        const struct config_begin begin = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
        bench_command(MESSAGE_CONFIG_BEGIN, &begin, sizeof begin);
        CHECK(bench_status().state == STATE_UNCONFIGURED);
        const struct plan_begin plan = {.plan = 1, .turns = 2};
        bench_command(MESSAGE_PLAN_BEGIN, &plan, sizeof plan);
        bench_command(types[i], payload, sizes[i]);
        CHECK(bench_status().fault == FAULT_BAD_STATE);
    }
    get_ready(); /* a complete configuration takes no more actuators and stays valid */
    const struct config_actuator more = bench_stepper(false);
    bench_command(MESSAGE_CONFIG_ACTUATOR, &more, sizeof more);
    CHECK(bench_status().fault == FAULT_BAD_STATE);
    bench_command(MESSAGE_CLEAR, 0, 0);
    CHECK(bench_status().state == STATE_IDLE);
    struct config_end end = {.crc = (uint16_t)(config_crc + 1)};
    bench_command(MESSAGE_CONFIG_END, &end, sizeof end);
    CHECK(bench_status().fault == FAULT_CONFIG_CRC);
    bench_command(MESSAGE_CLEAR, 0, 0);
    CHECK(bench_status().state == STATE_UNCONFIGURED);
}

/* GO fails if no turns are left. */
static void an_empty_or_ended_plan_is_not_started(void)
{
    static const uint8_t types[] = {MESSAGE_GO, MESSAGE_GO_AT};
    static const uint8_t sizes[] = {0, sizeof(struct go_at)};
    for (unsigned i = 0; i < COUNT(types); i++) {
        get_ready();
        const struct plan_begin none = {.plan = 1, .turns = 0};
        bench_command(MESSAGE_PLAN_BEGIN, &none, sizeof none);
        bench_command(types[i], payload, sizes[i]);
        CHECK(bench_status().fault == FAULT_BAD_STATE);
        get_ready();
        bench_command(MESSAGE_GO, 0, 0);
        bench_run_ms(300);
        CHECK(bench_status().turns_done == 2 && bench_status().state == STATE_IDLE);
        bench_command(types[i], payload, sizes[i]);
        CHECK(bench_status().fault == FAULT_BAD_STATE);
    }
}

static const struct frame *answer_to(uint8_t type, const void *asked, uint8_t length)
{
    bench_clear_sent();
    bench_send(SESSION, 0, type, asked, length);
    CHECK(sent_count > 0);
    return &sent[sent_count - 1];
}

static void greet(void)
{
    const struct hello hello = {.version = PROTOCOL_VERSION, .nonce = 0x4567};
    const struct frame *answer = answer_to(MESSAGE_HELLO, &hello, sizeof hello);
    CHECK(answer->type == MESSAGE_WELCOME && answer->session == SESSION);
    struct welcome told;
    memcpy(&told, answer->payload, sizeof told);
    const struct welcome right = {.version = PROTOCOL_VERSION,
                                  .nonce = 0x4567,
                                  .boot_id = board_boot_id(),
                                  .config_crc = config_crc,
                                  .board = BOARD_ID,
                                  .major = PROTOCOL_FIRMWARE_MAJOR,
                                  .minor = PROTOCOL_FIRMWARE_MINOR,
                                  .patch = PROTOCOL_FIRMWARE_PATCH,
                                  .profile_units = BOARD_PROFILE_UNITS,
                                  .queue_bytes = BOARD_QUEUE_BYTES,
                                  .rate_one = BOARD_RATE_ONE / PROTOCOL_RATE_UNIT,
                                  .rate_two = BOARD_RATE_TWO / PROTOCOL_RATE_UNIT,
                                  .rate_six = BOARD_RATE_SIX / PROTOCOL_RATE_UNIT,
                                  .reset_cause = RESET_CAUSE_WATCHDOG};
    CHECK(memcmp(&told, &right, sizeof right) == 0);
    memset(&told, 0xa5, sizeof told);
    commands_welcome(&told);
    told.nonce = right.nonce; /* the link fills this in */
    CHECK(memcmp(&told, &right, sizeof right) == 0);
}

static void what_it_is_is_told_whole(void)
{
    const struct config_begin begin = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
    get_ready();
    greet();
    bench_command(MESSAGE_CONFIG_BEGIN, &begin, sizeof begin);
    config_crc = 0; /* none */
    greet();
}

static void its_state_is_told_whole(void)
{
    get_ready();
    greet();
    get_ready();
    inputs[SENSOR_PIN] = false; /* active */
    struct status before = bench_status();
    CHECK(before.free == BOARD_QUEUE_BYTES - sizeof turns && before.turns_done == 0);
    bench_command(MESSAGE_GO, 0, 0);
    bench_run_ms(110);
    bench_command(MESSAGE_HOLD, 0, 0);
    const uint8_t echo = 0xa5;
    struct status told;
    const struct frame *answer = answer_to(MESSAGE_PING, &echo, 1);
    CHECK(answer->type == MESSAGE_STATUS);
    memcpy(&told, answer->payload, sizeof told);
    const struct status right = {.state = STATE_HOLDING,
                                 .homed = ALL_HOMED,
                                 .moving = 1 << 2,
                                 .plan = 7,
                                 .turns_done = 1,
                                 .executed = 200000,
                                 .free = BOARD_QUEUE_BYTES,
                                 .underruns = before.underruns,
                                 .late = before.late,
                                 .bad_frames = 0,
                                 .held = before.held,
                                 .sensors = 1 << 1,
                                 .echo = echo,
                                 .now = (uint32_t)bench_now()};
    CHECK(memcmp(&told, &right, sizeof right) == 0);
    inputs[SENSOR_PIN] = true;
}

/* The board reports positions while it knows them: at home and after a turn, not after a stop. */
static void places_are_told_as_long_as_they_are_known(void)
{
    static const uint8_t stop[] = PROTOCOL_STOP_PATTERN;
    get_ready();
    greet();
    get_ready();
    bench_command(MESSAGE_GO, 0, 0);
    bench_run_ms(130);
    for (unsigned stopped = 0; stopped < 2; stopped++) {
        const struct frame *answer = answer_to(MESSAGE_LOCATE, 0, 0);
        struct whereabouts told;
        memcpy(&told, answer->payload, sizeof told);
        CHECK(answer->type == MESSAGE_POSITIONS);
        CHECK(told.head.config_crc == config_crc);
        CHECK(told.head.known == (stopped ? 0 : ALL_HOMED));
        CHECK(told.each[0] == 3000 && told.each[1] == 0 && told.each[2] == 20);
        bench_bytes(stop, sizeof stop);
        bench_bytes((const uint8_t *)"", 1);
    }
    bench_command(MESSAGE_CLEAR, 0, 0);
    const struct config_begin begin = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
    bench_command(MESSAGE_CONFIG_BEGIN, &begin, sizeof begin);
    struct whereabouts told;
    CHECK(commands_whereabouts(&told) == sizeof told.head);
    CHECK(told.head.config_crc == 0 && told.head.known == 0);
}

int main(void)
{
    inputs[SENSOR_PIN] = true; /* not active */
    a_wrong_length_is_named_with_its_message();
    turns_must_be_whole();
    a_new_configuration_forgets_the_plan();
    what_a_moving_robot_relies_on_is_not_changed();
    homing_shares_nothing_with_a_plan();
    a_dropped_plan_does_not_go_on();
    a_fault_bars_everything_else();
    what_has_no_configuration_does_not_move();
    an_empty_or_ended_plan_is_not_started();
    what_it_is_is_told_whole();
    its_state_is_told_whole();
    places_are_told_as_long_as_they_are_known();
    return bench_result();
}
