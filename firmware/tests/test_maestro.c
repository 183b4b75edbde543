/* A Maestro's command port, against a fake system that logs its calls. */
#define _GNU_SOURCE
#include "maestro.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "capture.h"
#include "machine.h"
#include "pins.h"
#include "process.h"
#include "simulation.h"

#define FIRST PROTOCOL_FIRST_MAESTRO
#define LAST (PROTOCOL_PINS_LINUX - 1)
#define ASK_TICKS 200000
#define RESTS_TICKS 120000

const char machine_name[] = "maestro";
struct process_options process_options;

static struct {
    int open_error;
    int write_error;
    unsigned writes_before; /* successful writes before one fails */
    bool is_no_terminal, half_written;
    bool at_usb;
    uint8_t answer[8];
    unsigned answered;
} port;

static uint64_t tick;
static uint32_t link_ms;
static unsigned recorded;

int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int descriptor);
ssize_t __wrap_read(int descriptor, void *bytes, size_t count);
ssize_t __wrap_write(int descriptor, const void *bytes, size_t count);
int __wrap_tcgetattr(int descriptor, struct termios *settings);
int __wrap_tcsetattr(int descriptor, int when, const struct termios *settings);
int __wrap_tcflush(int descriptor, int queue);
int __wrap_glob(const char *pattern, int flags, int (*told)(const char *, int), glob_t *found);
void __wrap_globfree(glob_t *found);
int __wrap_poll(struct pollfd *waiting, nfds_t count, int ms);
int __wrap_fprintf(FILE *to, const char *format, ...);
uint32_t __wrap_board_link_ms(void);

int __wrap_open(const char *path, int flags, ...)
{
    CHECK(flags == (O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
    tell("open %s;", path);
    errno = port.open_error;
    return errno ? -1 : 0; /* 0 is a valid descriptor too */
}

int __wrap_close(int descriptor)
{
    CHECK(descriptor == 0);
    tell("close;");
    return 0;
}

ssize_t __wrap_read(int descriptor, void *bytes, size_t count)
{
    CHECK(descriptor == 0 && count == 1);
    if (!port.answered) {
        errno = EAGAIN;
        return -1;
    }
    *(uint8_t *)bytes = port.answer[0];
    memmove(port.answer, port.answer + 1, --port.answered);
    return 1;
}

ssize_t __wrap_write(int descriptor, const void *bytes, size_t count)
{
    CHECK(descriptor == 0);
    for (size_t i = 0; i < count; i++) {
        tell("%02x", ((const uint8_t *)bytes)[i]);
    }
    tell(";");
    errno = port.writes_before ? 0 : port.write_error;
    port.writes_before -= port.writes_before > 0;
    return errno ? -1 : (ssize_t)(count - port.half_written);
}

int __wrap_tcgetattr(int descriptor, struct termios *settings)
{
    CHECK(descriptor == 0);
    memset(settings, 0, sizeof *settings);
    settings->c_lflag = ECHO | ICANON;
    return -port.is_no_terminal;
}

int __wrap_tcsetattr(int descriptor, int when, const struct termios *settings)
{
    CHECK(descriptor == 0 && when == TCSANOW);
    CHECK(!(settings->c_lflag & (ECHO | ICANON)) && settings->c_cflag & CLOCAL);
    CHECK(cfgetospeed(settings) == B115200 && cfgetispeed(settings) == B115200);
    tell("settings;");
    return 0;
}

int __wrap_tcflush(int descriptor, int queue)
{
    CHECK(descriptor == 0 && queue == TCIFLUSH);
    port.answered = 0;
    return 0;
}

int __wrap_glob(const char *pattern, int flags, int (*told)(const char *, int), glob_t *found)
{
    CHECK(strcmp(pattern, "/dev/serial/by-id/usb-Pololu_Corporation_*Maestro*-if00") == 0);
    CHECK(flags == 0 && !told);
    static char *ports[] = {"/dev/first", "/dev/second", 0};
    found->gl_pathv = ports;
    tell("glob;");
    return port.at_usb ? 0 : GLOB_NOMATCH;
}

void __wrap_globfree(glob_t *found)
{
    (void)found;
    tell("free;");
}

int __wrap_poll(struct pollfd *waiting, nfds_t count, int ms)
{
    CHECK(waiting->fd == 0 && waiting->events == POLLIN && count == 1);
    tell("poll %d;", ms);
    return 1;
}

int __wrap_fprintf(FILE *to, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    fputs(text, to);
    tell("%s", text);
    return length;
}

uint32_t __wrap_board_link_ms(void)
{
    return link_ms;
}

uint64_t simulation_now(void)
{
    return tick;
}

void pins_record(uint64_t time, uint16_t pin, uint8_t level, enum pin_record_kind kind)
{
    CHECK(time == tick && !level && kind == PIN_WRITE);
    recorded = pin;
}

void pins_flush(void)
{
    tell("flush;");
}

/* Sets the port's answer to a value, with only its first `bytes` bytes available. */
static void answers(unsigned value, unsigned bytes)
{
    const uint8_t both[] = {(uint8_t)value, (uint8_t)(value >> 8)};
    memcpy(port.answer + port.answered, both, bytes);
    port.answered += bytes;
    maestro_serve(tick);
}

static void serve_after(uint64_t ticks)
{
    tick += ticks;
    maestro_serve(tick);
}

/* The bytes written to open the first channel. */
#define OPENED                                                                                     \
    "870000"                                                                                       \
    "00;"                                                                                          \
    "890000"                                                                                       \
    "00;"                                                                                          \
    "840000"                                                                                       \
    "00;"
#define OPENED_LAST                                                                                \
    "871700"                                                                                       \
    "00;"                                                                                          \
    "891700"                                                                                       \
    "00;"                                                                                          \
    "841700"                                                                                       \
    "00;"
#define PORT "open /dev/given;settings;aa;"

static void the_first_at_usb_is_taken(void)
{
    maestro_end();
    maestro_serve(0);
    CHECK(maestro_set(FIRST, 3000) == FAULT_PULSE_FAILED && !maestro_is_open(FIRST));
    EXPECT("");
    port.open_error = ENOENT;
    CHECK(maestro_open(FIRST) == FAULT_PULSE_MISSING && !maestro_is_open(FIRST));
    EXPECT("glob;open /dev/serial/by-id/usb-Pololu_Corporation_*Maestro*-if00;"
           "maestro: /dev/serial/by-id/usb-Pololu_Corporation_*Maestro*-if00: "
           "No such file or directory\n");
    port.at_usb = true;
    port.open_error = EACCES;
    CHECK(maestro_open(FIRST) == FAULT_PULSE_REFUSED);
    EXPECT("glob;free;open /dev/first;maestro: /dev/first: Permission denied\n");
    maestro_at("/dev/given");
    CHECK(maestro_open(FIRST) == FAULT_PULSE_REFUSED);
    EXPECT("open /dev/given;maestro: /dev/given: Permission denied\n");
    port.open_error = 0;
}

static void writes_that_fail_are_a_failed_port(void)
{
    static const char *const told[] = {
        PORT "maestro: /dev/given: Input/output error\nclose;",
        PORT "87000000;maestro: /dev/given: Input/output error\nclose;",
        PORT "87000000;89000000;maestro: /dev/given: Input/output error\nclose;",
        PORT "87000000;89000000;84000000;maestro: /dev/given: Input/output error\nclose;",
    };
    for (unsigned i = 0; i < COUNT(told); i++) {
        port.write_error = EIO;
        port.writes_before = i;
        CHECK(maestro_open(FIRST) == FAULT_PULSE_FAILED && !maestro_is_open(FIRST));
        expect(told[i], __FILE__, (int)i);
    }
    port.write_error = 0;
    port.half_written = true;
    CHECK(maestro_open(FIRST) == FAULT_PULSE_FAILED);
    port.half_written = false;
    captured[0] = 0;
}

static void targets_are_quarters_of_microseconds(void)
{
    port.is_no_terminal = true;
    CHECK(maestro_open(LAST) == FAULT_NONE && maestro_is_open(LAST) && !maestro_is_open(FIRST));
    EXPECT("open /dev/given;aa;" OPENED_LAST);
    CHECK(recorded == LAST);
    CHECK(maestro_open(FIRST) == FAULT_NONE && maestro_is_open(FIRST));
    EXPECT(OPENED);
    CHECK(maestro_set(LAST, 4600) == FAULT_NONE && maestro_set(LAST, 4600) == FAULT_NONE);
    CHECK(maestro_set(FIRST, 1001) == FAULT_NONE && maestro_set(FIRST + 1, 3000) != FAULT_NONE);
    EXPECT("84177047;8400520f;"); /* 9200 and 2002 quarters in 7-bit digits */
    CHECK(recorded == FIRST);
}

static void questions_come_one_at_a_time_and_in_turn(void)
{
    serve_after(0);
    EXPECT("a1;");
    CHECK(recorded == FIRST);
    serve_after(ASK_TICKS);
    EXPECT(""); /* not answered yet */
    answers(0, 1);
    EXPECT("");
    port.answer[0] = 0;
    port.answered = 1;
    serve_after(0);
    EXPECT("9000;");
    answers(2002, 2);
    EXPECT("");
    serve_after(ASK_TICKS - 1);
    EXPECT("");
    serve_after(1);
    EXPECT("9017;");
    CHECK(recorded == LAST);
    answers(9200, 2);
    serve_after(ASK_TICKS);
    EXPECT("a1;");
    answers(0, 2);
    port.answer[0] = 99; /* a stray byte */
    port.answered = 1;
    serve_after(ASK_TICKS);
    EXPECT("9000;");
    answers(2002, 2);
    CHECK(maestro_set(FIRST, 1001) == FAULT_NONE);
    EXPECT("");
}

static void channels_that_moved_a_moment_ago_are_not_asked(void)
{
    serve_after(ASK_TICKS - RESTS_TICKS + 1);
    CHECK(maestro_set(LAST, 3000) == FAULT_NONE);
    EXPECT("8417702e;");
    serve_after(RESTS_TICKS - 1);
    EXPECT("a1;");
    answers(0, 2);
    tick += ASK_TICKS - RESTS_TICKS;
    CHECK(maestro_set(FIRST, 1002) == FAULT_NONE);
    captured[0] = 0;
    serve_after(RESTS_TICKS);
    EXPECT("9000;");
    answers(2004, 2);
    tick += ASK_TICKS - RESTS_TICKS + 1;
    CHECK(maestro_set(LAST, 3001) == FAULT_NONE && maestro_set(FIRST, 1003) == FAULT_NONE);
    captured[0] = 0;
    serve_after(RESTS_TICKS - 1);
    EXPECT("a1;");
    answers(0, 2);
    CHECK(maestro_set(FIRST, 0) == FAULT_NONE);
    captured[0] = 0;
    serve_after(ASK_TICKS);
    EXPECT("9017;");
    CHECK(maestro_set(LAST, 3002) == FAULT_NONE);
    captured[0] = 0;
    answers(1, 2); /* ignored, as the target has changed */
    CHECK(maestro_set(LAST, 3002) == FAULT_NONE);
    EXPECT("");
    serve_after(ASK_TICKS);
    EXPECT("a1;");
    answers(0, 2);
}

static void a_wrong_position_is_told_again_and_then_fails(void)
{
    for (unsigned i = 0; i < 2; i++) { /* wrong twice, but not in a row */
        serve_after(ASK_TICKS);
        answers(6005, 2);
        EXPECT("9017;");
        serve_after(ASK_TICKS);
        EXPECT("a1;");
        answers(0, 2);
        CHECK(maestro_set(LAST, 3002) == FAULT_NONE);
        EXPECT("8417742e;");
        serve_after(ASK_TICKS);
        answers(6004, 2);
        EXPECT("9017;");
        serve_after(ASK_TICKS);
        answers(0, 2);
        captured[0] = 0;
    }
    serve_after(ASK_TICKS);
    answers(6005, 2);
    CHECK(maestro_set(LAST, 3003) == FAULT_NONE);
    serve_after(ASK_TICKS);
    answers(0, 2);
    captured[0] = 0;
    serve_after(ASK_TICKS);
    answers(6005, 2);
    EXPECT("9017;maestro: /dev/given: channel 23 makes pulses of 1501.25 us instead of 1501.50\n");
    CHECK(maestro_set(LAST, 3003) == FAULT_PULSE_LIMITED);
    CHECK(maestro_set(FIRST, 3000) == FAULT_NONE);
    EXPECT("8400702e;");
}

static void after_errors_all_is_told_again(void)
{
    CHECK(maestro_open(LAST) == FAULT_NONE);
    CHECK(maestro_set(LAST, 3000) == FAULT_NONE);
    captured[0] = 0;
    serve_after(ASK_TICKS);
    answers(0x1002, 2);
    EXPECT("a1;maestro: /dev/given: errors 0x1002 in what it received\n");
    CHECK(maestro_set(FIRST, 3000) == FAULT_NONE && maestro_set(LAST, 3000) == FAULT_NONE);
    EXPECT("8400702e;8417702e;");
}

static void who_does_not_answer_fails_after_three_seconds(void)
{
    link_ms = 5000;
    serve_after(ASK_TICKS);
    EXPECT("9000;");
    link_ms += 2999;
    serve_after(ASK_TICKS);
    EXPECT("");
    link_ms += 1;
    serve_after(ASK_TICKS);
    EXPECT("maestro: /dev/given: no answer\nclose;");
    CHECK(!maestro_is_open(FIRST) && !maestro_is_open(LAST));
    CHECK(maestro_set(FIRST, 3000) == FAULT_PULSE_SILENT);
    CHECK(maestro_set(LAST, 3000) == FAULT_PULSE_SILENT);
    serve_after(ASK_TICKS);
    EXPECT("");
    CHECK(maestro_open(FIRST) == FAULT_NONE && maestro_set(LAST, 3000) == FAULT_PULSE_FAILED);
    EXPECT("open /dev/given;aa;" OPENED);
}

static void one_that_is_unplugged_is_let_go(void)
{
    process_options.pins = "simulated";
    serve_after(0);
    EXPECT("a1;flush;poll 1000;");
    answers(0, 2);
    port.write_error = ENODEV;
    serve_after(ASK_TICKS);
    EXPECT("a1;maestro: /dev/given: No such device\nclose;");
    CHECK(maestro_set(FIRST, 2000) == FAULT_PULSE_FAILED);
    EXPECT("");
    port.write_error = 0;
    CHECK(maestro_open(FIRST) == FAULT_NONE && maestro_set(FIRST, 2000) == FAULT_NONE);
    captured[0] = 0;
    port.write_error = ENODEV;
    CHECK(maestro_set(FIRST, 2001) == FAULT_PULSE_FAILED && !maestro_is_open(FIRST));
    EXPECT("8400221f;maestro: /dev/given: No such device\nclose;");
    port.write_error = 0;
}

static void a_number_names_the_device(void)
{
    CHECK(maestro_numbered("0") && maestro_numbered("127"));
    CHECK(!maestro_numbered("128") && !maestro_numbered("-1"));
    CHECK(!maestro_numbered("") && !maestro_numbered("12x"));
    CHECK(maestro_numbered("0") && maestro_open(FIRST) == FAULT_NONE);
    EXPECT("open /dev/given;aa0007000000;aa0009000000;aa0004000000;");
    CHECK(maestro_numbered("12") && maestro_set(FIRST, 3000) == FAULT_NONE);
    EXPECT("aa0c0400702e;");
}

static void all_pulses_end(void)
{
    CHECK(maestro_open(LAST) == FAULT_NONE && maestro_set(LAST, 3000) == FAULT_NONE);
    captured[0] = 0;
    maestro_end();
    EXPECT("aa0c04000000;aa0c04170000;");
    maestro_end();
    EXPECT("");
}

int main(void)
{
    the_first_at_usb_is_taken();
    writes_that_fail_are_a_failed_port();
    targets_are_quarters_of_microseconds();
    questions_come_one_at_a_time_and_in_turn();
    channels_that_moved_a_moment_ago_are_not_asked();
    a_wrong_position_is_told_again_and_then_fails();
    after_errors_all_is_told_again();
    who_does_not_answer_fails_after_three_seconds();
    one_that_is_unplugged_is_let_go();
    a_number_names_the_device();
    all_pulses_end();
    return bench_result();
}
