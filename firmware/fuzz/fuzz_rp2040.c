/*
 * Fuzzes the firmware of the RP2040 on a model of its registers, with any input on the UART and on
 * USB. The input is a list of deeds: a byte that selects the deed, a length byte, and that many
 * bytes. At the end an emergency stop on one of the ports must still end all motion.
 */
#include <string.h>

#include "actuators.h"
#include "chip.h"
#include "commands.h"
#include "faults.h"
#include "frame.h"
#include "safety.h"

#define MAX_INPUT 4096
#define SESSION 9

enum deed {
    UART_BYTES,
    USB_BYTES,
    UART_MESSAGE,
    USB_MESSAGE,
    USB_SETUP_PACKET,
    USB_CONTROL_OUT,
    USB_CONTROL_IN,
    USB_SENT,
    USB_BUS_RESET,
    INPUTS,
    QUEUES,
    WAIT,
    DEEDS
};

typedef void port(const uint8_t *bytes, unsigned length);

static uint8_t seq;

/* On USB a frame may need two packets. */
static void usb(const uint8_t *bytes, unsigned length)
{
    unsigned first = length < 64 ? length : 64;
    chip_usb(bytes, first);
    chip_usb(bytes + first, length - first);
}

static void say(port *at, uint8_t type, const uint8_t *payload, uint8_t length)
{
    struct frame frame = {.session = SESSION, .type = type};
    uint8_t block[FRAME_MAX + 3] = {0};
    frame.seq = type < 0x10 ? 0 : seq++;
    memcpy(frame.payload, payload, length);
    uint8_t whole = frame_seal(&frame, length);
    at(block, 1u + cobs_encode(&frame.session, whole, block + 1));
}

static void say_bytes(port *at, const uint8_t *bytes, uint8_t length)
{
    uint8_t most = length && length - 1 > PROTOCOL_MAX_PAYLOAD ? PROTOCOL_MAX_PAYLOAD + 1 : length;
    if (most) {
        say(at, bytes[0], bytes + 1, most - 1);
    }
}

static void greet(port *at)
{
    static uint16_t nonce;
    const struct hello hello = {.version = PROTOCOL_VERSION, .nonce = ++nonce};
    chip_skip_ms(1001);
    seq = 0;
    say(at, MESSAGE_HELLO, (const uint8_t *)&hello, sizeof hello);
}

static struct config_actuator setup_of(uint8_t number, bool stepper)
{
    struct config_actuator setup = {.kind = stepper ? KIND_STEPPER : KIND_SERVO,
                                    .flags = ACTUATOR_FLAG_SAFE_OFF,
                                    .pin = (uint8_t)(2 + number),
                                    .direction_pin = PROTOCOL_NO_PIN,
                                    .enable_pin = PROTOCOL_NO_PIN,
                                    .sensor_pin = PROTOCOL_NO_PIN,
                                    .minimum = 1000,
                                    .maximum = 5000,
                                    .min_interval = 20,
                                    .home_position = 3000};
    if (stepper) {
        setup.direction_pin = 20;
        setup.sensor_pin = 21;
        setup.flags |= ACTUATOR_FLAG_HOME_SENSOR;
        setup.minimum = -10000;
        setup.maximum = 10000;
        setup.home_interval = 200;
        setup.home_slow_interval = 400;
        setup.home_backoff = 20;
        setup.home_travel = 500;
    }
    return setup;
}

/* Configures sixteen actuators. The first `steppers` of them, modulo 9, are steppers. */
static void configure(uint8_t steppers)
{
    const struct config_begin begin = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
    struct config_end end = {.crc = crc16(CRC_START, (const uint8_t *)&begin, sizeof begin)};
    commands_handle(MESSAGE_CONFIG_BEGIN, (const uint8_t *)&begin, sizeof begin);
    for (uint8_t i = 0; i < BOARD_ACTUATORS; i++) {
        struct config_actuator setup = setup_of(i, i < steppers % (BOARD_STEPPERS + 1));
        commands_handle(MESSAGE_CONFIG_ACTUATOR, (const uint8_t *)&setup, sizeof setup);
        end.crc = crc16(end.crc, (const uint8_t *)&setup, sizeof setup);
    }
    commands_handle(MESSAGE_CONFIG_END, (const uint8_t *)&end, sizeof end);
}

static void act(uint8_t deed, const uint8_t *bytes, uint8_t length)
{
    uint8_t packet[8] = {0};
    memcpy(packet, bytes, length < sizeof packet ? length : sizeof packet);
    switch (deed % DEEDS) {
    case UART_BYTES:
        chip_uart(bytes, length);
        break;
    case USB_BYTES:
        usb(bytes, length % 129);
        break;
    case UART_MESSAGE:
        say_bytes(chip_uart, bytes, length);
        break;
    case USB_MESSAGE:
        say_bytes(usb, bytes, length);
        break;
    case USB_SETUP_PACKET:
        chip_usb_setup(packet);
        break;
    case USB_CONTROL_OUT:
        chip_usb_control_out(bytes, length % 65);
        break;
    case USB_CONTROL_IN:
        chip_usb_control_in();
        break;
    case USB_SENT:
        chip_usb_sent();
        break;
    case USB_BUS_RESET:
        chip_usb_reset();
        break;
    case INPUTS:
        chip_inputs(packet[0] & 1);
        break;
    case QUEUES:
        chip_queues(packet[0] & 1);
        break;
    default:
        chip_run_ms(length % 16);
    }
}

static void check_stop(bool at_usb)
{
    static const uint8_t stop[] = PROTOCOL_STOP_PATTERN;
    if (at_usb) { /* the device may have been left without configuration */
        chip_usb_reset();
        chip_usb_setup((const uint8_t[]){0, 9, 1, 0, 0, 0, 0, 0});
    }
    (at_usb ? chip_usb : chip_uart)(stop, sizeof stop);
    chip_run_ms(1);
    CHECK(fault_code() == FAULT_EMERGENCY_STOP);
    CHECK(!actuators_mask(actuator_is_moving));
    CHECK(stepper_count() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static bool booted;
    if (length < 2 || length > MAX_INPUT) {
        return 0;
    }
    if (!booted) {
        chip_boot();
        booted = true;
    }
    chip_queues(false);
    chip_usb_setup((const uint8_t[]){0, 9, 1, 0, 0, 0, 0, 0});
    greet(bytes[0] & 1 ? usb : chip_uart);
    fault_clear();
    configure(bytes[1]);
    for (size_t at = 2; at + 2 <= length;) {
        uint8_t deed = bytes[at];
        size_t wanted = bytes[at + 1];
        at += 2;
        size_t size = wanted < length - at ? wanted : length - at;
        act(deed, bytes + at, (uint8_t)size);
        at += size;
    }
    check_stop(bytes[0] & 2);
    return 0;
}
