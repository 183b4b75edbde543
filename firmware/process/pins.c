#define _GNU_SOURCE
#include "pins.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BUFFERED 1024
/* Limit of unread data in the socket. A robot slower than this process makes it wait for the
 * socket, and it must serve the serial line again long before the host considers it dead. */
#define UNDER_WAY_BYTES 16384
#define ANSWER_MS 10000

struct __attribute__((packed)) record {
    uint64_t time;
    uint16_t pin;
    uint8_t level;
    uint8_t kind;
};

static int robot = -1;
static struct record out[BUFFERED];
static unsigned waiting;
static uint64_t recorded;
static union {
    struct record record;
    uint8_t bytes[sizeof(struct record)];
} in;
static unsigned in_length;
static bool pulled_low[PINS]; /* inputs have pull-ups */
static bool answers = true;

void pins_open(int fd)
{
    robot = fd;
}

int pins_fd(void)
{
    return robot;
}

bool pins_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(address.sun_path, path);
    robot = socket(AF_UNIX, SOCK_STREAM, 0);
    int bytes = UNDER_WAY_BYTES;
    return robot >= 0 && setsockopt(robot, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) == 0 &&
           connect(robot, (struct sockaddr *)&address, sizeof address) == 0;
}

/* Closes the socket of a robot that is gone. The firmware continues, as if its wires were
 * pulled. */
static void disconnect(void)
{
    close(robot);
    robot = -1;
}

void pins_flush(void)
{
    const uint8_t *bytes = (const uint8_t *)out;
    size_t left = waiting * sizeof out[0];
    waiting = 0;
    while (left && robot >= 0) {
        ssize_t sent = send(robot, bytes, left, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            disconnect();
        } else if (sent > 0) {
            bytes += sent;
            left -= (size_t)sent;
        }
    }
}

void pins_record(uint64_t time, uint16_t pin, uint8_t level, enum pin_record_kind kind)
{
    recorded = time;
    if (robot < 0) {
        return;
    }
    out[waiting++] = (struct record){time, pin, level, kind};
    if (waiting == BUFFERED) {
        pins_flush();
    }
}

uint64_t pins_recorded(void)
{
    return recorded;
}

/* Receives one record from the robot, waiting at most `ms`. */
static bool receive(int ms)
{
    while (robot >= 0 && in_length < sizeof in) {
        struct pollfd ready = {.fd = robot, .events = POLLIN};
        if (poll(&ready, 1, ms) <= 0) {
            return false;
        }
        ssize_t got = recv(robot, in.bytes + in_length, sizeof in - in_length, 0);
        if (got <= 0) {
            disconnect();
            return false;
        }
        in_length += (unsigned)got;
    }
    if (robot < 0) {
        return false;
    }
    in_length = 0;
    bool tells_level = in.record.kind == PIN_OUTPUT || in.record.kind == PIN_READ;
    if (tells_level && in.record.pin < PINS) {
        pulled_low[in.record.pin] = !in.record.level;
    }
    return true;
}

void pins_poll(void)
{
    while (receive(0)) {
    }
}

bool pins_read(uint64_t time, uint8_t pin)
{
    if (robot >= 0 && answers) {
        pins_record(time, pin, 0, PIN_READ);
        pins_flush();
        bool answered = false;
        while (!answered && receive(ANSWER_MS)) {
            answered = in.record.kind == PIN_READ && in.record.pin == pin && in.record.time == time;
        }
        answers = answered; /* a robot that does not answer sends levels unasked, or none */
    }
    return !pulled_low[pin];
}

unsigned pins_ask_drivers(uint64_t time, const uint8_t *datagram, unsigned length, uint8_t *answer,
                          unsigned room)
{
    unsigned count = 0;
    if (robot < 0 || !answers) {
        return 0;
    }
    for (unsigned i = 0; i < length; i++) {
        pins_record(time, PIN_NONE, datagram[i], PIN_DRIVER);
    }
    pins_record(time, PIN_NONE, 0, PIN_ANSWER);
    pins_flush();
    bool answered = false;
    while (!answered && receive(ANSWER_MS)) {
        answered = in.record.kind == PIN_ANSWER;
        if (in.record.kind == PIN_DRIVER && count < room) {
            answer[count++] = in.record.level;
        }
    }
    answers = answered;
    return count;
}

bool pins_await_order(enum pin_record_kind *order, uint64_t *ticks)
{
    while (receive(-1)) {
        *order = (enum pin_record_kind)in.record.kind;
        *ticks = in.record.time;
        if (*order == PIN_GRANT || *order == PIN_RESET || *order == PIN_HANG) {
            return true;
        }
    }
    return false;
}
