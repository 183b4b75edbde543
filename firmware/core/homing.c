/*
 * A stepper seeks its end stop fast, backs off, and approaches it again slowly. The edge found on
 * the slow approach is its home position. Each phase is one motion at constant speed; the step
 * interrupt ends it when the end stop triggers. A servo slews to its home position. A stepper
 * without an end stop keeps its position if that is known; otherwise the firmware assumes its home
 * position.
 *
 * Against a mechanical stop, the driver's DIAG output is the end stop. It is not valid at rest and
 * during the first steps of a motion, so the firmware ignores it then. A jammed motor stalls like
 * one that has arrived, but it stalls again right after it should have backed off. That
 * distinguishes the two.
 */
#include "homing.h"

#include "actuators.h"
#include "drivers.h"
#include "player.h"
#include "timer.h"

/* Lead time before each motion, for the driver to hold its motor and for contacts to settle. */
#define LEAD (5 * 1000ul * PROTOCOL_TICKS_PER_US)

/* One motion per actuator, because several actuators home at the same time. */
static union segment motions[BOARD_ACTUATORS];

static bool positive(const struct actuator *actuator)
{
    return actuator->setup.flags & ACTUATOR_FLAG_HOME_POSITIVE;
}

static void fail(uint8_t index, uint8_t fault)
{
    actuator_halt(&actuators[index], timer_now());
    player_fail(fault, index);
}

/* Starts one motion of at most `steps`: LEAVE moves away until the end stop releases, BACK_OFF
 * moves away by all of them, and the other phases move towards the end stop until it triggers. */
static void move(uint8_t index, uint8_t phase, uint16_t interval, uint32_t steps)
{
    struct actuator *actuator = &actuators[index];
    bool away = phase == HOMING_LEAVE || phase == HOMING_BACK_OFF;
    struct step_segment *motion = &motions[index].step;
    motion->interval = interval;
    motion->count = steps > INT16_MAX ? INT16_MAX : (int16_t)steps;
    motion->add = 0;
    actuator->travel = steps - (uint32_t)motion->count;
    actuator->homing = phase;
    bool active_high = actuator->setup.flags & ACTUATOR_FLAG_SENSOR_HIGH;
    struct stepper *motor = &actuator->motor.stepper;
    stepper_ignore_sensor(motor, drivers_stall_blank(index));
    motor->sense = phase == HOMING_BACK_OFF                 ? SENSE_NOTHING
                   : active_high != (phase == HOMING_LEAVE) ? SENSE_HIGH
                                                            : SENSE_LOW;
    if (!stepper_start(motor, motion, 1, positive(actuator) != away, timer_now() + LEAD)) {
        fail(index, FAULT_OVERLOAD);
    }
}

static void finish(struct actuator *actuator)
{
    actuator_finish(actuator);
    if (!actuator->placed) {
        actuator->position = actuator->setup.home_position;
    }
    actuator->homing = HOMING_NOT;
    actuator->placed = true;
    actuator->homed = true;
}

static void start_servo(uint8_t index)
{
    struct actuator *actuator = &actuators[index];
    struct servo_segment *motion = &motions[index].servo;
    motion->pulse = (uint16_t)actuator->setup.home_position;
    motion->duration = (actuator->setup.home_interval + 1ul) * 1000 * PROTOCOL_TICKS_PER_US;
    uint32_t now = timer_now();
    servo_start(&actuator->motor.servo, motion, 1, now);
    actuator->end = now + motion->duration;
    actuator->homing = HOMING_SLEW;
}

static void start_one(uint8_t index)
{
    struct actuator *actuator = &actuators[index];
    const struct config_actuator *setup = &actuator->setup;
    actuator_power(actuator, true);
    if (setup->kind == KIND_STEPPER && !(setup->flags & ACTUATOR_FLAG_HOME_SENSOR)) {
        finish(actuator);
        return;
    }
    actuator_lose_place(actuator);
    if (setup->kind == KIND_SERVO) {
        start_servo(index);
    } else if (!drivers_stall_blank(index) && actuator_senses(actuator)) {
        move(index, HOMING_LEAVE, setup->home_interval, 4ul * setup->home_backoff);
    } else {
        move(index, HOMING_SEEK, setup->home_interval, setup->home_travel);
    }
}

void homing_start(actuator_mask mask)
{
    for (uint8_t i = 0; i < actuator_count; i++) {
        if (mask & (1u << i)) {
            start_one(i);
        }
    }
}

void homing_abort(void)
{
    uint32_t now = timer_now();
    for (uint8_t i = 0; i < actuator_count; i++) {
        if (actuators[i].homing) {
            actuator_halt(&actuators[i], now);
        }
    }
}

/* True if the motor stalled long before it could have returned to its stop. */
static bool stalled_at_once(uint8_t index)
{
    const struct actuator *actuator = &actuators[index];
    uint16_t steps = (uint16_t)motions[index].step.count - actuator->motor.stepper.left;
    return drivers_stall_blank(index) && steps < actuator->setup.home_backoff / 2;
}

/* Continues after the end stop, or the last step, has ended the motion of a phase. */
static void next_phase(uint8_t index)
{
    struct actuator *actuator = &actuators[index];
    const struct config_actuator *setup = &actuator->setup;
    bool sensed = actuator->motor.stepper.sensed;
    if (!sensed && actuator->travel) {
        uint16_t interval = actuator->motor.stepper.interval;
        move(index, actuator->homing, interval, actuator->travel);
        return;
    }
    switch (actuator->homing) {
    case HOMING_LEAVE:
        if (!sensed) {
            fail(index, FAULT_HOME_STUCK);
            return;
        }
        move(index, HOMING_SEEK, setup->home_interval, setup->home_travel);
        return;
    case HOMING_SEEK:
        if (!sensed) {
            fail(index, FAULT_HOME_MISSING);
            return;
        }
        move(index, HOMING_BACK_OFF, setup->home_interval, setup->home_backoff);
        return;
    case HOMING_BACK_OFF:
        if (!drivers_stall_blank(index) && actuator_senses(actuator)) {
            fail(index, FAULT_HOME_STUCK);
            return;
        }
        move(index, HOMING_APPROACH, setup->home_slow_interval, 4ul * setup->home_backoff);
        return;
    default:
        if (!sensed) {
            fail(index, FAULT_HOME_MISSING);
            return;
        }
        if (stalled_at_once(index)) {
            fail(index, FAULT_HOME_BLOCKED);
            return;
        }
        finish(actuator);
    }
}

void homing_poll(void)
{
    for (uint8_t i = 0; i < actuator_count; i++) {
        struct actuator *actuator = &actuators[i];
        if (actuator->homing == HOMING_SLEW) {
            if (time_reached(timer_now(), actuator->end)) {
                finish(actuator);
            }
        } else if (actuator->homing && !actuator->motor.stepper.active) {
            next_phase(i);
        }
    }
}
