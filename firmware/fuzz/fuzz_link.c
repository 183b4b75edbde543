/*
 * Fuzzes the receiver: bytes from the wire go through framing, sessions and the handlers of all
 * messages. The first byte of the input selects raw bytes, or payloads that get a valid header and
 * CRC so that they reach the handlers. It also selects the actuators: the usual three, or up to
 * eight, each a servo or a stepper according to the next bytes. Time passes between frames, so that
 * started motion runs. Built with libFuzzer, or with a main() that replays files.
 */
#include <stdlib.h>
#include <string.h>

#include "actuators.h"
#include "bench.h"

#define SESSION 9
#define MAX_INPUT 4096

/* Bits of the input's first byte. The bits above hold the number of actuators minus one. */
#define AS_MESSAGES 1
#define ANY_ACTUATORS 2
#define COUNT_SHIFT 2

/* Bits of an actuator's byte. The others are ActuatorFlag bits, without that of the enable pin. */
#define IS_STEPPER ACTUATOR_FLAG_ENABLE_HIGH
#define CHECKS_TURNS ACTUATOR_FLAG_INVERT_DIRECTION
#define SHARES_ENABLE 128

#define SENSORS 16
#define ENABLES 24

/* Pseudo-messages that act on the board directly. The firmware does not know these types. */
#define SET_SENSORS 0x70
#define WAIT 0x71

static uint8_t seq;

static struct config_actuator any_actuator(uint8_t number, uint8_t bits)
{
    struct config_actuator setup = bits & IS_STEPPER ? bench_stepper(true) : bench_servo();
    setup.flags = bits & ~(IS_STEPPER | CHECKS_TURNS | SHARES_ENABLE);
    setup.pin = (uint8_t)(2 * number);
    if (bits & IS_STEPPER) {
        setup.direction_pin = (uint8_t)(2 * number + 1);
        setup.sensor_pin = (uint8_t)(SENSORS + number);
        setup.enable_pin = (uint8_t)(ENABLES + (bits & SHARES_ENABLE ? 0 : number));
        setup.check_period = bits & CHECKS_TURNS ? 20 : 0;
    }
    return setup;
}

static void configure_any(const uint8_t *bits, uint8_t count)
{
    struct config_actuator setups[BOARD_ACTUATORS];
    const struct config_begin begin = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
    for (uint8_t i = 0; i < count; i++) {
        setups[i] = any_actuator(i, bits[i]);
    }
    bench_configure_as(begin, setups, count);
}

static void greet(void)
{
    static uint8_t session = SESSION;
    session = session == SESSION ? SESSION + 1 : SESSION; /* a new one restarts its numbers */
    seq = 0;
    struct hello hello = {.version = PROTOCOL_VERSION};
    bench_bytes((const uint8_t *)"", 1);
    bench_send(session, 0, MESSAGE_HELLO, &hello, sizeof hello);
    bench_run_ms(5);
}

/* Configures the actuators. Returns the input bytes used: 0 for the usual ones, homed. */
static size_t configure(const uint8_t *bytes, size_t length)
{
    uint8_t count = 1 + (bytes[0] >> COUNT_SHIFT) % BOARD_ACTUATORS;
    if (!(bytes[0] & ANY_ACTUATORS) || length <= count) {
        bench_configure();
        bench_home(0x7);
        return 0;
    }
    configure_any(bytes + 1, count);
    return count;
}

static uint8_t current_session(void)
{
    return sent[sent_count - 1].session;
}

/* Checks that each active motor is in the interrupt's list once and belongs to the player or to
 * homing. */
static void check_owners(void)
{
    uint8_t active = 0;
    for (uint8_t i = 0; i < actuator_count; i++) {
        const struct actuator *actuator = &actuators[i];
        CHECK(!(actuator->turning && actuator->homing));
        active += actuator->setup.kind == KIND_STEPPER && actuator->motor.stepper.active;
    }
    CHECK(active == stepper_count());
}

static void act(uint8_t session, uint8_t type, const uint8_t *payload, uint8_t length)
{
    if (type == SET_SENSORS) {
        for (uint8_t i = 0; i < BOARD_ACTUATORS; i++) {
            inputs[SENSORS + i] = length && payload[0] >> i & 1;
        }
    } else if (type == WAIT) {
        bench_run_ms(length ? payload[0] : 1);
    } else {
        bench_send(session, seq++, type, payload, length);
        bench_run_ms(type % 4);
    }
    check_owners();
}

/* Reads type, length and payload of each message and adds a valid header and CRC. */
static void play_messages(const uint8_t *bytes, size_t length)
{
    size_t at = 0;
    uint8_t session = current_session();
    while (at + 2 <= length) {
        uint8_t type = bytes[at];
        size_t wanted = bytes[at + 1] % (PROTOCOL_MAX_PAYLOAD + 1);
        at += 2;
        size_t size = wanted < length - at ? wanted : length - at;
        act(session, type, bytes + at, (uint8_t)size);
        at += size;
    }
}

static void rest(void)
{
    bench_command(MESSAGE_ABORT, 0, 0);
    bench_command(MESSAGE_RELEASE, 0, 0);
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_clear_edges();
    bench_clear_sent();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length == 0 || length > MAX_INPUT) {
        return 0;
    }
    rest();
    greet();
    size_t start = 1 + configure(bytes, length);
    if (bytes[0] & AS_MESSAGES) {
        play_messages(bytes + start, length - start);
    } else {
        bench_bytes(bytes + start, (unsigned)(length - start));
    }
    bench_run_ms(20);
    check_owners();
    if (bench_result()) {
        abort();
    }
    return 0;
}
