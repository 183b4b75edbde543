/* A machine that runs the RP2040's program in rp2040js, in a process of Node.js. emulator.mjs runs
 * it as time is granted. */
#define _GNU_SOURCE
#include "machine.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "pins.h"
#include "serial.h"

#define TIME_RECORD_TICKS 10000
#define CYCLES_PER_2_TICKS 125
#define SENT_BYTES 4096
#define DATAGRAM_BYTES 16
#define ROOM 256 /* bytes to the UART in one slice */

/* Kinds of records besides those of pins.h; see emulator.mjs. */
#define RECORD_RECEIVE 16
#define RECORD_SENT 17
#define RECORD_LINE 18

struct __attribute__((packed)) record {
    uint64_t time;
    uint16_t pin;
    uint8_t level;
    uint8_t kind;
};

const struct machine_pace machine_pace = {.slice = 2000, .most_behind = 20000};
const char machine_name[] = "cubist-firmware-rp2040";
const char machine_usage[] =
    "  --image FILE      program, a UF2 file from `cubist firmware build`\n"
    "  --emulator FILE   emulator.mjs, which Node.js runs\n"
    "  --library FOLDER  where npm installed rp2040js\n"
    "  --cycles          stamp records of pins in cycles of 125 MHz\n"
    "  --usb             the serial port is the chip's USB, not its UART\n"
    "  --hang-at ADDRESS SIGUSR2 makes the program hang there, to try the watchdog\n";
const struct option machine_options[] = {{"cycles", no_argument, 0, 'c'},
                                         {"image", required_argument, 0, 'i'},
                                         {"emulator", required_argument, 0, 'e'},
                                         {"library", required_argument, 0, 'y'},
                                         {"usb", no_argument, 0, 'b'},
                                         {"hang-at", required_argument, 0, 'a'},
                                         {0, 0, 0, 0}};

static const char *image;
static const char *emulator;
static const char *library;
static bool in_cycles; /* stamps of pins */
static const char *port = "uart";
static uint32_t hang_at;
static pid_t node;
static int chip = -1;
static uint64_t now; /* ticks since the start */
static uint64_t reset_at;
static uint8_t sent[SENT_BYTES];
static unsigned sent_bytes;
static unsigned received; /* bytes given to the UART in this slice */

bool machine_option(int letter, const char *value)
{
    switch (letter) {
    case 'c':
        in_cycles = true;
        return true;
    case 'i':
        image = value;
        return true;
    case 'e':
        emulator = value;
        return true;
    case 'y':
        library = value;
        return true;
    case 'b':
        port = "usb";
        return true;
    default:
        hang_at = (uint32_t)strtoul(value, 0, 0);
        return true;
    }
}

uint64_t machine_now(void)
{
    return now;
}

uint64_t machine_since_reset(void)
{
    return now - reset_at;
}

uint64_t machine_next(void)
{
    return now + machine_pace.slice;
}

static void tell(uint64_t time, uint8_t level, uint8_t kind)
{
    struct record record = {time, PIN_NONE, level, kind};
    send(chip, &record, sizeof record, MSG_NOSIGNAL);
}

static bool hear(struct record *record)
{
    static uint8_t bytes[sizeof *record * 512];
    static size_t from;
    static size_t to;
    while (to - from < sizeof *record) {
        memmove(bytes, bytes + from, to - from);
        to -= from;
        from = 0;
        ssize_t got = recv(chip, bytes + to, sizeof bytes - to, 0);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return false;
        }
        to += got > 0 ? (size_t)got : 0;
    }
    memcpy(record, bytes + from, sizeof *record);
    from += sizeof *record;
    return true;
}

/* Forwards bytes to the stepper drivers, and their answer to the emulator. */
static void ask_drivers(const struct record *record)
{
    static uint8_t datagram[DATAGRAM_BYTES];
    static unsigned length;
    if (record->kind == PIN_DRIVER) {
        datagram[length] = record->level;
        length += length + 1 < sizeof datagram;
        return;
    }
    uint8_t answer[DATAGRAM_BYTES];
    unsigned count = pins_ask_drivers(record->time, datagram, length, answer, sizeof answer);
    for (unsigned i = 0; i < count; i++) {
        tell(0, answer[i], PIN_DRIVER);
    }
    tell(0, 0, PIN_ANSWER);
    length = 0;
}

static void obey(const struct record *record)
{
    switch (record->kind) {
    case PIN_OUTPUT:
        pins_record(record->time, record->pin, record->level, PIN_OUTPUT);
        break;
    case PIN_READ:
        tell(record->time, pins_read(record->time, (uint8_t)record->pin), PIN_READ);
        break;
    case PIN_DRIVER:
    case PIN_ANSWER:
        ask_drivers(record);
        break;
    case PIN_RESET:
        reset_at = record->time;
        pins_record(0, PIN_NONE, false, PIN_RESET);
        break;
    case RECORD_SENT:
        if (sent_bytes < SENT_BYTES) {
            sent[sent_bytes++] = record->level;
        }
        break;
    default:
        now = record->time;
    }
}

/* Handles the emulator's records up to one of the kind `until`. Returns false if the emulator has
 * ended. */
static bool follow(uint8_t until)
{
    struct record record;
    do {
        if (!hear(&record)) {
            return false;
        }
        obey(&record);
    } while (record.kind != until);
    return true;
}

static void become_emulator(int socket)
{
    char number[12];
    snprintf(number, sizeof number, "%d", socket);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execlp("node", "node", emulator, library, image, number, in_cycles ? "8" : "500", port,
           (char *)0);
    fprintf(stderr, "%s: node: %s\n", machine_name, strerror(errno));
    _exit(3);
}

bool machine_start(void)
{
    int ends[2];
    if (!image || !emulator || !library) {
        fprintf(stderr, "%s: say --image, --emulator and --library\n", machine_name);
        return false;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
        fprintf(stderr, "%s: socketpair: %s\n", machine_name, strerror(errno));
        return false;
    }
    node = fork();
    if (node == 0) {
        close(ends[0]);
        become_emulator(ends[1]);
    }
    close(ends[1]);
    chip = ends[0];
    return node > 0 && follow(PIN_RESET);
}

void machine_end(void)
{
    close(chip);
    kill(node, SIGTERM);
    waitpid(node, 0, 0);
    pins_flush();
}

/* Programs set the speed of a pseudo-terminal like that of a port; both its sides show it. */
static void tell_speed(void)
{
    static speed_t told;
    struct termios settings;
    if (tcgetattr(serial_fd(), &settings) || cfgetospeed(&settings) == told) {
        return;
    }
    told = cfgetospeed(&settings);
    tell(told == B1200 ? 1200 : told == B500000 ? 500000 : 115200, 0, RECORD_LINE);
}

bool machine_run(uint64_t until)
{
    received = 0;
    tell_speed();
    if (until <= now) {
        return true;
    }
    tell(until, 0, PIN_GRANT);
    if (!follow(PIN_GRANT)) {
        return false;
    }
    uint64_t stamp = machine_since_reset() * (in_cycles ? CYCLES_PER_2_TICKS : 2) / 2;
    if (stamp - pins_recorded() >= TIME_RECORD_TICKS) {
        pins_record(stamp, PIN_NONE, false, PIN_TIME);
    }
    return true;
}

void machine_reset(void)
{
    tell(0, 0, PIN_RESET);
}

void machine_hang(void)
{
    if (hang_at) {
        tell(hang_at, 0, PIN_HANG);
    }
}

void machine_watchdog(void)
{
    /* the chip has its own watchdog */
}

unsigned machine_room(void)
{
    return ROOM - received;
}

void machine_receive(const uint8_t *bytes, unsigned length)
{
    received += length;
    while (length--) {
        tell(0, *bytes++, RECORD_RECEIVE);
    }
}

unsigned machine_transmitted(uint8_t *bytes, unsigned room)
{
    unsigned count = sent_bytes < room ? sent_bytes : room;
    memcpy(bytes, sent, count);
    memmove(sent, sent + count, sent_bytes - count);
    sent_bytes -= count;
    return count;
}
