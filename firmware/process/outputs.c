#include "outputs.h"

#include "pins.h"
#include "simulation.h"

#define PULSE_TICKS 4 /* length of a step pulse */
#define NO_PULSE UINT64_MAX

static bool levels[PINS];
static uint64_t falls_at[PINS]; /* tick at which the pin's step pulse ends; 0 for no pulse */
static uint64_t next_fall = NO_PULSE;

static void change(uint64_t time, uint8_t pin, bool level)
{
    if (levels[pin] != level) {
        levels[pin] = level;
        pins_record(time, pin, level, PIN_OUTPUT);
    }
}

void outputs_set(uint8_t pin, bool level)
{
    change(simulation_now(), pin, level);
}

void outputs_end_pulse(uint8_t pin)
{
    falls_at[pin] = simulation_now() + PULSE_TICKS;
    if (falls_at[pin] < next_fall) {
        next_fall = falls_at[pin];
    }
}

static uint64_t earliest_fall(void)
{
    uint64_t earliest = NO_PULSE;
    for (unsigned pin = 0; pin < PINS; pin++) {
        if (falls_at[pin] && falls_at[pin] < earliest) {
            earliest = falls_at[pin];
        }
    }
    return earliest;
}

void outputs_pass(uint64_t tick)
{
    while (next_fall <= tick) {
        for (uint8_t pin = 0; pin < PINS; pin++) {
            if (falls_at[pin] == next_fall) {
                falls_at[pin] = 0;
                change(next_fall, pin, false);
            }
        }
        next_fall = earliest_fall();
    }
}

void outputs_off(void)
{
    for (uint8_t pin = 0; pin < PINS; pin++) {
        outputs_set(pin, false);
    }
}
