/* Runs of steps, one motor at a time: for stepper.c and for boards that play them differently. */
#ifndef CUBIST_STEP_RUNS_H
#define CUBIST_STEP_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "stepper.h"

/* Consecutive steps with an active end stop before it counts, because its contacts bounce. */
#define SENSED_STEPS 3

static void set_direction(struct stepper *motor, bool positive_count)
{
    board_lock_t lock = board_lock();
    if ((positive_count == (bool)motor->forward) != (bool)motor->inverted) {
        board_high(motor->direction);
    } else {
        board_low(motor->direction);
    }
    board_unlock(lock);
}

static uint16_t steps_of(const struct step_segment *run)
{
    return run->count < 0 ? (uint16_t)-run->count : (uint16_t)run->count;
}

static void next_run(struct stepper *motor)
{
    const struct step_segment *run = motor->segment++;
    motor->segments_left--;
    motor->interval = run->interval;
    motor->add = run->add;
    motor->left = steps_of(run);
    set_direction(motor, run->count >= 0);
}

/* Prepares a motor at rest for a motion. */
static void load_runs(struct stepper *motor, const struct step_segment *segments, uint8_t count,
                      bool forward)
{
    motor->segment = segments;
    motor->segments_left = count;
    motor->segments = count;
    motor->forward = forward;
    motor->sensed = false;
    motor->sensed_steps = 0;
    next_run(motor);
}

static bool sensor_reached(struct stepper *motor)
{
#if defined(BOARD_HAS_DRIVERS)
    if (motor->blank) {
        motor->blank--;
        return false;
    }
#endif
    bool level = board_read(motor->sensor);
    if (level != (motor->sense == SENSE_HIGH)) {
        motor->sensed_steps = 0;
        return false;
    }
    motor->sensed = ++motor->sensed_steps >= SENSED_STEPS;
    return motor->sensed;
}

#endif
