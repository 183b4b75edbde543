/*
 * Pulses through the kernel's PWM files. The Pi's own PWM, pwm-gpio, pwm-pio and a PCA9685 have the
 * same interface: pwmchipN/pwmC/{period,duty_cycle,enable}, which root has already exported. Chip
 * numbers vary between kernels, so the firmware identifies a chip by its device:
 *
 *   20c000.pwm (behind 20, 3f, fe)   Pi 1 to 4, Zero 2: channel 0 is BCM 12 or 18, 1 is 13 or 19
 *   1f00098000.pwm                   Pi 5: channels 0 to 3 are BCM 12, 13, 18, 19
 *   of_node/gpios                    pwm-gpio and pwm-pio: one channel, at the BCM number there
 *   name beginning with pca9685      channels 0 to 15
 *
 * A channel stays enabled while it is in use. A duty of 0 ends its pulses after the current one;
 * disabling the channel would cut that short. A new duty applies from the channel's next period.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"
#include "pins.h"
#include "pwm.h"
#include "simulation.h"

#define NS_PER_TICK (1000 / PROTOCOL_TICKS_PER_US)
#define PERIOD_NS ((unsigned long)PROTOCOL_SERVO_FRAME * NS_PER_TICK)
#define NUMBERS (PROTOCOL_FIRST_CHANNEL + PROTOCOL_CHANNELS)
#define NO_CHANNEL (-1)

enum file { DUTY_CYCLE, PERIOD, ENABLE };
static const char *const files[] = {"duty_cycle", "period", "enable"};
#define GPIO_CELLS 3 /* cells of a device tree's GPIO reference: controller, number, flags */

struct channel {
    int duty; /* descriptor of duty_cycle; -1 while closed */
    uint16_t ticks;
    bool troubled; /* its problem has been printed */
    char path[PATH_MAX];
};

static const char *root = "/sys/class/pwm";
static struct channel channels[NUMBERS];
static bool ready;

static const uint8_t own_of_pi5[] = {12, 13, 18, 19};

static struct channel *channel_of(uint8_t number)
{
    for (unsigned i = 0; !ready && i < NUMBERS; i++) {
        channels[i].duty = -1;
    }
    ready = true;
    return &channels[number];
}

void pwm_look_in(const char *folder)
{
    root = folder;
}

bool pwm_is_open(uint8_t number)
{
    return number < NUMBERS && channel_of(number)->duty >= 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Reads a file of a chip's device. Returns the number of bytes, or 0 if there is no such file. */
static unsigned read_of_device(const char *chip, const char *file, char *bytes, unsigned room)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/device/%s", root, chip, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, bytes, room);
    if (fd >= 0) {
        close(fd);
    }
    return got > 0 ? (unsigned)got : 0;
}

/* Returns the chip's channel for a pin, or NO_CHANNEL. */
static int channel_on(const char *chip, uint8_t number)
{
    char link[PATH_MAX], device[PATH_MAX] = {0}, name[8] = {0};
    unsigned char gpio[4 * GPIO_CELLS];
    snprintf(link, sizeof link, "%s/%s/device", root, chip);
    if (!realpath(link, device)) {
        return NO_CHANNEL;
    }
    if (read_of_device(chip, "name", name, sizeof name - 1) && strcmp(name, "pca9685") == 0) {
        return number >= PROTOCOL_FIRST_CHANNEL ? number - PROTOCOL_FIRST_CHANNEL : NO_CHANNEL;
    }
    if (read_of_device(chip, "of_node/gpios", (char *)gpio, sizeof gpio) == sizeof gpio) {
        return gpio[7] == number ? 0 : NO_CHANNEL; /* the second cell's last byte */
    }
    if (ends_with(device, "98000.pwm")) {
        const uint8_t *place = memchr(own_of_pi5, number, sizeof own_of_pi5);
        return place ? (int)(place - own_of_pi5) : NO_CHANNEL;
    }
    if (ends_with(device, "20c000.pwm")) {
        return number == 12 || number == 18 ? 0 : number == 13 || number == 19 ? 1 : NO_CHANNEL;
    }
    return NO_CHANNEL;
}

/* Finds the files of a pin's channel. Returns false if no chip serves the pin. */
static bool find(uint8_t number, struct channel *channel)
{
    DIR *folder = opendir(root);
    struct dirent *entry = folder ? readdir(folder) : 0;
    bool found = false;
    for (; entry && !found; entry = readdir(folder)) {
        int place = strncmp(entry->d_name, "pwmchip", 7) == 0 ? channel_on(entry->d_name, number)
                                                              : NO_CHANNEL;
        if (place != NO_CHANNEL) {
            int length = snprintf(channel->path, sizeof channel->path, "%s/%s/pwm%d", root,
                                  entry->d_name, place);
            found = length < (int)sizeof channel->path;
        }
    }
    if (folder) {
        closedir(folder);
    }
    return found;
}

static enum fault complain(struct channel *channel, const char *what, enum fault fault)
{
    if (!channel->troubled) {
        fprintf(stderr, "%s: %s/%s: %s\n", machine_name, channel->path, what, strerror(errno));
    }
    channel->troubled = true;
    return fault;
}

/* Writes a number to a file. Notifies the simulated robot of the pin and the file. */
static bool write_number(int fd, uint8_t number, enum file file, unsigned long value)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%lu\n", value);
    bool written = write(fd, text, (size_t)length) == length;
    if (written) {
        pins_record(simulation_now(), number, file, PIN_WRITE);
    }
    return written;
}

static int open_file(const struct channel *channel, enum file file)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/%s", channel->path, files[file]);
    return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

static bool write_file(const struct channel *channel, enum file file, uint8_t number,
                       unsigned long value)
{
    int fd = open_file(channel, file);
    bool written = fd >= 0 && write_number(fd, number, file, value);
    int reason = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = reason;
    return written;
}

/* Sets the period. A channel may refuse it because of an old pulse; then ends that pulse first. */
static bool set_period(struct channel *channel, uint8_t number)
{
    return write_file(channel, PERIOD, number, PERIOD_NS) ||
           (write_number(channel->duty, number, DUTY_CYCLE, 0) &&
            write_file(channel, PERIOD, number, PERIOD_NS));
}

static enum fault give_up(struct channel *channel, const char *what)
{
    int reason = errno;
    if (channel->duty >= 0) {
        close(channel->duty);
        channel->duty = -1;
    }
    errno = reason;
    return complain(channel, what, reason == ENOENT ? FAULT_PULSE_MISSING : FAULT_PULSE_REFUSED);
}

enum fault pwm_open(uint8_t number)
{
    struct channel *channel = channel_of(number);
    if (channel->duty >= 0 && pwm_set(number, 0) == FAULT_NONE) {
        return FAULT_NONE;
    }
    channel->troubled = false;
    if (!find(number, channel)) {
        snprintf(channel->path, sizeof channel->path, "%s", root);
        errno = ENOENT;
        char what[64];
        snprintf(what, sizeof what, "no chip makes pulses at pin %u", (unsigned)number);
        return complain(channel, what, FAULT_PULSE_MISSING);
    }
    channel->duty = open_file(channel, DUTY_CYCLE);
    if (channel->duty < 0) {
        return give_up(channel, "duty_cycle");
    }
    if (!set_period(channel, number)) {
        return give_up(channel, "period");
    }
    if (!write_number(channel->duty, number, DUTY_CYCLE, 0)) {
        return give_up(channel, "duty_cycle");
    }
    channel->ticks = 0;
    return write_file(channel, ENABLE, number, 1) ? FAULT_NONE : give_up(channel, "enable");
}

/* A channel that refuses even a duty of 0 has lost its chip, or its chip has lost power. The
 * kernel's PCA9685 driver then refuses every pulse until all channels are disabled, because only
 * then can it set the chip's period again. */
static void let_go(struct channel *channel, uint8_t number)
{
    write_file(channel, ENABLE, number, 0);
    close(channel->duty);
    channel->duty = -1;
}

enum fault pwm_set(uint8_t number, uint16_t ticks)
{
    struct channel *channel = channel_of(number);
    if (channel->duty < 0) {
        return FAULT_PULSE_MISSING;
    }
    if (ticks == channel->ticks && !channel->troubled) {
        return FAULT_NONE;
    }
    if (!write_number(channel->duty, number, DUTY_CYCLE, (unsigned long)ticks * NS_PER_TICK)) {
        enum fault fault = complain(channel, "duty_cycle", FAULT_PULSE_FAILED);
        if (ticks == 0) {
            let_go(channel, number);
        }
        return fault;
    }
    channel->ticks = ticks;
    channel->troubled = false;
    return FAULT_NONE;
}

void pwm_close_all(void)
{
    for (uint8_t number = 0; number < NUMBERS; number++) {
        if (pwm_is_open(number)) {
            pwm_set(number, 0);
        }
    }
}
