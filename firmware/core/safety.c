#include "safety.h"

#include "actuators.h"
#include "board.h"
#include "faults.h"
#include "homing.h"
#include "link.h"
#include "player.h"
#include "protocol.h"
#include "timer.h"

static volatile uint8_t stopped; /* cause of a safety_stop() that is not handled yet */
static bool watching;
static uint32_t heard_ms;
static uint16_t hold_after_ms = PROTOCOL_SILENCE_HOLD_MS;
static uint16_t safe_after_ms = PROTOCOL_SILENCE_SAFE_MS;
static uint8_t times_held;

void safety_stop(uint8_t cause)
{
    stopped = cause;
    stepper_halt_all();
}

bool safety_is_stopping(void)
{
    return stopped;
}

/* Steppers lose their position when they stop dead, and the cube's layers may be anywhere, so
 * nothing may turn until it is homed. Actuators at rest keep their position. */
static void stop_everything(void)
{
    uint32_t now = timer_now();
    for (uint8_t i = 0; i < actuator_count; i++) {
        actuator_halt(&actuators[i], now);
        actuators[i].homed = false;
    }
    player_end();
}

static void make_safe(void)
{
    stop_everything();
    for (uint8_t i = 0; i < actuator_count; i++) {
        actuator_make_safe(&actuators[i]);
    }
}

void safety_release(void)
{
    stop_everything();
    for (uint8_t i = 0; i < actuator_count; i++) {
        actuator_power(&actuators[i], false);
    }
}

void safety_set_silence(uint16_t hold_ms, uint16_t safe_ms)
{
    bool possible = hold_ms >= 100 && hold_ms <= 2000 && safe_ms >= hold_ms;
    hold_after_ms = possible ? hold_ms : PROTOCOL_SILENCE_HOLD_MS;
    safe_after_ms = possible ? safe_ms : PROTOCOL_SILENCE_SAFE_MS;
}

void safety_heard(void)
{
    heard_ms = board_link_ms();
    watching = true;
}

uint8_t safety_times_held(void)
{
    return times_held;
}

static void watch_host(void)
{
    uint32_t silent_ms = board_link_ms() - heard_ms;
    if (silent_ms > hold_after_ms) {
        times_held += player.running && !player.holding;
        player_hold();
        homing_abort();
    }
    if (silent_ms > safe_after_ms) {
        watching = false;
        if (actuator_count) {
            player_fail(FAULT_HOST_LOST, 0);
            make_safe();
        }
    }
}

void safety_poll(void)
{
    if (stopped) {
        link_drop_earlier(); /* a command sent before the stop must not follow it */
        fault_clear();
        player_fail(stopped, 0);
        make_safe();
        for (uint8_t i = 0; i < actuator_count; i++) {
            actuator_lose_place(&actuators[i]); /* a person will realign the robot by hand */
        }
        stopped = FAULT_NONE; /* the latched fault prevents any start from here on */
    }
    if (watching) {
        watch_host();
    }
}
