#include "pulses.h"

#include "maestro.h"
#include "pwm.h"

static bool is_maestro(uint8_t number)
{
    return number >= PROTOCOL_FIRST_MAESTRO && number < PROTOCOL_PINS_LINUX;
}

bool pulses_only(uint8_t number)
{
    bool is_pca9685 =
        number >= PROTOCOL_FIRST_CHANNEL && number < PROTOCOL_FIRST_CHANNEL + PROTOCOL_CHANNELS;
    return is_pca9685 || is_maestro(number);
}

enum fault pulses_open(uint8_t number)
{
    return is_maestro(number) ? maestro_open(number) : pwm_open(number);
}

enum fault pulses_set(uint8_t number, uint16_t ticks)
{
    return is_maestro(number) ? maestro_set(number, ticks) : pwm_set(number, ticks);
}

bool pulses_are_open(uint8_t number)
{
    return is_maestro(number) ? maestro_is_open(number) : pwm_is_open(number);
}

void pulses_serve(uint64_t tick)
{
    maestro_serve(tick);
}

void pulses_end(void)
{
    pwm_close_all();
    maestro_end();
}
