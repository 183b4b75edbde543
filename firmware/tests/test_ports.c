/* The RP2040's two serial ports: the one that carries the link, both at once, requests on USB. */
#include <string.h>

#include "actuators.h"
#include "chip.h"
#include "commands.h"
#include "faults.h"
#include "frame.h"
#include "player.h"
#include "safety.h"

static const uint8_t stop[] = PROTOCOL_STOP_PATTERN;

typedef void port(const uint8_t *bytes, unsigned length);

static void say(port *at, uint8_t session, uint8_t type, const void *payload, uint8_t length)
{
    struct frame frame = {.session = session, .type = type};
    uint8_t block[FRAME_MAX + 3] = {0};
    memcpy(frame.payload, payload, length);
    uint8_t whole = frame_seal(&frame, length);
    at(block, 1u + cobs_encode(&frame.session, whole, block + 1));
    chip_run_ms(5);
    chip_usb_sent();
}

static void hello(port *at, uint8_t session)
{
    const struct hello greeting = {.version = PROTOCOL_VERSION, .nonce = session};
    chip_sent_uart = chip_sent_usb = 0;
    say(at, session, MESSAGE_HELLO, &greeting, sizeof greeting);
}

static void the_link_is_at_the_port_that_speaks(void)
{
    hello(chip_usb, 1);
    CHECK(chip_sent_usb > 0 && chip_sent_uart == 0);
    hello(chip_uart, 2); /* not while the other one has it */
    CHECK(chip_sent_usb == 0 && chip_sent_uart == 0);
    chip_skip_ms(1001);
    hello(chip_uart, 3);
    CHECK(chip_sent_uart > 0 && chip_sent_usb == 0);
    chip_skip_ms(1001);
    hello(chip_usb, 4);
    CHECK(chip_sent_usb > 0 && chip_sent_uart == 0);
}

static void a_stop_works_at_both_ports_whichever_has_the_link(void)
{
    port *const ports[] = {chip_usb, chip_uart};
    for (unsigned i = 0; i < 4; i++) {
        fault_clear();
        chip_skip_ms(1001);
        hello(ports[i / 2], (uint8_t)(10 + i));
        ports[i % 2](stop, sizeof stop - 1);
        CHECK(fault_code() == FAULT_NONE);
        ports[i % 2](stop + sizeof stop - 1, 1);
        CHECK(fault_code() == FAULT_EMERGENCY_STOP);
    }
    fault_clear();
}

/* The interrupt sees the stop before the main loop handles the earlier bytes of the same packet. */
static void nothing_sent_before_a_stop_follows_it(void)
{
    struct frame clear = {.session = 20, .type = MESSAGE_CLEAR};
    uint8_t packet[64] = {0};
    const unsigned before = 30; /* more than the main loop takes at once */
    chip_skip_ms(1001);
    hello(chip_usb, clear.session);
    uint8_t whole = frame_seal(&clear, 0);
    unsigned length = before + cobs_encode(&clear.session, whole, packet + before);
    memcpy(packet + length, stop, sizeof stop);
    chip_usb(packet, length + sizeof stop);
    chip_run_ms(5);
    CHECK(fault_code() == FAULT_EMERGENCY_STOP);
    fault_clear();
}

static void request(uint8_t type, uint8_t number, uint8_t value, uint8_t high, uint8_t length)
{
    chip_usb_setup((const uint8_t[]){type, number, value, high, 0, 0, length, 0});
    for (unsigned i = 0; i < 4; i++) {
        chip_usb_control_in();
    }
}

static void a_host_learns_what_the_device_is(void)
{
    request(0x80, 6, 0, 1, 64);
    CHECK(chip_answered == 18 && chip_answer[8] == 0x8a && chip_answer[9] == 0x2e);
    request(0x80, 6, 0, 2, 9);
    CHECK(chip_answered == 9 && chip_answer[2] == 67);
    request(0x80, 6, 0, 2, 255);
    CHECK(chip_answered == 67);
    unsigned at = 0;
    while (at < chip_answered) {
        at += chip_answer[at];
    }
    CHECK(at == chip_answered);
    request(0x80, 6, 1, 3, 255);
    CHECK(memcmp(chip_answer,
                 "\x0e\x03"
                 "C\0u\0b\0i\0s\0t",
                 14) == 0);
    request(0x80, 6, 9, 3, 255);
    CHECK(chip_refused);
    request(0xc0, 1, 0, 0, 8);
    CHECK(chip_refused);
    request(0x80, 8, 0, 0, 1);
    CHECK(!chip_refused && chip_answered == 1 && chip_answer[0] == 1);
}

static void set_baud(uint32_t baud)
{
    const uint8_t coding[] = {
        (uint8_t)baud, (uint8_t)(baud >> 8), (uint8_t)(baud >> 16), 0, 0, 0, 8};
    chip_usb_setup((const uint8_t[]){0x21, 0x20, 0, 0, 0, 0, sizeof coding, 0});
    chip_usb_control_out(coding, sizeof coding);
    chip_usb_control_in();
    chip_run_ms(1);
}

static void only_1200_baud_at_rest_restart_into_the_bootloader(void)
{
    set_baud(115200);
    CHECK(chip_bootloader_starts == 0);
    player.running = true;
    player.turns = player.started + 1;
    set_baud(1200);
    CHECK(chip_bootloader_starts == 0);
    player_end();
    chip_run_ms(1);
    CHECK(chip_bootloader_starts == 0); /* forgotten */
    set_baud(1200);
    CHECK(chip_bootloader_starts == 1);
    request(0xa1, 0x21, 0, 0, 7);
    CHECK(chip_answered == 7 && chip_answer[0] == 0xb0 && chip_answer[1] == 0x04);
}

static void configure_all_actuators(void)
{
    const struct config_begin begin = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
    struct config_end end = {.crc = crc16(CRC_START, (const uint8_t *)&begin, sizeof begin)};
    commands_handle(MESSAGE_CONFIG_BEGIN, (const uint8_t *)&begin, sizeof begin);
    for (uint8_t i = 0; i < BOARD_ACTUATORS; i++) {
        const struct config_actuator servo = {.kind = KIND_SERVO,
                                              .pin = (uint8_t)(2 + i),
                                              .direction_pin = PROTOCOL_NO_PIN,
                                              .enable_pin = PROTOCOL_NO_PIN,
                                              .sensor_pin = PROTOCOL_NO_PIN,
                                              .minimum = 1000,
                                              .maximum = 5000,
                                              .home_position = 3000};
        commands_handle(MESSAGE_CONFIG_ACTUATOR, (const uint8_t *)&servo, sizeof servo);
        end.crc = crc16(end.crc, (const uint8_t *)&servo, sizeof servo);
    }
    commands_handle(MESSAGE_CONFIG_END, (const uint8_t *)&end, sizeof end);
}

/* A full packet would tell the host that more follows at once. chip.c checks that no packet is
 * full. */
static void a_long_answer_goes_in_two_packets(void)
{
    chip_skip_ms(1001);
    hello(chip_usb, 30);
    configure_all_actuators();
    for (unsigned i = 0; i < 4; i++) {
        chip_run_ms(2);
        chip_usb_sent();
    }
    chip_sent_usb = 0;
    say(chip_usb, 30, MESSAGE_LOCATE, "", 0);
    CHECK(chip_sent_usb == 63);
    chip_run_ms(1);
    chip_usb_sent();
    CHECK(chip_sent_usb > BOARD_ACTUATORS * sizeof(int32_t) + sizeof(struct positions));
}

int main(void)
{
    chip_boot();
    the_link_is_at_the_port_that_speaks();
    a_stop_works_at_both_ports_whichever_has_the_link();
    nothing_sent_before_a_stop_follows_it();
    a_host_learns_what_the_device_is();
    only_1200_baud_at_rest_restart_into_the_bootloader();
    a_long_answer_goes_in_two_packets();
    return chip_result();
}
