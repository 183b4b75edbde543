#include "board.h"

#include <signal.h>
#include <stdlib.h>

#include "actuators.h"
#include "clock.h"
#include "faults.h"
#include "lines.h"
#include "maestro.h"
#include "outputs.h"
#include "player.h"
#include "process.h"
#include "pulses.h"
#include "pwm.h"
#include "realtime.h"
#include "simulation.h"
#include "timing.h"

#define NS_PER_MS 1000000ull
#define NS_PER_S (1000 * NS_PER_MS)
#define LATE_NS (2 * NS_PER_MS)

const char machine_name[] = "cubist-firmware-linux";
const char machine_usage[] =
    "  --pwm FOLDER      the PWM chips, instead of /sys/class/pwm\n"
    "  --maestro PORT    the command port of a Pololu Maestro, instead of the first at USB\n"
    "  --maestro-id N    its device number, where several devices share the port\n"
    "  --step-rate N     steps/s that plans may ask for, instead of the board's own\n"
    "  --timing          print at the end how long after their moment pulses were set\n";
const struct option machine_options[] = {NATIVE_OPTIONS,
                                         {"pwm", required_argument, 0, 'w'},
                                         {"maestro", required_argument, 0, 'm'},
                                         {"maestro-id", required_argument, 0, 'i'},
                                         {"step-rate", required_argument, 0, 'a'},
                                         {"timing", no_argument, 0, 't'},
                                         {0, 0, 0, 0}};

static uint16_t step_rate = PROTOCOL_RATE_ONE_LINUX;

uint16_t board_step_rate(void)
{
    return step_rate;
}

/* Returns how late a step may be so that the next one follows at no more than twice its speed. */
static uint64_t step_tolerance_ns(void)
{
    return NS_PER_S / step_rate / 2;
}

bool board_option(int letter, const char *value)
{
    if (letter == 'w') {
        pwm_look_in(value);
        return true;
    }
    if (letter == 'm') {
        maestro_at(value);
        return true;
    }
    if (letter == 'i') {
        return maestro_numbered(value);
    }
    if (letter == 'a') {
        step_rate = (uint16_t)strtoul(value, 0, 10);
        return step_rate > 0;
    }
    if (letter == 't') {
        timing_start();
        return true;
    }
    return false;
}

bool board_start(void)
{
    signal(SIGPIPE, SIG_IGN); /* a simulated chip may disappear, as a real one may */
    if (process_options.pins) {
        lines_simulate();
    } else {
        realtime_start();
        process_options.exact = true;
    }
    return true;
}

void board_end(void)
{
    pulses_end();
    lines_release_all();
    timing_print();
}

void board_passes(uint64_t tick)
{
    outputs_pass(tick);
    pulses_serve(tick);
}

bool board_is_late(void)
{
    return process_options.exact && clock_behind_ns(simulation_now()) > LATE_NS;
}

bool board_has_pin(uint8_t number)
{
    return (number >= PROTOCOL_FIRST_PIN_LINUX && number < LINES) || pulses_only(number);
}

board_pin board_open_servo(uint8_t number, bool level)
{
    (void)level;
    enum fault fault = pulses_open(number);
    if (fault) {
        fault_latch(fault, actuator_count);
    }
    return number;
}

uint8_t board_set_pulse(uint8_t number, uint16_t ticks)
{
    enum fault fault = pulses_set(number, ticks);
    timing_note(clock_behind_ns(simulation_now()));
    return (uint8_t)fault;
}

/* A real board never catches up lost time with a burst of steps. Beyond the tolerance, all later
 * steps are delayed instead. */
board_pin board_output(uint8_t number, bool level)
{
    lines_output(number, level);
    if (process_options.exact) {
        clock_catch_up(step_tolerance_ns());
    }
    return number;
}

board_pin board_input(uint8_t number)
{
    lines_input(number);
    return number;
}

void board_release(uint8_t number)
{
    if (pulses_are_open(number)) {
        pulses_set(number, 0);
    } else if (number < LINES) {
        lines_release(number);
    }
}

static bool is_step(uint8_t number)
{
    bool is = false;
    for (uint8_t i = 0; i < actuator_count; i++) {
        const struct config_actuator *setup = &actuators[i].setup;
        is = is || (setup->kind == KIND_STEPPER && setup->pin == number);
    }
    return is;
}

static bool is_at(const struct config_actuator *setup, uint8_t number)
{
    return setup->pin == number || setup->direction_pin == number;
}

/* Handles the loss of a line: marks the position of its motor as unknown and latches a fault. */
static void check(bool is_set, uint8_t number)
{
    for (uint8_t i = 0; !is_set && i < actuator_count; i++) {
        if (is_at(&actuators[i].setup, number)) {
            actuator_lose_place(&actuators[i]);
        }
    }
    if (!is_set) {
        player_fail(FAULT_LINE_REFUSED, number);
    }
}

void board_high(board_pin pin)
{
    if (process_options.exact && player.running && is_step(pin)) {
        player.late += clock_behind_ns(simulation_now()) > step_tolerance_ns();
    }
    check(lines_set(pin, true), pin);
}

void board_low(board_pin pin)
{
    check(lines_set(pin, false), pin);
}

void board_end_pulse(board_pin pin)
{
    check(lines_end_pulse(pin), pin);
}

bool board_read(board_pin pin)
{
    return lines_read(pin);
}
