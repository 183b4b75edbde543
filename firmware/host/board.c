/* The simulated board: every pin is an output or input of the simulated robot. */
#include "board.h"

#include <string.h>

#include "outputs.h"
#include "pins.h"
#include "simulation.h"

const char machine_name[] = "cubist-firmware-host";
const char machine_usage[] =
    "  --stands-for BOARD makes steps as fast as that board: rp2040, atmega328p, ...\n";
const struct option machine_options[] = {
    NATIVE_OPTIONS, {"stands-for", required_argument, 0, 'b'}, {0, 0, 0, 0}};

static const struct board_steps all_steps[] = PROTOCOL_STEPS;
struct board_steps board_steps = {"host", PROTOCOL_MIN_INTERVAL_HOST, PROTOCOL_RATE_ONE_HOST,
                                  PROTOCOL_RATE_TWO_HOST, PROTOCOL_RATE_SIX_HOST};

bool board_option(int letter, const char *value)
{
    for (unsigned i = 0; letter == 'b' && i < sizeof all_steps / sizeof *all_steps; i++) {
        if (strcmp(all_steps[i].name, value) == 0) {
            board_steps = all_steps[i];
            return true;
        }
    }
    return false;
}

bool board_start(void)
{
    return true;
}

void board_end(void)
{
    outputs_off();
}

void board_passes(uint64_t tick)
{
    outputs_pass(tick);
}

bool board_has_pin(uint8_t number)
{
    return number < PINS;
}

board_pin board_output(uint8_t number, bool level)
{
    outputs_set(number, level);
    return number;
}

board_pin board_open_servo(uint8_t number, bool level)
{
    return board_output(number, level);
}

board_pin board_input(uint8_t number)
{
    return number;
}

void board_release(uint8_t number)
{
    outputs_set(number, false);
}

void board_high(board_pin pin)
{
    outputs_set(pin, true);
}

void board_low(board_pin pin)
{
    outputs_set(pin, false);
}

void board_end_pulse(board_pin pin)
{
    outputs_end_pulse(pin);
}

bool board_read(board_pin pin)
{
    return pins_read(simulation_now(), pin);
}
