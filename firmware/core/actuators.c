#include "actuators.h"

#include <string.h>

#include "board.h"
#include "timer.h"

struct actuator actuators[BOARD_ACTUATORS];
uint8_t actuator_count;

static bool has(const struct actuator *actuator, uint8_t flag)
{
    return actuator->setup.flags & flag;
}

static void close_pin(uint8_t pin)
{
    if (pin != PROTOCOL_NO_PIN) {
        board_release(pin);
    }
}

void actuators_forget(void)
{
    servo_detach_all();
    for (uint8_t i = 0; i < actuator_count; i++) {
        const struct config_actuator *setup = &actuators[i].setup;
        if (!servo_is_high(setup->pin)) { /* the timer ends a high pulse */
            close_pin(setup->pin);
        }
        close_pin(setup->direction_pin);
        close_pin(setup->enable_pin);
        close_pin(setup->sensor_pin);
    }
    actuator_count = 0;
}

static bool optional_pin(uint8_t pin)
{
    return pin == PROTOCOL_NO_PIN || board_has_pin(pin);
}

static bool servo_is_possible(const struct config_actuator *setup)
{
    return setup->minimum >= PROTOCOL_MIN_PULSE && setup->maximum <= PROTOCOL_MAX_PULSE &&
           board_can_pulse(setup->pin);
}

static bool stepper_is_possible(const struct config_actuator *setup)
{
    if (!board_has_pin(setup->direction_pin) || setup->min_interval < BOARD_MIN_INTERVAL) {
        return false;
    }
    if (setup->check_period && !board_has_pin(setup->sensor_pin)) {
        return false;
    }
    if (!(setup->flags & ACTUATOR_FLAG_HOME_SENSOR)) {
        return true;
    }
    uint16_t fast = setup->home_interval;
    uint16_t slow = setup->home_slow_interval;
    return board_has_pin(setup->sensor_pin) && fast >= setup->min_interval && slow >= fast &&
           slow <= PROTOCOL_MAX_INTERVAL && setup->home_backoff > 0 &&
           setup->home_backoff <= INT16_MAX / 4 && setup->home_travel > 0;
}

static bool is_possible(const struct config_actuator *setup)
{
    if (setup->kind > KIND_STEPPER || !board_has_pin(setup->pin) ||
        !optional_pin(setup->direction_pin) || !optional_pin(setup->enable_pin) ||
        !optional_pin(setup->sensor_pin)) {
        return false;
    }
    if (setup->minimum > setup->maximum || setup->home_position < setup->minimum ||
        setup->home_position > setup->maximum) {
        return false;
    }
    return setup->kind == KIND_SERVO ? servo_is_possible(setup) : stepper_is_possible(setup);
}

/* A pulse still high on the pin must be neither cut short nor lengthened. */
static void open_servo(struct actuator *actuator)
{
    uint8_t pin = actuator->setup.pin;
    board_lock_t lock = board_lock();
    actuator->motor.servo.number = pin;
    actuator->motor.servo.pin = board_open_servo(pin, servo_is_high(pin));
    board_unlock(lock);
}

static void open_stepper(struct actuator *actuator)
{
    const struct config_actuator *setup = &actuator->setup;
    struct stepper *motor = &actuator->motor.stepper;
    motor->step = board_open_step(setup->pin, setup->min_interval);
    motor->direction = board_output(setup->direction_pin, false);
    motor->inverted = has(actuator, ACTUATOR_FLAG_INVERT_DIRECTION);
    if (setup->enable_pin != PROTOCOL_NO_PIN) {
        board_output(setup->enable_pin, !has(actuator, ACTUATOR_FLAG_ENABLE_HIGH));
    }
    if (setup->sensor_pin != PROTOCOL_NO_PIN) {
        motor->sensor = board_input(setup->sensor_pin);
    }
}

static bool is_room_for(const struct config_actuator *setup)
{
    if (actuator_count == BOARD_ACTUATORS) {
        return false;
    }
    if (BOARD_STEPPERS == BOARD_ACTUATORS || setup->kind != KIND_STEPPER) {
        return true;
    }
    uint8_t steppers = 0;
    for (uint8_t i = 0; i < actuator_count; i++) {
        steppers += actuators[i].setup.kind == KIND_STEPPER;
    }
    return steppers < BOARD_STEPPERS;
}

uint8_t actuators_add(const struct config_actuator *setup)
{
    if (!is_room_for(setup) || !is_possible(setup)) {
        return FAULT_BAD_CONFIG;
    }
    struct actuator *actuator = &actuators[actuator_count];
    memset(actuator, 0, sizeof *actuator);
    actuator->setup = *setup;
    actuator->position = setup->home_position;
    if (setup->kind == KIND_SERVO) {
        open_servo(actuator);
        servo_attach(actuator_count, &actuator->motor.servo);
    } else {
        open_stepper(actuator);
    }
    actuator_count++;
    return FAULT_NONE;
}

/* Drivers may share an enable pin. It stays on while another motor needs it. */
static bool pin_is_needed(const struct actuator *asking)
{
    for (uint8_t i = 0; i < actuator_count; i++) {
        const struct actuator *other = &actuators[i];
        if (other != asking && other->setup.kind == KIND_STEPPER &&
            other->setup.enable_pin == asking->setup.enable_pin && other->powered) {
            return true;
        }
    }
    return false;
}

static void power_servo(struct actuator *actuator, bool on)
{
    if (!on) {
        board_lock_t lock = board_lock();
        actuator->motor.servo.pulse = 0;
        actuator->motor.servo.count = 0;
        board_unlock(lock);
    }
}

void actuator_power(struct actuator *actuator, bool on)
{
    actuator->powered = on;
    actuator->homed = actuator->homed && on;
    if (actuator->setup.kind == KIND_SERVO) {
        power_servo(actuator, on);
    } else if (actuator->setup.enable_pin != PROTOCOL_NO_PIN && (on || !pin_is_needed(actuator))) {
        board_output(actuator->setup.enable_pin, on == has(actuator, ACTUATOR_FLAG_ENABLE_HIGH));
    }
}

static bool in_range(const struct actuator *actuator, int32_t position)
{
    return position >= actuator->setup.minimum && position <= actuator->setup.maximum;
}

static uint8_t check_pulses(const struct actuator *actuator, const struct profile *profile)
{
    const union segment *segments = profile_segments(profile);
    for (uint8_t i = 0; i < profile->segments; i++) {
        if (!in_range(actuator, segments[i].servo.pulse)) {
            return FAULT_OUT_OF_RANGE;
        }
    }
    return FAULT_NONE;
}

/* The interval changes linearly within a run, so its first and last steps are its extremes. */
static bool run_is_possible(const struct step_segment *run, uint16_t fastest)
{
    if (run->count == 0 || run->count == INT16_MIN) {
        return false;
    }
    int16_t count = (int16_t)(run->count < 0 ? -run->count : run->count);
    int32_t last = run->interval + (int32_t)run->add * (count - 1);
    return run->interval >= fastest && last >= fastest && run->interval <= PROTOCOL_MAX_INTERVAL &&
           last <= PROTOCOL_MAX_INTERVAL;
}

static uint8_t check_steps(const struct actuator *actuator, const struct profile *profile,
                           bool reverse, int32_t *steps)
{
    const union segment *segments = profile_segments(profile);
    *steps = 0;
    for (uint8_t i = 0; i < profile->segments; i++) {
        if (!run_is_possible(&segments[i].step, actuator->setup.min_interval)) {
            return FAULT_BAD_PROFILE;
        }
        *steps += segments[i].step.count;
        if (!in_range(actuator, actuator->position + (reverse ? -*steps : *steps))) {
            return FAULT_OUT_OF_RANGE;
        }
    }
    return FAULT_NONE;
}

uint8_t actuator_check(const struct actuator *actuator, const struct profile *profile, bool reverse,
                       int32_t *steps)
{
    if (profile->kind != actuator->setup.kind) {
        return FAULT_BAD_TURN;
    }
    if (has(actuator, ACTUATOR_FLAG_MUST_HOME) && !actuator->homed) {
        return FAULT_NOT_HOMED;
    }
    if (actuator->setup.kind == KIND_SERVO) {
        return check_pulses(actuator, profile);
    }
    return check_steps(actuator, profile, reverse, steps);
}

static int32_t position_after(const struct actuator *actuator, const struct profile *profile,
                              bool reverse)
{
    const union segment *segments = profile_segments(profile);
    if (actuator->setup.kind == KIND_SERVO) {
        return segments[profile->segments - 1].servo.pulse;
    }
    int32_t steps = 0;
    for (uint8_t i = 0; i < profile->segments; i++) {
        steps += segments[i].step.count;
    }
    return actuator->position + (reverse ? -steps : steps);
}

/* Accepts any one match in three readings, because motors disturb the sensors. */
static bool reads(const struct actuator *actuator, bool active)
{
    for (uint8_t i = 0; i < 3; i++) {
        if (actuator_senses(actuator) == active) {
            return true;
        }
    }
    return false;
}

/* True if the sensor should be active at the current position. */
static bool at_mark(const struct actuator *actuator)
{
    const struct config_actuator *setup = &actuator->setup;
    return setup->kind == KIND_STEPPER && setup->check_period &&
           (actuator->position - setup->check_position) % (int32_t)setup->check_period == 0;
}

void actuator_watch(struct actuator *actuator)
{
    if (actuator->unmoved && reads(actuator, false)) {
        actuator->unmoved = false;
    }
}

bool actuator_is_in_place(const struct actuator *actuator)
{
    bool looked_at = actuator->setup.kind == KIND_STEPPER && actuator->setup.check_period;
    return !looked_at || (!actuator->unmoved && reads(actuator, at_mark(actuator)));
}

bool actuator_start(struct actuator *actuator, const struct profile *profile, bool reverse,
                    uint32_t start)
{
    const union segment *segments = profile_segments(profile);
    actuator_power(actuator, true);
    if (actuator->setup.kind == KIND_SERVO) {
        servo_start(&actuator->motor.servo, &segments->servo, profile->segments, start);
    } else {
        actuator->motor.stepper.sense = SENSE_NOTHING;
        if (!stepper_start(&actuator->motor.stepper, &segments->step, profile->segments, !reverse,
                           start)) {
            return false;
        }
    }
    actuator->unmoved = at_mark(actuator);
    actuator->position = position_after(actuator, profile, reverse);
    actuator->unmoved = actuator->unmoved && at_mark(actuator);
    actuator->end = start + profile->duration;
    actuator->turning = true;
    return true;
}

bool actuator_has_begun(const struct actuator *actuator, uint32_t now)
{
    if (actuator->setup.kind == KIND_SERVO) {
        return time_reached(now, actuator->motor.servo.start);
    }
    return stepper_has_begun(&actuator->motor.stepper);
}

void actuator_lose_place(struct actuator *actuator)
{
    actuator->homed = false;
    actuator->placed = false;
}

void actuator_finish(struct actuator *actuator)
{
    actuator->turning = false;
    if (actuator->setup.kind == KIND_SERVO) {
        servo_finish(&actuator->motor.servo);
    }
}

void actuator_halt(struct actuator *actuator, uint32_t now)
{
    bool moving = actuator_is_moving(actuator);
    if (actuator->setup.kind == KIND_SERVO) {
        servo_freeze(&actuator->motor.servo, now);
    } else {
        stepper_halt(&actuator->motor.stepper);
    }
    if (moving) {
        actuator_lose_place(actuator);
    }
    actuator->turning = false;
    actuator->homing = 0;
}

void actuator_make_safe(struct actuator *actuator)
{
    if (has(actuator, ACTUATOR_FLAG_SAFE_OFF)) {
        actuator_power(actuator, false);
    }
}

actuator_mask actuators_mask(bool (*test)(const struct actuator *))
{
    actuator_mask mask = 0;
    for (uint8_t i = 0; i < actuator_count; i++) {
        if (test(&actuators[i])) {
            mask |= (actuator_mask)(1u << i);
        }
    }
    return mask;
}

bool actuator_is_moving(const struct actuator *actuator)
{
    return actuator->turning || actuator->homing;
}

bool actuator_is_homed(const struct actuator *actuator)
{
    return actuator->homed;
}

bool actuator_is_placed(const struct actuator *actuator)
{
    return actuator->placed;
}

bool actuator_senses(const struct actuator *actuator)
{
    return actuator->setup.kind == KIND_STEPPER && actuator->setup.sensor_pin != PROTOCOL_NO_PIN &&
           board_read(actuator->motor.stepper.sensor) == has(actuator, ACTUATOR_FLAG_SENSOR_HIGH);
}
