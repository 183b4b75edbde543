#define _GNU_SOURCE
#include "lines.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"
#include "machine.h"
#include "outputs.h"
#include "pins.h"
#include "protocol.h"
#include "simulation.h"

#define MOST_CHIPS 32
#define STEP_PULSE_NS 3000 /* as on the microcontrollers: slow drivers need 2 us */

struct line {
    int descriptor; /* file descriptor plus 1; 0 while the line is not requested */
    bool is_output;
    uint64_t rose_ns;
};

static bool simulated;
static struct line lines[LINES];

/* Labels of the GPIO controllers of the Pi's header. Their numbers vary by kernel and overlays. */
static const char *const labels[] = {"pinctrl-rp1", "pinctrl-bcm2711", "pinctrl-bcm2835"};

void lines_simulate(void)
{
    simulated = true;
}

static bool is_header(int chip)
{
    struct gpiochip_info info;
    if (ioctl(chip, GPIO_GET_CHIPINFO_IOCTL, &info)) {
        return false;
    }
    for (unsigned i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        if (strcmp(info.label, labels[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Opens the header's controller. Returns its descriptor, or -1 with errno set. */
static int open_header(void)
{
    int reason = ENODEV;
    for (unsigned number = 0; number < MOST_CHIPS; number++) {
        char path[sizeof "/dev/gpiochip31"];
        snprintf(path, sizeof path, "/dev/gpiochip%u", number);
        int chip = open(path, O_RDWR | O_CLOEXEC);
        if (chip >= 0 && is_header(chip)) {
            return chip;
        }
        reason = chip < 0 && errno == EACCES ? EACCES : reason;
        if (chip >= 0) {
            close(chip);
        }
    }
    errno = reason;
    return -1;
}

static bool is_taken(uint8_t number)
{
    return number < LINES && lines[number].descriptor;
}

/* Numbers above the lines are channels of servo boards, which only make pulses. A host that checks
 * its profile never requests a line there. */
static bool is_line(uint8_t number)
{
    if (number >= LINES) {
        fprintf(stderr, "%s: pin %u is no line\n", machine_name, (unsigned)number);
        fault_latch(FAULT_LINE_REFUSED, number);
        return false;
    }
    return true;
}

static void give_back(uint8_t number)
{
    if (is_taken(number)) {
        close(lines[number].descriptor - 1);
        lines[number] = (struct line){0};
    }
}

static void take(uint8_t number, uint64_t flags, bool level)
{
    give_back(number);
    struct gpio_v2_line_request request = {.offsets = {number}, .num_lines = 1};
    strcpy(request.consumer, "cubist");
    request.config.flags = flags;
    if (flags & GPIO_V2_LINE_FLAG_OUTPUT) {
        request.config.num_attrs = 1;
        request.config.attrs[0].mask = 1;
        request.config.attrs[0].attr.id = GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES;
        request.config.attrs[0].attr.values = level;
    }
    int chip = open_header();
    bool taken = chip >= 0 && ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request) == 0;
    if (taken) {
        lines[number].descriptor = request.fd + 1;
        lines[number].is_output = flags & GPIO_V2_LINE_FLAG_OUTPUT;
    } else {
        fprintf(stderr, "%s: GPIO %u: %s\n", machine_name, (unsigned)number, strerror(errno));
        fault_latch(FAULT_LINE_REFUSED, number);
    }
    if (chip >= 0) {
        close(chip);
    }
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool set(uint8_t number, bool level)
{
    struct gpio_v2_line_values values = {.bits = level, .mask = 1};
    bool is_set = ioctl(lines[number].descriptor - 1, GPIO_V2_LINE_SET_VALUES_IOCTL, &values) == 0;
    lines[number].rose_ns = monotonic_ns();
    return is_set;
}

/* Does not release a line that is already an output. It would float for a moment, and as a driver's
 * enable input it would power the motor. */
void lines_output(uint8_t number, bool level)
{
    if (!is_line(number)) {
        return;
    }
    if (simulated) {
        outputs_set(number, level);
    } else if (!is_taken(number) || !lines[number].is_output || !set(number, level)) {
        take(number, GPIO_V2_LINE_FLAG_OUTPUT, level);
    }
}

void lines_input(uint8_t number)
{
    if (is_line(number) && !simulated) {
        take(number, GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_BIAS_PULL_UP, false);
    }
}

bool lines_set(uint8_t number, bool level)
{
    if (simulated && number < LINES) {
        outputs_set(number, level);
        return true;
    }
    if (!is_taken(number) || set(number, level)) {
        return true;
    }
    fprintf(stderr, "%s: GPIO %u: %s\n", machine_name, (unsigned)number, strerror(errno));
    give_back(number);
    return false;
}

/* A system call may take less time than a driver needs for a pulse. */
bool lines_end_pulse(uint8_t number)
{
    if (simulated && number < LINES) {
        outputs_end_pulse(number);
        return true;
    }
    while (is_taken(number) && monotonic_ns() - lines[number].rose_ns < STEP_PULSE_NS) {
    }
    return lines_set(number, false);
}

bool lines_read(uint8_t number)
{
    if (simulated) {
        return pins_read(simulation_now(), number);
    }
    struct gpio_v2_line_values values = {.mask = 1};
    if (!is_taken(number) ||
        ioctl(lines[number].descriptor - 1, GPIO_V2_LINE_GET_VALUES_IOCTL, &values)) {
        return true;
    }
    return values.bits & 1;
}

void lines_release(uint8_t number)
{
    if (simulated && number < LINES) {
        outputs_set(number, false);
    } else {
        give_back(number);
    }
}

void lines_release_all(void)
{
    for (uint8_t number = 0; number < LINES; number++) {
        lines_release(number);
    }
}
