/*
 * A Pololu Maestro. Its commands: Pololu, "Maestro Servo Controller User's Guide", section 5.e.
 * Targets are in quarters of a microsecond; 0 ends the pulses. A target applies from the channel's
 * next pulse, at 50 Hz, the factory setting.
 *
 * The Maestro silently clips a target to its channel's limits, drops a damaged command, and does
 * not answer at all in any mode but USB Dual Port. So between pulses the firmware asks it, one
 * question at a time, for the positions of channels at rest and for its errors. It repeats a target
 * whose position is wrong. If the position stays wrong, the channel fails.
 */
#define _GNU_SOURCE
#include "maestro.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "board.h"
#include "machine.h"
#include "pins.h"
#include "process.h"
#include "simulation.h"

#define FIRST PROTOCOL_FIRST_MAESTRO
#define CHANNELS (PROTOCOL_PINS_LINUX - FIRST)
#define AT_USB "/dev/serial/by-id/usb-Pololu_Corporation_*Maestro*-if00"
#define QUARTERS_PER_TICK (4 / PROTOCOL_TICKS_PER_US)
#define ASK_TICKS (100000 * PROTOCOL_TICKS_PER_US)
#define RESTS_TICKS (3 * PROTOCOL_SERVO_FRAME) /* after this the position must match the target */
#define ANSWER_MS 3000
#define SIMULATED_ANSWER_MS 1000 /* in real time */
#define AUTO_BAUD 0xaa /* also the first byte of a command that names a device */
#define NO_TICKS UINT16_MAX

enum command {
    SET_TARGET = 0x84,
    SET_SPEED = 0x87,
    SET_ACCELERATION = 0x89,
    GET_POSITION = 0x90,
    GET_ERRORS = 0xa1
};

struct channel {
    bool open;
    uint8_t wrong;   /* consecutive positions that differed from the target */
    uint16_t ticks;  /* last target sent; NO_TICKS: send it again */
    uint64_t set_at;
    enum fault fault; /* found between pulses */
};

static const char *given;
static int device = -1;
static int port = -1;
static char path[PATH_MAX];
static struct channel channels[CHANNELS];
static enum command asked; /* pending question; 0 for none */
static uint8_t asked_channel;
static uint16_t asked_ticks; /* target of the channel asked about */
static uint32_t asked_ms;
static uint64_t next_question; /* tick */
static uint8_t answer[2];
static unsigned answered; /* bytes of the answer received so far */

void maestro_at(const char *its_port)
{
    given = its_port;
}

bool maestro_numbered(const char *number)
{
    char *end;
    long value = strtol(number, &end, 10);
    device = (int)value;
    return *number && !*end && value >= 0 && value < 128;
}

bool maestro_is_open(uint8_t number)
{
    return channels[number - FIRST].open;
}

static void unplug(void)
{
    if (port >= 0) {
        close(port);
    }
    port = -1;
    asked = 0;
    for (unsigned i = 0; i < CHANNELS; i++) {
        channels[i].open = false;
    }
}

static enum fault complain(const char *what, enum fault fault)
{
    fprintf(stderr, "%s: %s: %s\n", machine_name, path, what);
    return fault;
}

static void fail_all(enum fault fault)
{
    for (unsigned i = 0; i < CHANNELS; i++) {
        channels[i].fault = fault;
    }
}

/* Sends a command about a channel. Also notifies the simulated robot of it. */
static bool send(enum command command, uint8_t channel, const uint8_t *data, size_t count)
{
    uint8_t bytes[8];
    size_t length = 0;
    if (device >= 0) {
        bytes[length++] = AUTO_BAUD;
        bytes[length++] = (uint8_t)device;
    }
    bytes[length++] = device >= 0 ? command & 0x7f : command;
    memcpy(bytes + length, data, count);
    length += count;
    if (write(port, bytes, length) != (ssize_t)length) {
        return false;
    }
    pins_record(simulation_now(), (uint16_t)(FIRST + channel), 0, PIN_WRITE);
    return true;
}

static bool send_value(enum command command, uint8_t channel, uint16_t value)
{
    const uint8_t data[] = {channel, value & 0x7f, value >> 7 & 0x7f};
    return send(command, channel, data, sizeof data);
}

/* Opens the port at `path`. Returns its descriptor, or -1 with errno set. */
static int open_port(void)
{
    glob_t found;
    bool looked = !given && glob(AT_USB, 0, 0, &found) == 0;
    snprintf(path, sizeof path, "%s", given ? given : looked ? found.gl_pathv[0] : AT_USB);
    if (looked) {
        globfree(&found);
    }
    int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    struct termios settings;
    if (fd >= 0 && tcgetattr(fd, &settings) == 0) {
        cfmakeraw(&settings);
        settings.c_cflag |= CLOCAL;
        cfsetspeed(&settings, B115200);
        tcsetattr(fd, TCSANOW, &settings);
    }
    return fd;
}

static enum fault plug(void)
{
    port = open_port();
    if (port < 0) {
        return complain(strerror(errno),
                        errno == ENOENT ? FAULT_PULSE_MISSING : FAULT_PULSE_REFUSED);
    }
    fail_all(FAULT_NONE);
    const uint8_t auto_baud = AUTO_BAUD;
    if (device < 0 && write(port, &auto_baud, 1) != 1) {
        complain(strerror(errno), FAULT_NONE);
        unplug();
        return FAULT_PULSE_FAILED;
    }
    return FAULT_NONE;
}

enum fault maestro_open(uint8_t number)
{
    struct channel *channel = &channels[number - FIRST];
    enum fault fault = port < 0 ? plug() : FAULT_NONE;
    if (fault) {
        return fault;
    }
    uint8_t place = number - FIRST;
    *channel = (struct channel){.open = true, .ticks = NO_TICKS};
    if (!send_value(SET_SPEED, place, 0) || !send_value(SET_ACCELERATION, place, 0)) {
        complain(strerror(errno), FAULT_NONE);
        unplug();
        return FAULT_PULSE_FAILED;
    }
    return maestro_set(number, 0);
}

enum fault maestro_set(uint8_t number, uint16_t ticks)
{
    struct channel *channel = &channels[number - FIRST];
    if (channel->fault) {
        return channel->fault;
    }
    if (port < 0 || !channel->open) {
        return FAULT_PULSE_FAILED;
    }
    if (ticks == channel->ticks) {
        return FAULT_NONE;
    }
    if (!send_value(SET_TARGET, number - FIRST, (uint16_t)(ticks * QUARTERS_PER_TICK))) {
        complain(strerror(errno), FAULT_NONE);
        unplug();
        return FAULT_PULSE_FAILED;
    }
    channel->ticks = ticks;
    channel->set_at = simulation_now();
    return FAULT_NONE;
}

/* Checks a channel's reported position: repeats the target after one wrong position and fails the
 * channel after two in a row. */
static void hear_position(uint16_t quarters)
{
    struct channel *channel = &channels[asked_channel];
    if (channel->ticks != asked_ticks) {
        return; /* the target has changed since the question */
    }
    if (quarters == asked_ticks * QUARTERS_PER_TICK) {
        channel->wrong = 0;
        return;
    }
    channel->ticks = NO_TICKS;
    if (++channel->wrong < 2) {
        return;
    }
    char what[96];
    snprintf(what, sizeof what, "channel %u makes pulses of %u.%02u us instead of %u.%02u",
             (unsigned)asked_channel, quarters / 4u, quarters % 4u * 25u,
             asked_ticks / (unsigned)PROTOCOL_TICKS_PER_US,
             asked_ticks % (unsigned)PROTOCOL_TICKS_PER_US * 100u / PROTOCOL_TICKS_PER_US);
    channel->fault = complain(what, FAULT_PULSE_LIMITED);
}

/* Handles the error bits, which the question cleared. Repeats all targets, as some may be lost. */
static void hear_errors(uint16_t bits)
{
    if (!bits) {
        return;
    }
    char what[48];
    snprintf(what, sizeof what, "errors 0x%04x in what it received", (unsigned)bits);
    complain(what, FAULT_NONE);
    for (unsigned i = 0; i < CHANNELS; i++) {
        channels[i].ticks = NO_TICKS;
    }
}

/* Reads the answer to the last question. Returns false while it is incomplete. */
static bool hear(void)
{
    while (asked && answered < sizeof answer) {
        if (read(port, &answer[answered], 1) != 1) {
            return false;
        }
        answered++;
    }
    uint16_t value = (uint16_t)(answer[0] | answer[1] << 8);
    if (asked == GET_POSITION) {
        hear_position(value);
    } else if (asked == GET_ERRORS) {
        hear_errors(value);
    }
    asked = 0;
    return true;
}

/* Asks for the errors and for the positions of the channels in rotation. */
static void ask(uint64_t tick)
{
    static uint8_t turn = CHANNELS;
    bool sent = true;
    tcflush(port, TCIFLUSH); /* from here on, stray bytes would count as answers */
    for (unsigned i = 0; i <= CHANNELS && !asked; i++) {
        turn = (turn + 1) % (CHANNELS + 1);
        const struct channel *channel = &channels[turn % CHANNELS];
        if (turn == CHANNELS) {
            sent = send(GET_ERRORS, 0, &turn, 0);
            asked = GET_ERRORS;
        } else if (channel->open && channel->ticks && channel->ticks != NO_TICKS &&
                   tick - channel->set_at >= RESTS_TICKS) {
            asked_channel = turn;
            asked_ticks = channel->ticks;
            sent = send(GET_POSITION, turn, &turn, 1);
            asked = GET_POSITION;
        }
    }
    answered = 0;
    asked_ms = board_link_ms();
    if (!sent) {
        complain(strerror(errno), FAULT_NONE);
        unplug();
    } else if (process_options.pins) {
        /* Simulated time may run at any speed, so it waits here for the simulated answer. */
        pins_flush();
        poll(&(struct pollfd){.fd = port, .events = POLLIN}, 1, SIMULATED_ANSWER_MS);
    }
}

void maestro_serve(uint64_t tick)
{
    if (port < 0) {
        return;
    }
    if (!hear()) {
        if (board_link_ms() - asked_ms >= ANSWER_MS) {
            complain("no answer", FAULT_NONE);
            unplug();
            fail_all(FAULT_PULSE_SILENT);
        }
        return;
    }
    if (tick >= next_question) {
        next_question = tick + ASK_TICKS;
        ask(tick);
    }
}

void maestro_end(void)
{
    for (uint8_t i = 0; i < CHANNELS; i++) {
        if (channels[i].open) {
            maestro_set((uint8_t)(FIRST + i), 0);
        }
    }
}
