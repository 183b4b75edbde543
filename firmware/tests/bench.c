#include "bench.h"

#include <stdio.h>
#include <string.h>

#include "board.h"
#include "commands.h"
#include "events.h"
#include "firmware.h"
#include "link.h"
#include "timer.h"

#define MAX_EDGES 200000
#define MAX_SENT 4096
#define MAX_SET_PULSES 20000

struct edge edges[MAX_EDGES];
unsigned edge_count;
bool levels[PIN_COUNT];
bool inputs[PIN_COUNT];
uint32_t silent_ms;
struct set_pulse set_pulses[MAX_SET_PULSES];
unsigned set_pulse_count;
bool bench_pulses_fail;
bool bench_is_late;
void (*on_edge)(uint8_t pin, bool level);
struct frame sent[MAX_SENT];
unsigned sent_count;
bool bench_check_turns;
uint16_t bench_guard;
uint16_t bench_elapsed;
unsigned bench_reads;
uint32_t bench_released;
unsigned bench_changes;
void (*on_read)(uint8_t pin);
uint32_t bench_home_travel = 500;

struct board_steps board_steps = {"atmega328p", PROTOCOL_MIN_INTERVAL_ATMEGA328P,
                                  PROTOCOL_RATE_ONE_ATMEGA328P, PROTOCOL_RATE_TWO_ATMEGA328P,
                                  PROTOCOL_RATE_SIX_ATMEGA328P};
uint8_t (*on_datagram)(const uint8_t *bytes, uint8_t length, uint8_t *answer);

static uint64_t now;
static uint8_t wire[16]; /* of the stepper drivers: the echo of a datagram, and the answer */
static unsigned wire_taken;
static unsigned wire_length;
static uint64_t next_event = TIMER_IDLE;
static int locks;
static unsigned failures;

static void change(uint8_t pin, bool level)
{
    if (levels[pin] == level) {
        return;
    }
    levels[pin] = level;
    if (edge_count < MAX_EDGES) {
        edges[edge_count++] = (struct edge){now, pin, level};
    }
    if (on_edge) {
        on_edge(pin, level);
    }
}

bool board_has_pin(uint8_t number)
{
    return number < PIN_COUNT;
}

board_pin board_output(uint8_t number, bool level)
{
    change(number, level);
    return number;
}

board_pin board_open_servo(uint8_t number, bool level)
{
    return board_output(number, level);
}

uint8_t board_set_pulse(uint8_t number, uint16_t ticks)
{
    if (!bench_pulses_fail && set_pulse_count < MAX_SET_PULSES) {
        set_pulses[set_pulse_count++] = (struct set_pulse){now, number, ticks};
    }
    return bench_pulses_fail ? FAULT_PULSE_FAILED : FAULT_NONE;
}

bool board_is_late(void)
{
    return bench_is_late;
}

board_pin board_input(uint8_t number)
{
    return number;
}

void board_release(uint8_t number)
{
    CHECK(number < PIN_COUNT);
    bench_released |= 1u << number;
    change(number, false);
}

void board_high(board_pin pin)
{
    change(pin, true);
}

void board_low(board_pin pin)
{
    change(pin, false);
}

void board_end_pulse(board_pin pin)
{
    change(pin, false);
}

bool board_read(board_pin pin)
{
    bench_reads++;
    if (on_read) {
        on_read(pin);
    }
    return inputs[pin];
}

bool board_drivers_open(void)
{
    return true;
}

void board_drivers_close(void)
{
    wire_taken = wire_length = 0;
}

void board_drivers_send(const uint8_t *bytes, uint8_t length)
{
    memcpy(wire, bytes, length);
    wire_taken = 0;
    wire_length = length;
    wire_length += on_datagram ? on_datagram(bytes, length, wire + length) : 0;
}

bool board_drivers_receive(uint8_t *byte)
{
    if (wire_taken == wire_length) {
        return false;
    }
    *byte = wire[wire_taken++];
    return true;
}

uint16_t board_timer_elapsed(void)
{
    return bench_elapsed;
}

void board_timer_set(uint16_t wait)
{
    next_event = now + wait;
}

uint32_t board_link_ms(void)
{
    return (uint32_t)(now / TICKS_A_MS) + silent_ms;
}

uint32_t board_boot_id(void)
{
    return 0x12345678;
}

uint8_t board_reset_cause(void)
{
    return RESET_CAUSE_WATCHDOG;
}

uint16_t board_guard(uint8_t motors)
{
    (void)motors;
    return bench_guard; /* serving an event takes no time */
}

void board_wait(uint16_t ahead)
{
    now += ahead;
}

void board_events_changed(void)
{
    bench_changes++; /* also called in the timer event, which nothing interrupts */
}

board_lock_t board_lock(void)
{
    return (board_lock_t)locks++;
}

void board_unlock(board_lock_t lock)
{
    locks = lock;
}

static void collect_sent(void)
{
    static uint8_t block[FRAME_MAX + 4];
    static uint8_t length;
    for (uint8_t byte; link_transmit(&byte);) {
        if (byte) {
            block[length++] = byte;
            continue;
        }
        uint8_t decoded = cobs_decode(block, length);
        length = 0;
        if (sent_count < MAX_SENT) {
            memcpy(&sent[sent_count], block, decoded);
            CHECK(frame_check(&sent[sent_count], decoded) >= 0);
            sent_count++;
        }
    }
}

static void poll_firmware(void)
{
    firmware_poll();
    CHECK(locks == 0);
    collect_sent();
}

uint64_t bench_now(void)
{
    return now;
}

void bench_run_ms(uint32_t ms)
{
    uint64_t until = now + (uint64_t)ms * TICKS_A_MS;
    while (next_event <= until) {
        uint64_t began = now = next_event;
        next_event = began + events_serve();
        CHECK(next_event > began && next_event >= now);
        poll_firmware();
    }
}

void bench_clear_edges(void)
{
    edge_count = 0;
}

void bench_clear_sent(void)
{
    sent_count = 0;
}

uint64_t bench_rise(uint8_t pin, unsigned number)
{
    for (unsigned i = 0; i < edge_count; i++) {
        if (edges[i].pin == pin && edges[i].level && number-- == 0) {
            return edges[i].time;
        }
    }
    return UINT64_MAX;
}

unsigned bench_rises(uint8_t pin)
{
    unsigned count = 0;
    for (unsigned i = 0; i < edge_count; i++) {
        count += edges[i].pin == pin && edges[i].level;
    }
    return count;
}

bool bench_command(uint8_t type, const void *payload, uint8_t length)
{
    bool accepted = commands_handle(type, payload, length);
    poll_firmware();
    return accepted;
}

struct config_actuator bench_servo(void)
{
    return (struct config_actuator){.kind = KIND_SERVO,
                                    .flags = ACTUATOR_FLAG_MUST_HOME | ACTUATOR_FLAG_SAFE_OFF,
                                    .pin = SERVO_PIN,
                                    .direction_pin = PROTOCOL_NO_PIN,
                                    .enable_pin = PROTOCOL_NO_PIN,
                                    .sensor_pin = PROTOCOL_NO_PIN,
                                    .minimum = 1000,
                                    .maximum = 5000,
                                    .home_position = 3000,
                                    .home_interval = 100};
}

struct config_actuator bench_stepper(bool with_sensor)
{
    struct config_actuator setup = {.kind = KIND_STEPPER,
                                    .flags = ACTUATOR_FLAG_MUST_HOME,
                                    .pin = with_sensor ? STEP_PIN : STEP2_PIN,
                                    .direction_pin = with_sensor ? DIRECTION_PIN : DIRECTION2_PIN,
                                    .enable_pin = ENABLE_PIN,
                                    .sensor_pin = with_sensor ? SENSOR_PIN : PROTOCOL_NO_PIN,
                                    .minimum = -10000,
                                    .maximum = 10000,
                                    .min_interval = 100,
                                    .home_position = 0,
                                    .home_interval = 2000,
                                    .home_slow_interval = 8000,
                                    .home_backoff = 20,
                                    .home_travel = bench_home_travel};
    if (with_sensor) {
        setup.flags |= ACTUATOR_FLAG_HOME_SENSOR | ACTUATOR_FLAG_SAFE_OFF;
        setup.check_period = bench_check_turns ? UINT16_MAX : 0;
    }
    return setup;
}

uint16_t bench_configure_as(struct config_begin begin, const struct config_actuator *setups,
                            unsigned count)
{
    struct config_end end;
    end.crc = crc16(CRC_START, (const uint8_t *)&begin, sizeof begin);
    bench_command(MESSAGE_CONFIG_BEGIN, &begin, sizeof begin);
    for (unsigned i = 0; i < count; i++) {
        bench_command(MESSAGE_CONFIG_ACTUATOR, &setups[i], sizeof setups[i]);
        end.crc = crc16(end.crc, (const uint8_t *)&setups[i], sizeof setups[i]);
    }
    bench_command(MESSAGE_CONFIG_END, &end, sizeof end);
    return end.crc;
}

void bench_configure(void)
{
    struct config_actuator setups[] = {bench_servo(), bench_stepper(true), bench_stepper(false)};
    struct config_begin begin = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
    bench_configure_as(begin, setups, COUNT(setups));
}

void bench_home(uint8_t mask)
{
    struct home home = {.actuators = mask};
    bench_command(MESSAGE_HOME, &home, sizeof home);
}

void bench_profile(uint8_t kind, const void *segments, uint8_t count, uint32_t duration)
{
    uint8_t length = (uint8_t)(count * sizeof(struct step_segment));
    struct profile_begin begin = {.kind = kind,
                                  .segments = count,
                                  .duration = duration,
                                  .crc = crc16(CRC_START, segments, length)};
    bench_command(MESSAGE_PROFILE_BEGIN, &begin, sizeof begin);
    bench_command(MESSAGE_PROFILE_SEGMENTS, segments, length);
}

void bench_play(const uint8_t *turns, uint8_t length, uint16_t count)
{
    struct plan_begin begin = {.plan = 7, .turns = count};
    bench_command(MESSAGE_PLAN_BEGIN, &begin, sizeof begin);
    bench_command(MESSAGE_TURNS, turns, length);
    bench_command(MESSAGE_GO, 0, 0);
}

struct status bench_status(void)
{
    struct status status;
    commands_status(&status);
    return status;
}

void bench_bytes(const uint8_t *bytes, unsigned length)
{
    for (unsigned i = 0; i < length; i++) {
        link_receive(bytes[i]);
        poll_firmware();
    }
    poll_firmware();
    poll_firmware();
    poll_firmware();
}

void bench_send(uint8_t session, uint8_t seq, uint8_t type, const void *payload, uint8_t length)
{
    struct frame frame = {.session = session, .seq = seq, .type = type};
    uint8_t encoded[FRAME_MAX + 2];
    if (length) {
        memcpy(frame.payload, payload, length);
    }
    bench_bytes(encoded, cobs_encode(&frame.session, frame_seal(&frame, length), encoded));
}

void check_that(bool holds, const char *what, const char *file, int line)
{
    if (!holds && ++failures <= 20) {
        fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    }
}

int bench_result(void)
{
    return failures != 0;
}
