/*
 * The board has two serial ports, the UART at its header and USB, and one link. The port that
 * receives bytes carries the link. The other port takes over after a second of silence, which is
 * longer than any pause of a connected host. So a cable can be moved at any time, two hosts do not
 * mix, and nothing has to be configured. An emergency stop works on either port.
 */
#include "actuators.h"
#include "board.h"
#include "hardware.h"
#include "link.h"
#include "player.h"
#include "safety.h"

#define SILENT_MS (2 * PROTOCOL_HEARTBEAT_AT_REST_MS)

static volatile bool news;
static volatile bool bootloader_wanted;
static volatile enum port carrier;
static uint32_t heard_ms = (uint32_t)-SILENT_MS; /* the first port to receive gets the link */

void port_receive(enum port port, uint8_t byte)
{
    uint32_t now = board_link_ms();
    if (port != carrier && now - heard_ms < SILENT_MS) {
        link_watch(byte);
        return;
    }
    carrier = port;
    heard_ms = now;
    link_receive(byte);
}

void ports_wake(void)
{
    news = true;
}

bool ports_have_news(void)
{
    bool have = news;
    news = false;
    return have;
}

void ports_ask_for_bootloader(void)
{
    bootloader_wanted = true;
}

static void serve_bootloader(void)
{
    bool wanted = bootloader_wanted;
    bootloader_wanted = false;
    if (wanted && !player.running && !actuators_mask(actuator_is_moving)) {
        safety_release();
        board_enter_bootloader();
    }
}

void ports_poll(void)
{
    serve_bootloader();
    if (carrier == PORT_UART) {
        uart_poll();
    } else {
        usb_poll();
    }
}
