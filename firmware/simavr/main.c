/* The firmware's AVR program as a process: simavr between a pseudo-terminal and the socket of
 * the pins. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "clock.h"
#include "machine.h"
#include "pins.h"
#include "serial.h"

#define SLICE_TICKS 2000
#define MAX_BEHIND_TICKS 20000

struct options {
    const char *board;
    const char *elf;
    const char *pty_link;
    const char *pins;
    double speed;
    uint32_t hang_at;
    bool stamp_cycles;
};

static volatile sig_atomic_t finished;
static volatile sig_atomic_t reset;
static volatile sig_atomic_t hang;

static void on_signal(int number)
{
    finished |= number == SIGTERM || number == SIGINT;
    reset |= number == SIGUSR1;
    hang |= number == SIGUSR2;
}

static void usage(FILE *to)
{
    fprintf(to, "usage: cubist-firmware-avr --elf FILE --pty-link PATH [--board uno|mega] "
                "[--pins SOCKET] [--speed X] [--cycles] [--hang-at ADDRESS]\n"
                "  --elf FILE        program, from `cubist firmware build`\n"
                "  --board B         uno (default) or mega\n"
                "  --pty-link PATH   make a pseudo-terminal and a link to it at PATH\n"
                "  --pins SOCKET     report pins to a Unix socket\n"
                "  --speed X         at most X times as fast as real time (default 1)\n"
                "  --cycles          stamp records in cycles of 16 MHz, record bytes received\n"
                "  --hang-at ADDRESS SIGUSR2 makes the program hang there, to try the watchdog\n"
                "SIGTERM ends it, SIGUSR1 resets it as the reset button does.\n");
}

static bool parse(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {
        {"board", required_argument, 0, 'b'},    {"elf", required_argument, 0, 'e'},
        {"pty-link", required_argument, 0, 'l'}, {"pins", required_argument, 0, 'p'},
        {"speed", required_argument, 0, 's'},    {"hang-at", required_argument, 0, 'a'},
        {"cycles", no_argument, 0, 'c'},         {"help", no_argument, 0, 'h'},
        {0, 0, 0, 0}};
    *options = (struct options){.board = "uno", .speed = 1};
    for (int option; (option = getopt_long(argc, argv, "", names, 0)) != -1;) {
        switch (option) {
        case 'b':
            options->board = optarg;
            break;
        case 'e':
            options->elf = optarg;
            break;
        case 'l':
            options->pty_link = optarg;
            break;
        case 'p':
            options->pins = optarg;
            break;
        case 's':
            options->speed = atof(optarg);
            break;
        case 'c':
            options->stamp_cycles = true;
            break;
        case 'a':
            options->hang_at = (uint32_t)strtoul(optarg, 0, 0);
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            return false;
        }
    }
    bool board = strcmp(options->board, "uno") == 0 || strcmp(options->board, "mega") == 0;
    return optind == argc && board && options->elf && options->pty_link && options->speed > 0;
}

static int fail(const char *what)
{
    fprintf(stderr, "cubist-firmware-avr: %s: %s\n", what, strerror(errno));
    return 3;
}

static void receive(void)
{
    uint8_t bytes[256];
    unsigned room = machine_room();
    unsigned got = serial_read(bytes, room < sizeof bytes ? room : sizeof bytes);
    machine_receive(bytes, got);
}

/* Pins first, so nobody hears of what has not been seen. */
static void transmit(void)
{
    static uint8_t bytes[256];
    static unsigned waiting;
    waiting += machine_transmitted(bytes + waiting, sizeof bytes - waiting);
    if (waiting) {
        pins_flush();
        unsigned sent = serial_write(bytes, waiting);
        waiting -= sent;
        memmove(bytes, bytes + sent, waiting);
    }
}

static void obey_signals(uint32_t hang_at)
{
    if (reset) {
        reset = 0;
        machine_reset();
    }
    if (hang && hang_at) {
        hang = 0;
        machine_hang(hang_at);
    }
}

static void wait_until(uint64_t tick)
{
    struct pollfd source = {.fd = serial_fd(), .events = POLLIN};
    poll(&source, 1, clock_ms_until(tick));
}

static bool run(uint32_t hang_at)
{
    uint64_t base = 0; /* the clock goes on over resets, the machine starts at 0 */
    uint64_t before = 0;
    while (!finished) {
        obey_signals(hang_at);
        uint64_t now = machine_now();
        base += now < before ? before : 0;
        uint64_t allowed = clock_look();
        clock_limit(base + now + MAX_BEHIND_TICKS);
        pins_poll();
        receive();
        before = now;
        if (allowed >= base + now + SLICE_TICKS) {
            if (!machine_run(now + SLICE_TICKS)) {
                fprintf(stderr, "cubist-firmware-avr: the program crashed\n");
                return false;
            }
        } else {
            pins_flush();
            wait_until(base + now + SLICE_TICKS);
        }
        transmit();
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options options;
    if (!parse(argc, argv, &options)) {
        usage(stderr);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, 0);
    sigaction(SIGINT, &action, 0);
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGUSR2, &action, 0);
    if (options.pins && !pins_connect(options.pins)) {
        return fail(options.pins);
    }
    if (!machine_start(options.board, options.elf, options.stamp_cycles)) {
        return 3;
    }
    if (!serial_create(options.pty_link)) {
        return fail(options.pty_link);
    }
    clock_start(options.speed);
    bool ended_well = run(options.hang_at);
    serial_close();
    return ended_well ? 0 : 3;
}
