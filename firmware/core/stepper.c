/*
 * The step interrupt is simple on purpose. It raises the step pins of all motors that are due, so
 * aligned axes step together. It computes the new intervals, one 16-bit addition each, while the
 * pulses last. Then it ends the pulses. It uses no division and no floating point.
 */
#include "stepper.h"

#include "safety.h"
#include "step_runs.h"
#include "timer.h"

/* Not inlined, so that the interrupt's common path saves fewer registers. */
#define RARE __attribute__((noinline))

/* Longest wait for a first step that still fits 16 bits when counted from the last event. */
#define LONGEST_WAIT (UINT16_MAX - TIMER_IDLE)

/* Null-terminated. */
static struct stepper *running[BOARD_ACTUATORS + 1];
static uint8_t running_count;

/* Call after the last step of a run, or after every step of a run that reads a sensor (its interval
 * is constant). Returns false after the last step of the motion. */
static RARE bool change_run(struct stepper *motor)
{
    if (motor->sense != SENSE_NOTHING && sensor_reached(motor)) {
        return false;
    }
    if (--motor->left) {
        return true;
    }
    if (!motor->segments_left) {
        return false;
    }
    next_run(motor);
    return true;
}

/* Computes when the next step is due. Returns false if there is none. */
static inline bool prepare_step(struct stepper *motor)
{
    uint16_t left = motor->left - 1;
    if (left && motor->sense == SENSE_NOTHING) {
        motor->left = left;
        motor->interval += (uint16_t)motor->add;
    } else if (!change_run(motor)) {
        return false;
    }
    motor->wait = motor->interval;
    return true;
}

/* Moves the last motor of the list into the freed place. A loop that runs from the end has already
 * served that motor. */
static RARE void retire(struct stepper **place)
{
    board_events_changed();
    (*place)->active = false;
    *place = running[--running_count];
    running[running_count] = 0;
}

static inline uint16_t lesser(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

static inline uint16_t one_motor(uint16_t elapsed, uint16_t next)
{
    struct stepper *motor = running[0];
    motor->wait -= elapsed;
    if (motor->wait == 0) {
        board_high(motor->step);
        bool more = prepare_step(motor);
        board_end_pulse(motor->step);
        if (!more) {
            retire(running);
            return next;
        }
    }
    return lesser(motor->wait, next);
}

static inline uint16_t several_motors(uint16_t elapsed, uint16_t next)
{
    struct stepper **place = running;
    bool due = false;
    for (struct stepper *motor; (motor = *place); place++) {
        uint16_t wait = motor->wait - elapsed;
        motor->wait = wait;
        if (wait == 0) {
            board_high(motor->step);
            due = true;
        } else {
            next = lesser(wait, next);
        }
    }
    while (due && place != running) {
        struct stepper *motor = *--place;
        if (motor->wait) {
            continue;
        }
        bool more = prepare_step(motor);
        board_end_pulse(motor->step);
        if (!more) {
            retire(place);
        } else {
            next = lesser(motor->wait, next);
        }
    }
    return next;
}

uint16_t stepper_event(uint16_t elapsed, uint16_t next)
{
    if (!running[0]) {
        return next;
    }
    return running[1] ? several_motors(elapsed, next) : one_motor(elapsed, next);
}

bool stepper_start(struct stepper *motor, const struct step_segment *segments, uint8_t count,
                   bool forward, uint32_t start)
{
    if (motor->active || running_count == BOARD_ACTUATORS) {
        return false;
    }
    load_runs(motor, segments, count, forward);
    uint32_t first = start + motor->interval;
    int32_t ahead = (int32_t)(first - timer_now());
    if (ahead <= 0 || ahead > LONGEST_WAIT) {
        return false;
    }
    board_lock_t lock = board_lock();
    uint16_t wait = (uint16_t)first - timer_last_event();
    bool met = !safety_is_stopping() && timer_request(wait);
    if (met) {
        motor->wait = wait;
        motor->active = true;
        running[running_count++] = motor;
        board_events_changed();
    }
    board_unlock(lock);
    return met;
}

uint8_t stepper_count(void)
{
    return running_count;
}

bool stepper_has_begun(const struct stepper *motor)
{
    board_lock_t lock = board_lock();
    bool first_run = motor->segments_left + 1 == motor->segments;
    bool waits = motor->active && first_run && motor->left == steps_of(motor->segment - 1);
    board_unlock(lock);
    return !waits;
}

void stepper_halt(struct stepper *motor)
{
    board_lock_t lock = board_lock();
    for (uint8_t i = 0; i < running_count; i++) {
        if (running[i] == motor) {
            retire(&running[i]);
        }
    }
    board_unlock(lock);
}

void stepper_halt_all(void)
{
    board_lock_t lock = board_lock();
    while (running_count) {
        retire(&running[running_count - 1]);
    }
    board_unlock(lock);
}
