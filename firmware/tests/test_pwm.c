/* The kernel's PWM files: the devices are in a real folder, and writes go to a fake kernel that
 * logs them. */
#define _GNU_SOURCE
#include "pwm.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "machine.h"
#include "pins.h"
#include "simulation.h"

#define FILES 3

const char machine_name[] = "pwm";
static const char *const names[FILES] = {"duty_cycle", "period", "enable"};
static char root[] = "/tmp/cubist-pwm-XXXXXX";

/* The errors to inject into the next writes or opens. */
static struct {
    int open_error[FILES];
    int write_error[FILES];
    bool once;
} kernel;

static int shift; /* the first file's descriptor, as 0 is a valid descriptor too */

int __real_open(const char *path, int flags, ...);
int __real_close(int descriptor);
int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int descriptor);
ssize_t __wrap_write(int descriptor, const void *bytes, size_t count);
int __wrap_fprintf(FILE *to, const char *format, ...);

/* Logs the file with its folders: "2/pwm0 period". */
int __wrap_open(const char *path, int flags, ...)
{
    if (flags == (O_RDONLY | O_CLOEXEC)) {
        return __real_open(path, flags);
    }
    CHECK(flags == (O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    for (int i = 0; i < FILES; i++) {
        const char *name = strrchr(path, '/') + 1;
        if (strcmp(name, names[i]) == 0) {
            const char *chip = strstr(path, "pwmchip");
            CHECK(chip && strncmp(path, root, strlen(root)) == 0);
            tell("%.*s ", chip ? (int)(name - chip) - 8 : 0, chip ? chip + 7 : "");
            errno = kernel.open_error[i];
            return errno ? -1 : (i + shift) % FILES;
        }
    }
    tell("%s?", path);
    return -1;
}

int __wrap_close(int descriptor)
{
    if (descriptor >= FILES) {
        return __real_close(descriptor);
    }
    tell("close %s;", names[(descriptor + FILES - shift) % FILES]);
    errno = EINTR; /* overwrites the cause, which the caller must have saved */
    return 0;
}

ssize_t __wrap_write(int descriptor, const void *bytes, size_t count)
{
    int file = (descriptor + FILES - shift) % FILES;
    CHECK(((const char *)bytes)[count - 1] == '\n');
    tell("%s %.*s", names[file], (int)count - 1, (const char *)bytes);
    errno = kernel.write_error[file];
    if (kernel.once) {
        kernel.write_error[file] = 0;
    }
    tell(errno ? " fails;" : ";");
    return errno ? -1 : (ssize_t)count;
}

int __wrap_fprintf(FILE *to, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    fputs(text, to);
    char *place = strstr(text, root);
    if (place) {
        memmove(place, place + strlen(root), strlen(place + strlen(root)) + 1);
    }
    tell("%s", text);
    return length;
}

uint64_t simulation_now(void)
{
    return 77;
}

static unsigned recorded;

void pins_record(uint64_t time, uint16_t pin, uint8_t level, enum pin_record_kind kind)
{
    CHECK(time == 77 && kind == PIN_WRITE && level < FILES);
    recorded = pin * 10u + level;
}

static void make(const char *format, const char *inside, const char *bytes, size_t count)
{
    char path[256], full[512];
    snprintf(path, sizeof path, format, inside);
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    CHECK(file && fwrite(bytes, 1, count, file) == count);
    if (file) {
        fclose(file);
    }
}

/* Adds a chip and the link to its named device, as in sysfs. */
static void chip(unsigned number, const char *device)
{
    char path[256], target[256];
    snprintf(path, sizeof path, "%s/pwmchip%u", root, number);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/pwmchip%u/device", root, number);
    snprintf(target, sizeof target, "%s/%s", root, device);
    mkdir(target, 0755);
    CHECK(symlink(target, path) == 0);
}

static void make_chips(void)
{
    CHECK(mkdtemp(root));
    make("%s", "not-a-pwmchip", "", 0);
    chip(0, "fe20c000.pwm");
    chip(1, "other.pwm");
    make("%s/name", "fe20c000.pwm", "pwm", 3);
    chip(3, "3-0040");
    make("%s/name", "3-0040", "pca9685-pwm\n", 12);
    chip(5, "pwm_gpio@5");
    const char gpio[12] = {0, 0, 0, 9, 0, 0, 0, 5, 6, 6, 6, 6};
    make("%s/of_node/gpios", "pwm_gpio@5", gpio, sizeof gpio);
    chip(4, "pwm_gpio@0");
    const char gpio_0[12] = {0, 0, 0, 9, 0, 0, 0, 0, 6, 6, 6, 6};
    make("%s/of_node/gpios", "pwm_gpio@0", gpio_0, sizeof gpio_0);
    chip(6, "short");
    make("%s/of_node/gpios", "short", gpio, sizeof gpio - 1);
    pwm_look_in(root);
}

static void make_a_pi_5(void)
{
    make("%s", "pi5/x", "", 0);
    char target[256], path[256];
    snprintf(target, sizeof target, "%s/1f00098000.pwm", root);
    mkdir(target, 0755);
    snprintf(path, sizeof path, "%s/pi5/pwmchip2", root);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/pi5/pwmchip2/device", root);
    CHECK(symlink(target, path) == 0);
}

#define OPENED(channel)                                                                            \
    channel " " channel " period 20000000;close period;duty_cycle 0;" channel                      \
            " enable 1;close enable;"

static void opens(uint8_t number, const char *told)
{
    CHECK(!pwm_is_open(number));
    CHECK(pwm_open(number) == FAULT_NONE);
    CHECK(pwm_is_open(number));
    CHECK(recorded == number * 10u + 2);
    expect(told, __FILE__, number);
}

static void channels_are_found_by_their_device(void)
{
    opens(12, OPENED("0/pwm0"));
    opens(18, OPENED("0/pwm0"));
    opens(13, OPENED("0/pwm1"));
    opens(19, OPENED("0/pwm1"));
    opens(0, OPENED("4/pwm0"));
    opens(5, OPENED("5/pwm0"));
    opens(PROTOCOL_FIRST_CHANNEL, OPENED("3/pwm0"));
    opens(PROTOCOL_FIRST_CHANNEL + 15, OPENED("3/pwm15"));
    CHECK(pwm_open(6) == FAULT_PULSE_MISSING && !pwm_is_open(6));
    EXPECT("pwm: /no chip makes pulses at pin 6: No such file or directory\n");
    CHECK(!pwm_is_open(PROTOCOL_FIRST_CHANNEL + PROTOCOL_CHANNELS));
}

static void a_pulse_is_told_once_and_in_nanoseconds(void)
{
    CHECK(pwm_set(12, 3001) == FAULT_NONE);
    CHECK(recorded == 12 * 10);
    CHECK(pwm_set(12, 3001) == FAULT_NONE);
    CHECK(pwm_set(13, 0) == FAULT_NONE);
    EXPECT("duty_cycle 1500500;");
    CHECK(pwm_set(6, 3000) == FAULT_PULSE_MISSING);
    EXPECT("");
    CHECK(pwm_open(12) == FAULT_NONE);
    EXPECT("duty_cycle 0;");
}

static void a_write_that_fails_is_printed_once(void)
{
    kernel.write_error[0] = EIO;
    CHECK(pwm_set(12, 2000) == FAULT_PULSE_FAILED);
    EXPECT("duty_cycle 1000000 fails;pwm: /pwmchip0/pwm0/duty_cycle: Input/output error\n");
    CHECK(pwm_set(12, 2000) == FAULT_PULSE_FAILED && pwm_is_open(12));
    EXPECT("duty_cycle 1000000 fails;");
    kernel.write_error[0] = 0;
    CHECK(pwm_set(12, 0) == FAULT_NONE);
    EXPECT("duty_cycle 0;");
    CHECK(pwm_set(12, 0) == FAULT_NONE);
    EXPECT("");
    kernel.write_error[0] = EIO;
    CHECK(pwm_set(12, 2000) == FAULT_PULSE_FAILED);
    EXPECT("duty_cycle 1000000 fails;pwm: /pwmchip0/pwm0/duty_cycle: Input/output error\n");
    CHECK(pwm_set(12, 0) == FAULT_PULSE_FAILED && !pwm_is_open(12));
    EXPECT("duty_cycle 0 fails;0/pwm0 enable 0;close enable;close duty_cycle;");
    memset(&kernel, 0, sizeof kernel);
    opens(12, OPENED("0/pwm0"));
}

static void a_channel_that_is_open_is_opened_anew_when_it_has_lost_its_chip(void)
{
    CHECK(pwm_set(12, 2000) == FAULT_NONE);
    kernel.write_error[0] = ENODEV;
    kernel.once = true;
    captured[0] = 0;
    CHECK(pwm_open(12) == FAULT_NONE && pwm_is_open(12));
    EXPECT("duty_cycle 0 fails;pwm: /pwmchip0/pwm0/duty_cycle: No such device\n"
           "0/pwm0 enable 0;close enable;close duty_cycle;" OPENED("0/pwm0"));
    memset(&kernel, 0, sizeof kernel);
}

/* Checks the fault and the log of opening channel 16. */
static void refused(enum fault fault, const char *told)
{
    uint8_t number = PROTOCOL_FIRST_CHANNEL + 1;
    CHECK(pwm_open(number) == fault && !pwm_is_open(number));
    expect(told, __FILE__, __LINE__);
    memset(&kernel, 0, sizeof kernel);
}

static void what_keeps_it_from_a_channel_is_told(void)
{
    kernel.open_error[0] = ENOENT;
    refused(FAULT_PULSE_MISSING,
            "3/pwm1 pwm: /pwmchip3/pwm1/duty_cycle: No such file or directory\n");
    kernel.open_error[0] = EACCES;
    refused(FAULT_PULSE_REFUSED, "3/pwm1 pwm: /pwmchip3/pwm1/duty_cycle: Permission denied\n");
    kernel.open_error[1] = EACCES;
    kernel.write_error[0] = EIO;
    refused(FAULT_PULSE_REFUSED, "3/pwm1 3/pwm1 duty_cycle 0 fails;close duty_cycle;"
                                 "pwm: /pwmchip3/pwm1/period: Input/output error\n");
    kernel.write_error[1] = EBUSY;
    refused(FAULT_PULSE_REFUSED, "3/pwm1 3/pwm1 period 20000000 fails;close period;duty_cycle 0;"
                                 "3/pwm1 period 20000000 fails;close period;close duty_cycle;"
                                 "pwm: /pwmchip3/pwm1/period: Device or resource busy\n");
    kernel.write_error[0] = EIO;
    refused(FAULT_PULSE_REFUSED,
            "3/pwm1 3/pwm1 period 20000000;close period;duty_cycle 0 fails;close duty_cycle;"
            "pwm: /pwmchip3/pwm1/duty_cycle: Input/output error\n");
    kernel.write_error[2] = EIO;
    refused(FAULT_PULSE_REFUSED, "3/pwm1 3/pwm1 period 20000000;close period;duty_cycle 0;"
                                 "3/pwm1 enable 1 fails;close enable;close duty_cycle;"
                                 "pwm: /pwmchip3/pwm1/enable: Input/output error\n");
}

/* A channel whose old pulse does not fit the new period. */
static void a_period_is_told_again_after_the_pulse(void)
{
    kernel.write_error[1] = EINVAL;
    kernel.once = true;
    opens(PROTOCOL_FIRST_CHANNEL + 1,
          "3/pwm1 3/pwm1 period 20000000 fails;close period;duty_cycle 0;"
          "3/pwm1 period 20000000;close period;duty_cycle 0;3/pwm1 enable 1;close enable;");
    memset(&kernel, 0, sizeof kernel);
}

static void lose(uint8_t number)
{
    CHECK(pwm_set(number, 3000) == FAULT_NONE);
    kernel.write_error[0] = EIO;
    CHECK(pwm_set(number, 0) == FAULT_PULSE_FAILED && !pwm_is_open(number));
    memset(&kernel, 0, sizeof kernel);
    captured[0] = 0;
}

static void a_pi_5_has_four_channels_of_its_own(void)
{
    static const uint8_t pins[] = {12, 13, 18, 19};
    static const char *const told[] = {OPENED("2/pwm0"), OPENED("2/pwm1"), OPENED("2/pwm2"),
                                       OPENED("2/pwm3")};
    char folder[64];
    snprintf(folder, sizeof folder, "%s/pi5", root);
    pwm_look_in(folder);
    for (unsigned i = 0; i < COUNT(pins); i++) {
        opens(pins[i], told[i]);
        lose(pins[i]);
    }
    CHECK(pwm_open(14) == FAULT_PULSE_MISSING);
    EXPECT("pwm: /pi5/no chip makes pulses at pin 14: No such file or directory\n");
    pwm_look_in("/nowhere");
    CHECK(pwm_open(12) == FAULT_PULSE_MISSING);
    EXPECT("pwm: /nowhere/no chip makes pulses at pin 12: No such file or directory\n");
    pwm_look_in(root);
}

static void all_pulses_end(void)
{
    CHECK(pwm_set(0, 3000) == FAULT_NONE);
    CHECK(pwm_set(PROTOCOL_FIRST_CHANNEL + 15, 3000) == FAULT_NONE);
    captured[0] = 0;
    recorded = 0;
    pwm_close_all();
    CHECK(recorded == (PROTOCOL_FIRST_CHANNEL + 15) * 10);
    EXPECT("duty_cycle 0;duty_cycle 0;");
    pwm_close_all();
    EXPECT("");
}

static void every_descriptor_is_one(void)
{
    lose(5);
    for (shift = 1; shift < FILES; shift++) {
        opens(5, OPENED("5/pwm0"));
        lose(5);
    }
    shift = 0;
}

static int next_descriptor(void)
{
    int next = __real_open("/dev/null", O_RDONLY);
    __real_close(next);
    return next;
}

static int remove_it(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status, (void)type, (void)place;
    return remove(path);
}

int main(void)
{
    int next = next_descriptor();
    make_chips();
    make_a_pi_5();
    CHECK(pwm_set(12, 3000) == FAULT_PULSE_MISSING);
    a_pi_5_has_four_channels_of_its_own();
    channels_are_found_by_their_device();
    a_pulse_is_told_once_and_in_nanoseconds();
    a_write_that_fails_is_printed_once();
    a_channel_that_is_open_is_opened_anew_when_it_has_lost_its_chip();
    what_keeps_it_from_a_channel_is_told();
    a_period_is_told_again_after_the_pulse();
    every_descriptor_is_one();
    all_pulses_end();
    CHECK(next_descriptor() == next);
    CHECK(nftw(root, remove_it, 8, FTW_DEPTH | FTW_PHYS) == 0);
    return bench_result();
}
