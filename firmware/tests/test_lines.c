/* Lines of the Pi's GPIO, against a fake kernel that logs its calls. */
#define _GNU_SOURCE
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <sys/ioctl.h>
#include <time.h>

#include "capture.h"
#include "faults.h"
#include "machine.h"
#include "outputs.h"
#include "pins.h"
#include "simulation.h"

#define LINE_FD 200
#define MOST_CHIPS 40
#define LOOK_NS 1000 /* time between two reads of the clock */

const char machine_name[] = "lines";

static struct {
    const char *labels[MOST_CHIPS]; /* null: no such chip */
    int open_error[MOST_CHIPS];
    bool has_no_info, refuses_line, refuses_set, refuses_get, has_descriptor_0;
    uint64_t bits;
    uint64_t now_ns;
    unsigned looks;
} kernel;

int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int descriptor);
int __wrap_ioctl(int descriptor, unsigned long request, void *argument);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_fprintf(FILE *to, const char *format, ...);

int __wrap_open(const char *path, int flags, ...)
{
    unsigned number;
    CHECK(sscanf(path, "/dev/gpiochip%u", &number) == 1 && number < MOST_CHIPS);
    CHECK(flags == (O_RDWR | O_CLOEXEC));
    if (!kernel.labels[number] || kernel.open_error[number]) {
        errno = kernel.open_error[number] ? kernel.open_error[number] : ENOENT;
        return -1;
    }
    tell("open %u;", number);
    return (int)number; /* 0 is a valid descriptor too */
}

int __wrap_close(int descriptor)
{
    tell("close %d;", descriptor);
    errno = EINTR; /* overwrites the cause, which the caller must have saved */
    return 0;
}

static int take_line(int chip, struct gpio_v2_line_request *request)
{
    CHECK(request->num_lines == 1 && strcmp(request->consumer, "cubist") == 0);
    tell("take %u of %d,flags %x", request->offsets[0], chip, (unsigned)request->config.flags);
    for (unsigned i = 0; i < request->config.num_attrs; i++) {
        const struct gpio_v2_line_config_attribute *attribute = &request->config.attrs[i];
        CHECK(attribute->attr.id == GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES && attribute->mask == 1);
        tell(" at %u", (unsigned)attribute->attr.values);
    }
    tell(";");
    request->fd = kernel.has_descriptor_0 ? 0 : LINE_FD + (int)request->offsets[0];
    return kernel.refuses_line ? (errno = EBUSY, -1) : 0;
}

static int set_or_get(int descriptor, unsigned long request, struct gpio_v2_line_values *values)
{
    CHECK(values->mask == 1);
    bool sets = request == GPIO_V2_LINE_SET_VALUES_IOCTL;
    CHECK(sets || request == GPIO_V2_LINE_GET_VALUES_IOCTL);
    if (sets) {
        tell("set %d %u;", descriptor, (unsigned)values->bits);
    } else {
        tell("get %d;", descriptor);
        values->bits = kernel.bits;
    }
    return (sets ? kernel.refuses_set : kernel.refuses_get) ? (errno = EIO, -1) : 0;
}

int __wrap_ioctl(int descriptor, unsigned long request, void *argument)
{
    if (request == GPIO_GET_CHIPINFO_IOCTL) {
        if (kernel.has_no_info) {
            return -1;
        }
        struct gpiochip_info *info = argument;
        snprintf(info->label, sizeof info->label, "%s", kernel.labels[descriptor]);
        return 0;
    }
    if (request == GPIO_V2_GET_LINE_IOCTL) {
        return take_line(descriptor, argument);
    }
    return set_or_get(descriptor, request, argument);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    CHECK(clock == CLOCK_MONOTONIC);
    kernel.looks++;
    kernel.now_ns += LOOK_NS;
    now->tv_sec = (time_t)(kernel.now_ns / 1000000000u);
    now->tv_nsec = (long)(kernel.now_ns % 1000000000u);
    return 0;
}

int __wrap_fprintf(FILE *to, const char *format, ...)
{
    CHECK(to == stderr);
    char text[128];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    tell("%s", text);
    fputs(text, to);
    return length;
}

uint64_t simulation_now(void)
{
    return 77;
}

void outputs_set(uint8_t pin, bool level)
{
    tell("robot %u %u;", pin, level);
}

void outputs_end_pulse(uint8_t pin)
{
    tell("robot ends %u;", pin);
}

bool pins_read(uint64_t time, uint8_t pin)
{
    tell("robot reads %u at %u;", pin, (unsigned)time);
    return pin == 5;
}

/* Sets up a Raspberry Pi 4 with all lines free. */
static void begin(void)
{
    lines_release_all();
    fault_clear();
    memset(&kernel, 0, sizeof kernel);
    kernel.labels[0] = "pinctrl-bcm2711";
    kernel.now_ns = 7999998000; /* the second rolls over during a step pulse */
    captured[0] = 0;
}

static void refused(uint8_t number)
{
    CHECK(fault_code() == FAULT_LINE_REFUSED && fault_detail() == number);
    fault_clear();
}

static void the_header_is_found_by_its_label(void)
{
    static const char *const labels[] = {"pinctrl-rp1", "pinctrl-bcm2711", "pinctrl-bcm2835"};
    for (unsigned i = 0; i < COUNT(labels); i++) {
        begin();
        kernel.labels[0] = "other";
        kernel.labels[2] = labels[i];
        lines_output(17, true);
        EXPECT("open 0;close 0;open 2;take 17 of 2,flags 8 at 1;close 2;");
        CHECK(!fault_code());
    }
    begin();
    kernel.labels[0] = 0;
    kernel.labels[31] = labels[0];
    lines_output(17, false);
    EXPECT("open 31;take 17 of 31,flags 8 at 0;close 31;");
    begin();
    kernel.labels[0] = 0;
    kernel.labels[32] = labels[0];
    lines_output(17, false);
    EXPECT("lines: GPIO 17: No such device\n");
    refused(17);
}

static void what_keeps_it_from_the_header_is_told(void)
{
    begin();
    kernel.labels[0] = "other";
    kernel.open_error[1] = EACCES;
    lines_input(3);
    EXPECT("open 0;close 0;lines: GPIO 3: Permission denied\n");
    refused(3);
    begin();
    kernel.open_error[0] = EIO;
    lines_input(3);
    EXPECT("lines: GPIO 3: No such device\n");
    refused(3);
    begin();
    kernel.has_no_info = true;
    lines_input(3);
    EXPECT("open 0;close 0;lines: GPIO 3: No such device\n");
    refused(3);
    begin();
    kernel.refuses_line = true;
    lines_output(4, true);
    EXPECT("open 0;take 4 of 0,flags 8 at 1;lines: GPIO 4: Device or resource busy\nclose 0;");
    refused(4);
    CHECK(lines_set(4, true) && lines_read(4));
    EXPECT("");
}

static void an_output_stays_taken_for_as_long_as_it_is_one(void)
{
    begin();
    lines_output(27, true);
    captured[0] = 0;
    lines_output(27, false);
    EXPECT("set 227 0;");
    lines_output(27, true);
    CHECK(lines_set(27, false));
    EXPECT("set 227 1;set 227 0;");
    lines_input(27);
    EXPECT("close 227;open 0;take 27 of 0,flags 104;close 0;");
    lines_output(27, false);
    EXPECT("close 227;open 0;take 27 of 0,flags 8 at 0;close 0;");
    kernel.refuses_set = true;
    lines_output(27, true);
    EXPECT("set 227 1;close 227;open 0;take 27 of 0,flags 8 at 1;close 0;");
    lines_release(27);
    lines_release(27);
    EXPECT("close 227;");
    CHECK(!fault_code());
}

static void a_line_that_was_taken_away_is_told_once(void)
{
    begin();
    lines_output(0, false);
    captured[0] = 0;
    kernel.refuses_set = true;
    CHECK(!lines_set(0, true));
    EXPECT("set 200 1;lines: GPIO 0: Input/output error\nclose 200;");
    CHECK(lines_set(0, true) && lines_end_pulse(0));
    EXPECT("");
    CHECK(!fault_code());
}

static void the_first_descriptor_is_one(void)
{
    begin();
    kernel.has_descriptor_0 = true;
    lines_output(6, false);
    captured[0] = 0;
    CHECK(lines_set(6, true));
    lines_release(6);
    EXPECT("set 0 1;close 0;");
}

static void a_step_lasts_three_microseconds(void)
{
    begin();
    lines_output(9, false);
    lines_set(9, true);
    captured[0] = 0;
    kernel.looks = 0;
    CHECK(lines_end_pulse(9));
    EXPECT("set 209 0;");
    CHECK(kernel.looks == 3 + 1);
    lines_set(9, true);
    kernel.now_ns += 2000000000;
    kernel.looks = 0;
    kernel.refuses_set = true;
    captured[0] = 0;
    CHECK(!lines_end_pulse(9));
    EXPECT("set 209 0;lines: GPIO 9: Input/output error\nclose 209;");
    CHECK(kernel.looks == 1 + 1);
}

static void an_input_is_read_or_idle(void)
{
    begin();
    CHECK(lines_read(5));
    EXPECT("");
    lines_input(5);
    captured[0] = 0;
    CHECK(!lines_read(5));
    kernel.bits = 1;
    CHECK(lines_read(5));
    kernel.bits = 2;
    CHECK(!lines_read(5));
    kernel.refuses_get = true;
    CHECK(lines_read(5));
    EXPECT("get 205;get 205;get 205;get 205;");
}

static void all_are_given_back(void)
{
    begin();
    lines_input(0);
    lines_output(27, false);
    captured[0] = 0;
    lines_release_all();
    EXPECT("close 200;close 227;");
    lines_release_all();
    EXPECT("");
}

static void channels_of_servo_boards_are_no_lines(void)
{
    lines_output(LINES, true);
    EXPECT("lines: pin 28 is no line\n");
    refused(LINES);
    lines_input(LINES);
    EXPECT("lines: pin 28 is no line\n");
    refused(LINES);
    CHECK(lines_set(LINES, true) && lines_end_pulse(LINES));
    lines_release(LINES);
    EXPECT("");
}

static void simulated_lines_are_the_robots(void)
{
    begin();
    lines_simulate();
    lines_output(27, true);
    lines_input(27);
    CHECK(lines_set(27, false) && lines_end_pulse(27));
    CHECK(lines_read(5) && !lines_read(6));
    lines_release(27);
    EXPECT(
        "robot 27 1;robot 27 0;robot ends 27;robot reads 5 at 77;robot reads 6 at 77;robot 27 0;");
    channels_of_servo_boards_are_no_lines();
    lines_release_all();
    CHECK(strlen(captured) == 10 * strlen("robot 0 0;") + 18 * strlen("robot 10 0;"));
}

int main(void)
{
    the_header_is_found_by_its_label();
    what_keeps_it_from_the_header_is_told();
    an_output_stays_taken_for_as_long_as_it_is_one();
    a_line_that_was_taken_away_is_told_once();
    the_first_descriptor_is_one();
    a_step_lasts_three_microseconds();
    an_input_is_read_or_idle();
    all_are_given_back();
    begin();
    channels_of_servo_boards_are_no_lines();
    simulated_lines_are_the_robots();
    return bench_result();
}
