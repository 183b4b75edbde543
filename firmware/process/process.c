/* Runs a board as a process. The serial port is a pseudo-terminal or any stream and the pins are a
 * socket. Time runs at a multiple of real time, or as the simulated robot grants it. */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <limits.h>
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

#define CHUNK 256
#define NS_PER_MS 1000000ull
#define NS_PER_S (1000 * NS_PER_MS)
#define CATCH_UP_NS (100 * NS_PER_MS)
#define EXACT_CATCH_UP_NS (10 * NS_PER_MS) /* limits how steep a servo's slew becomes */
#define MOST_OPTIONS 16

struct process_options process_options = {.serial_fd = -1, .speed = 1};

static volatile sig_atomic_t finished;
static volatile sig_atomic_t reset;
static volatile sig_atomic_t hang;

static const struct option own_options[] = {{"pty-link", required_argument, 0, 'l'},
                                            {"serial-fd", required_argument, 0, 'f'},
                                            {"pins", required_argument, 0, 'p'},
                                            {"speed", required_argument, 0, 's'},
                                            {"granted", no_argument, 0, 'g'},
                                            {"help", no_argument, 0, 'h'},
                                            {0, 0, 0, 0}};

static void on_signal(int number)
{
    finished |= number == SIGTERM || number == SIGINT;
    reset |= number == SIGUSR1;
    hang |= number == SIGUSR2;
}

static void usage(FILE *to)
{
    fprintf(to,
            "usage: %s [--pty-link PATH] [--serial-fd FD] [--pins SOCKET|FD] "
            "[--speed X | --granted]\n"
            "  --pty-link PATH   make a pseudo-terminal and a link to it at PATH\n"
            "  --serial-fd FD    use an open descriptor as serial port instead\n"
            "  --pins SOCKET|FD  report pins to a Unix socket\n"
            "  --speed X         run X times as fast as real time (default 1)\n"
            "  --granted         time passes only as granted through the pins' socket\n"
            "%s"
            "SIGTERM ends it, SIGUSR1 resets it as the reset button does.\n",
            machine_name, machine_usage);
}

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", machine_name, what, strerror(errno));
    return 3;
}

static bool to_descriptor(const char *text, int *descriptor)
{
    char *end;
    long value = strtol(text, &end, 10);
    *descriptor = (int)value;
    return end != text && !*end && value >= 0 && value <= INT_MAX;
}

static bool take_option(int letter, const char *value)
{
    switch (letter) {
    case 'l':
        process_options.pty_link = value;
        return true;
    case 'f':
        return to_descriptor(value, &process_options.serial_fd);
    case 'p':
        process_options.pins = value;
        return true;
    case 's':
        process_options.speed = strtod(value, 0);
        return process_options.speed > 0;
    case 'g':
        process_options.granted = true;
        return true;
    case 'h':
        usage(stdout);
        exit(0);
    default:
        return letter != '?' && machine_option(letter, value);
    }
}

static bool parse(int argc, char **argv)
{
    struct option all[MOST_OPTIONS] = {0};
    unsigned count = 0;
    for (const struct option *option = machine_options; option->name; option++) {
        all[count++] = *option;
    }
    memcpy(all + count, own_options, sizeof own_options);
    for (int letter; (letter = getopt_long(argc, argv, "", all, 0)) != -1;) {
        if (!take_option(letter, optarg)) {
            return false;
        }
    }
    bool port = process_options.pty_link || process_options.serial_fd >= 0;
    return optind == argc && port && (process_options.pins || !process_options.granted);
}

static bool open_pins(const char *pins)
{
    if (!pins) {
        return true;
    }
    int descriptor;
    if (to_descriptor(pins, &descriptor)) {
        pins_open(descriptor);
        return true;
    }
    return pins_connect(pins);
}

static bool open_port(void)
{
    return process_options.serial_fd >= 0
               ? serial_adopt(process_options.serial_fd, process_options.pty_link)
               : serial_create(process_options.pty_link);
}

static void receive(void)
{
    uint8_t bytes[CHUNK];
    for (unsigned room; (room = machine_room());) {
        unsigned got = serial_read(bytes, room < sizeof bytes ? room : sizeof bytes);
        if (!got) {
            return;
        }
        machine_receive(bytes, got);
    }
}

/* Sends pins first, so that no message reports an event before the pins show it. */
static void transmit(void)
{
    static uint8_t bytes[CHUNK];
    static unsigned waiting;
    waiting += machine_transmitted(bytes + waiting, sizeof bytes - waiting);
    if (!waiting) {
        return;
    }
    pins_flush();
    unsigned sent = serial_write(bytes, waiting);
    waiting -= sent;
    memmove(bytes, bytes + sent, waiting);
}

static void obey_signals(void)
{
    if (reset) {
        reset = 0;
        machine_reset();
    }
    if (hang) {
        hang = 0;
        machine_hang();
    }
    machine_watchdog();
}

/* A simulated robot uses the time stamps of the records, so waking to the millisecond suffices. */
static void wait_until(uint64_t tick)
{
    struct pollfd sources[] = {{.fd = serial_fd(), .events = POLLIN},
                               {.fd = pins_fd(), .events = POLLIN}};
    uint64_t grain = process_options.exact ? 1 : NS_PER_MS;
    uint64_t ns = (clock_ns_until(tick) + grain - 1) / grain * grain;
    struct timespec longest = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    ppoll(sources, 2, &longest, 0);
}

/* Runs one slice towards a tick. Returns false if the program crashed. */
static bool run_towards(uint64_t tick)
{
    uint64_t slice = machine_now() + machine_pace.slice;
    bool runs = machine_run(slice < tick ? slice : tick);
    transmit();
    return runs;
}

/* Reads the serial line before the core checks for silence: the host may have sent something while
 * this process waited for the processor or for the robot's socket. */
static bool run_in_real_time(void)
{
    clock_start(process_options.speed, process_options.exact ? EXACT_CATCH_UP_NS : CATCH_UP_NS);
    while (!finished) {
        obey_signals();
        uint64_t allowed = clock_look();
        if (machine_pace.most_behind) {
            clock_limit(machine_now() + machine_pace.most_behind);
        }
        pins_poll();
        receive();
        if (!run_towards(allowed)) {
            return false;
        }
        if (machine_next() > allowed) {
            pins_flush();
            wait_until(machine_next());
        }
    }
    return true;
}

static bool run_for(uint64_t ticks)
{
    static uint64_t due;
    due += ticks;
    receive();
    while (machine_now() < due) {
        uint64_t before = machine_now();
        if (!run_towards(due)) {
            return false;
        }
        clock_pass(machine_now() - before);
    }
    pins_record(machine_since_reset(), PIN_NONE, false, PIN_GRANT);
    pins_flush();
    return true;
}

static bool run_as_granted(void)
{
    uint64_t ticks;
    for (enum pin_record_kind order; !finished && pins_await_order(&order, &ticks);) {
        if (order == PIN_RESET) {
            machine_reset();
        } else if (order == PIN_HANG) {
            machine_hang();
        } else if (!run_for(ticks)) {
            return false;
        }
        machine_watchdog();
    }
    return true;
}

int main(int argc, char **argv)
{
    process_options.arguments = argv;
    if (!parse(argc, argv)) {
        usage(stderr);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, 0);
    sigaction(SIGINT, &action, 0);
    sigaction(SIGUSR1, &action, 0);
    sigaction(SIGUSR2, &action, 0);
    if (!open_pins(process_options.pins)) {
        return fail(process_options.pins);
    }
    if (!machine_start()) {
        return 3;
    }
    if (!open_port()) {
        return fail(process_options.pty_link ? process_options.pty_link : "serial port");
    }
    bool ended_well = process_options.granted ? run_as_granted() : run_in_real_time();
    machine_end();
    serial_close();
    if (!ended_well) {
        fprintf(stderr, "%s: the program crashed\n", machine_name);
    }
    return ended_well ? 0 : 3;
}
