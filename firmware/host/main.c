/* The firmware as a process of this computer: a pseudo-terminal for the serial port, a socket
 * for the pins. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "board.h"
#include "clock.h"
#include "firmware.h"
#include "link.h"
#include "pins.h"
#include "serial.h"
#include "simulation.h"

#define CHUNK (BOARD_RX_BYTES / 2)

struct options {
    const char *pty_link;
    const char *pins;
    int serial_fd;
    double speed;
};

static volatile sig_atomic_t finished;
static volatile sig_atomic_t reset;

static void on_signal(int number)
{
    if (number == SIGUSR1) {
        reset = 1;
    } else {
        finished = 1;
    }
}

static void usage(FILE *to)
{
    fprintf(to, "usage: cubist-firmware-host [--pty-link PATH] [--serial-fd FD] [--pins SOCKET|FD] "
                "[--speed X]\n"
                "  --pty-link PATH   make a pseudo-terminal and a link to it at PATH\n"
                "  --serial-fd FD    use an open descriptor as serial port instead\n"
                "  --pins SOCKET|FD  report pins to a Unix socket\n"
                "  --speed X         run X times as fast as real time (default 1)\n"
                "SIGTERM ends it, SIGUSR1 resets it as the reset button does.\n");
}

static int fail(const char *what)
{
    fprintf(stderr, "cubist-firmware-host: %s: %s\n", what, strerror(errno));
    return 3;
}

static bool parse(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {
        {"pty-link", required_argument, 0, 'l'}, {"serial-fd", required_argument, 0, 'f'},
        {"pins", required_argument, 0, 'p'},     {"speed", required_argument, 0, 's'},
        {"help", no_argument, 0, 'h'},           {0, 0, 0, 0}};
    *options = (struct options){.serial_fd = -1, .speed = 1};
    for (int option; (option = getopt_long(argc, argv, "", names, 0)) != -1;) {
        switch (option) {
        case 'l':
            options->pty_link = optarg;
            break;
        case 'f':
            options->serial_fd = atoi(optarg);
            break;
        case 'p':
            options->pins = optarg;
            break;
        case 's':
            options->speed = atof(optarg);
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            return false;
        }
    }
    bool port = options->pty_link || options->serial_fd >= 0;
    return optind == argc && port && options->speed > 0;
}

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

static bool open_pins(const char *pins)
{
    if (!pins) {
        return true;
    }
    if (is_number(pins)) {
        pins_open(atoi(pins));
        return true;
    }
    return pins_connect(pins);
}

static bool open_port(const struct options *options)
{
    return options->serial_fd >= 0 ? serial_adopt(options->serial_fd, options->pty_link)
                                   : serial_create(options->pty_link);
}

/* Gives the core all that came before it looks for how long nothing came: while this process
 * waited for the processor or for the robot's socket, the host may well have spoken. */
static void receive(void)
{
    uint8_t bytes[CHUNK];
    for (unsigned got; (got = serial_read(bytes, sizeof bytes));) {
        for (unsigned i = 0; i < got; i++) {
            link_receive(bytes[i]);
            link_poll();
        }
    }
}

/* Takes what the core has to send; pins first, so nobody hears of what has not been seen. */
static void transmit(void)
{
    static uint8_t bytes[CHUNK];
    static unsigned waiting;
    while (waiting < sizeof bytes && link_transmit(&bytes[waiting])) {
        waiting++;
    }
    if (!waiting) {
        return;
    }
    pins_flush();
    unsigned sent = serial_write(bytes, waiting);
    waiting -= sent;
    memmove(bytes, bytes + sent, waiting);
}

static void wait_for_something(void)
{
    struct pollfd sources[] = {{.fd = serial_fd(), .events = POLLIN},
                               {.fd = pins_fd(), .events = POLLIN}};
    poll(sources, 2, clock_ms_until(simulation_next_event()));
}

static void run(void)
{
    while (!finished && !reset) {
        uint64_t until = clock_look();
        pins_poll();
        receive();
        while (simulation_next_event() <= until) {
            simulation_event();
            firmware_poll();
            transmit();
        }
        firmware_poll();
        transmit();
        pins_flush();
        wait_for_something();
    }
}

/* Starts anew in the same process with the same port and pins: everything in memory is
 * forgotten. */
static int restart(const struct options *options)
{
    char serial[16];
    char pins[16];
    char speed[32];
    snprintf(serial, sizeof serial, "%d", serial_fd());
    snprintf(pins, sizeof pins, "%d", pins_fd());
    snprintf(speed, sizeof speed, "%.17g", options->speed);
    const char *arguments[10] = {"cubist-firmware-host", "--serial-fd", serial, "--speed", speed};
    unsigned count = 5;
    if (pins_fd() >= 0) {
        arguments[count++] = "--pins";
        arguments[count++] = pins;
    }
    if (options->pty_link) {
        arguments[count++] = "--pty-link";
        arguments[count++] = options->pty_link;
    }
    execv("/proc/self/exe", (char *const *)arguments);
    return fail("cannot restart");
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
    if (!open_pins(options.pins)) {
        return fail(options.pins);
    }
    if (!open_port(&options)) {
        return fail(options.pty_link ? options.pty_link : "serial port");
    }
    clock_start(options.speed);
    simulation_start();
    run();
    simulation_end();
    if (reset) {
        return restart(&options);
    }
    serial_close();
    return 0;
}
