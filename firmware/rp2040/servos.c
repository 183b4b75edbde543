/*
 * Servo pulses by the chip's PWM: each of the eight slices counts half microseconds in frames of
 * 20 ms, which start 2.5 ms apart, and takes a new pulse length when a frame begins. Shortly before,
 * the main loop computes the pulse of the coming frame. As in servo_edges.c it is the position due at
 * the end of that frame, so the last pulse of a slew is out by the end of the slew.
 */
#include "servo.h"

#include "hardware.h"
#include "timer.h"

#define SLICES 8
#define CHANNELS (2 * SLICES) /* the GPIOs after these share them */
#define STAGGER (PROTOCOL_SERVO_FRAME / SLICES)
#define LEAD 4000 /* ticks, longer than a round of the main loop */
#define DIVIDER_62_5 (62u << 4 | 8u)

static struct servo *servos[BOARD_ACTUATORS];
static uint32_t pulses[SLICES]; /* as in PWM_CC: of the even pin, and of the odd pin << 16 */
static uint32_t frames[SLICES]; /* ticks at which the first frames without a pulse length begin */

static uint8_t slice_of(uint8_t pin)
{
    return pin / 2 % SLICES;
}

static void set_pulse(uint8_t pin, uint16_t pulse)
{
    uint8_t slice = slice_of(pin);
    uint8_t shift = pin % 2 * 16;
    uint32_t both = (pulses[slice] & ~(0xffffu << shift)) | (uint32_t)pulse << shift;
    if (both != pulses[slice]) {
        pulses[slice] = both;
        REGISTER(PWM_SLICE(slice) + PWM_CC) = both;
    }
}

void servos_start(void)
{
    chip_start(RESETS_PWM);
    for (uint8_t slice = 0; slice < SLICES; slice++) {
        uint32_t base = PWM_SLICE(slice);
        REGISTER(base + PWM_DIV) = DIVIDER_62_5;
        REGISTER(base + PWM_TOP) = PROTOCOL_SERVO_FRAME - 1;
        REGISTER(base + PWM_CTR) = slice ? PROTOCOL_SERVO_FRAME - slice * STAGGER : 0;
        REGISTER(base + PWM_CC) = 0;
    }
    uint32_t before = timer_now();
    while (timer_now() == before) {
    }
    REGISTER(PWM_EN) = (1u << SLICES) - 1;
    for (uint8_t slice = 0; slice < SLICES; slice++) {
        frames[slice] = before + 1 + slice * STAGGER;
    }
}

bool board_can_pulse(uint8_t number)
{
    for (uint8_t i = 0; i < BOARD_ACTUATORS; i++) {
        if (servos[i] && servos[i]->number % CHANNELS == number % CHANNELS) {
            return false;
        }
    }
    return true;
}

board_pin board_open_servo(uint8_t number, bool level)
{
    (void)level; /* a pulse in progress continues */
    pin_connect(number, FUNCTION_PWM, 0);
    return (board_pin){0, 0};
}

void servo_attach(uint8_t index, struct servo *servo)
{
    servos[index] = servo;
}

bool servo_is_high(uint8_t number)
{
    bool is_pulsed = REGISTER(GPIO_CTRL(number)) == FUNCTION_PWM;
    return is_pulsed && REGISTER(GPIO_STATUS(number)) & GPIO_TO_PAD;
}

/* Pulses in progress end by themselves, and none follow. */
void servo_detach_all(void)
{
    for (uint8_t i = 0; i < BOARD_ACTUATORS; i++) {
        if (servos[i]) {
            set_pulse(servos[i]->number, 0);
            servos[i] = 0;
        }
    }
}

/* Sets the pulses of a slice's next frame, which begins at tick `frame` or has begun. */
static void set_pulses(uint8_t slice, bool is_new, uint32_t frame)
{
    for (uint8_t i = 0; i < BOARD_ACTUATORS; i++) {
        struct servo *servo = servos[i];
        if (!servo || slice_of(servo->number) != slice) {
            continue;
        }
        if (is_new && servo->pulse) {
            servo->pulse = servo_at(servo, frame + PROTOCOL_SERVO_FRAME);
        }
        set_pulse(servo->number, servo->pulse);
    }
}

void servo_poll(void)
{
    uint32_t now = timer_now();
    for (uint8_t slice = 0; slice < SLICES; slice++) {
        while (time_reached(now, frames[slice])) { /* too late for this one */
            frames[slice] += PROTOCOL_SERVO_FRAME;
        }
        bool is_new = time_reached(now + LEAD, frames[slice]);
        set_pulses(slice, is_new, frames[slice]);
        frames[slice] += is_new ? PROTOCOL_SERVO_FRAME : 0;
    }
}
