/* A machine that runs the firmware built for this computer. Its interrupts are calls. */
#define _GNU_SOURCE
#include "machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board.h"
#include "firmware.h"
#include "link.h"
#include "pins.h"
#include "process.h"
#include "serial.h"
#include "simulation.h"

#define LINE_SIZE 4096
#define MOST_ARGUMENTS 64
#define WATCHDOG_TICKS (250 * 2000u)

const struct machine_pace machine_pace = {.slice = 20000};

static uint64_t reached;
static uint32_t resets; /* passed from process to process; see machine_reset() */
static uint8_t line[LINE_SIZE];
static unsigned line_length;
static bool hangs;
static uint64_t hangs_since;
static bool hung; /* the program hung before this start */

bool machine_option(int letter, const char *value)
{
    if (letter == 'u') {
        hung = true;
    } else if (letter == 'r') {
        resets = (uint32_t)strtoul(value, 0, 10);
    } else {
        return board_option(letter, value);
    }
    return true;
}

bool machine_start(void)
{
    uint32_t boot_id = process_options.granted ? resets + 1 : 0;
    simulation_start(boot_id, hung ? RESET_CAUSE_WATCHDOG : RESET_CAUSE_POWER_ON);
    return board_start();
}

void machine_end(void)
{
    board_end();
    pins_flush();
}

uint64_t machine_now(void)
{
    return reached;
}

uint64_t machine_since_reset(void)
{
    return reached;
}

uint64_t machine_next(void)
{
    return simulation_next_event();
}

static void take_what_is_sent(void)
{
    while (line_length < sizeof line && link_transmit(&line[line_length])) {
        line_length++;
    }
}

/* Runs one pass of the main loop. */
static void poll_core(void)
{
    if (hangs) {
        return;
    }
    firmware_poll();
    take_what_is_sent();
}

bool machine_run(uint64_t until)
{
    while (simulation_next_event() <= until) {
        simulation_event();
        poll_core();
    }
    simulation_reach(until);
    poll_core();
    reached = until > reached ? until : reached;
    return true;
}

/* Executes the program again in the same process, with the same port and pins but fresh memory. */
void machine_reset(void)
{
    pins_flush();
    char serial[16];
    char pins[16];
    char count[16];
    snprintf(serial, sizeof serial, "%d", serial_fd());
    snprintf(pins, sizeof pins, "%d", pins_fd());
    snprintf(count, sizeof count, "%u", (unsigned)resets + 1);
    static const char *const told_anew[] = {"--serial-fd", "--resets", "--pins"};
    const char *arguments[MOST_ARGUMENTS] = {0};
    unsigned used = 0;
    for (char **given = process_options.arguments; *given && used < MOST_ARGUMENTS - 8; given++) {
        if (strcmp(*given, "--hung") == 0) {
            continue;
        }
        bool anew = false;
        for (unsigned i = 0; i < sizeof told_anew / sizeof *told_anew; i++) {
            anew = anew || strcmp(*given, told_anew[i]) == 0;
        }
        if (anew) {
            given++; /* and its value */
        } else {
            arguments[used++] = *given;
        }
    }
    arguments[used++] = "--serial-fd";
    arguments[used++] = serial;
    arguments[used++] = "--resets";
    arguments[used++] = count;
    if (pins_fd() >= 0) {
        arguments[used++] = "--pins";
        arguments[used++] = pins;
    }
    if (hangs) {
        arguments[used++] = "--hung";
    }
    execv("/proc/self/exe", (char *const *)arguments);
    fprintf(stderr, "%s: cannot restart: %s\n", machine_name, strerror(errno));
    exit(3);
}

/* Stops the main loop. Interrupts continue. */
void machine_hang(void)
{
    hangs = true;
    hangs_since = reached;
}

void machine_watchdog(void)
{
    if (hangs && reached - hangs_since >= WATCHDOG_TICKS) {
        machine_reset();
    }
}

unsigned machine_room(void)
{
    return BOARD_RX_BYTES / 2;
}

/* Runs the link alone: the core checks for silence after the link has handled all pending bytes. */
void machine_receive(const uint8_t *bytes, unsigned length)
{
    for (unsigned i = 0; i < length; i++) {
        link_receive(bytes[i]);
        if (!hangs) {
            link_poll();
            take_what_is_sent();
        }
    }
}

unsigned machine_transmitted(uint8_t *bytes, unsigned room)
{
    unsigned count = line_length < room ? line_length : room;
    memcpy(bytes, line, count);
    line_length -= count;
    memmove(line, line + count, line_length);
    return count;
}
