/*
 * Each turn's start time depends on the turns before it, so a plan is a chain in time that does not
 * need the host's clock. The player starts each turn slightly early: it hands the turn and its tick
 * to the interrupts. From then on the turn is in progress and always finishes, except after an
 * emergency stop. A turn that misses its tick (the queue ran dry, the plan was held) starts as soon
 * as possible and delays the rest of the chain.
 */
#include "player.h"

#include "actuators.h"
#include "faults.h"
#include "queue.h"
#include "timer.h"

#define TICKS_PER_MS (1000ul * PROTOCOL_TICKS_PER_US)
#define GO_LEAD (2 * TICKS_PER_MS)
#define SERVO_TOLERANCE (5 * TICKS_PER_MS)

struct player player;

void player_begin(uint16_t plan, uint16_t turns)
{
    queue_clear();
    player.plan = plan;
    player.turns = turns;
    player.started = 0;
    player.done = 0;
    player.executed = 0;
}

void player_go_at(uint32_t tick)
{
    player.go = tick;
    player.previous_start = tick;
    player.previous_end = tick;
    player.latest_end = tick;
    player.resumed = false;
    player.running = true;
}

void player_go(void)
{
    if (!player.running) {
        player_go_at(timer_now() + GO_LEAD);
    }
    player.resumed = player.holding;
    player.holding = false;
}

void player_hold(void)
{
    player.holding = player.running;
}

void player_drop(void)
{
    player_hold();
    player.dropping = player.running;
}

void player_fail(uint8_t fault, uint8_t detail)
{
    fault_latch(fault, detail);
    player_drop();
}

void player_end(void)
{
    player.running = false;
    player.holding = false;
    player.dropping = false;
    player.turns = player.started;
    queue_clear();
}

/* Fails the plan because something blocked an actuator. Turns that have not begun are cancelled;
 * moving actuators finish their turns. */
static void miss(uint8_t index, uint32_t now)
{
    actuator_lose_place(&actuators[index]);
    for (uint8_t i = 0; i < actuator_count; i++) {
        if (actuators[i].turning && !actuator_has_begun(&actuators[i], now)) {
            actuator_halt(&actuators[i], now);
        }
    }
    player_fail(FAULT_NOT_IN_PLACE, index);
}

/* Samples the sensors about once a millisecond, as fast as they respond. */
static void watch_sensors(uint32_t now)
{
    static uint8_t watched;
    uint8_t moment = (uint8_t)(now >> 11);
    if (moment == watched) {
        return;
    }
    watched = moment;
    for (uint8_t i = 0; i < actuator_count; i++) {
        if (actuators[i].turning) {
            actuator_watch(&actuators[i]);
        }
    }
}

static void finish_turns(uint32_t now)
{
    for (uint8_t i = 0; i < actuator_count; i++) {
        struct actuator *actuator = &actuators[i];
        bool stepping = actuator->setup.kind == KIND_STEPPER && actuator->motor.stepper.active;
        if (actuator->turning && !stepping && time_reached(now, actuator->end)) {
            actuator_finish(actuator);
            if (!actuator_is_in_place(actuator)) {
                miss(i, now);
                continue;
            }
            player.done++;
            if (actuator->end - player.go > player.executed) {
                player.executed = actuator->end - player.go;
            }
        }
    }
}

static uint32_t start_of(const struct turn *turn)
{
    switch (turn->timing) {
    case TIMING_WITH:
        return player.previous_start;
    case TIMING_AFTER_PREVIOUS:
        return player.previous_end;
    case TIMING_DELAY:
        return player.previous_start + turn->delay * PROTOCOL_TICKS_PER_US;
    default:
        return player.latest_end;
    }
}

/* Fails the plan. No further turn starts, not even one due together with a turn in progress. */
static bool refuse(uint8_t fault, uint8_t actuator)
{
    player_fail(fault, actuator);
    queue_clear();
    return false;
}

static void note_start(uint32_t start, uint32_t duration)
{
    player.previous_start = start;
    player.previous_end = start + duration;
    if (time_reached(player.previous_end, player.latest_end)) {
        player.latest_end = player.previous_end;
    }
    player.started++;
    player.resumed = false;
}

/* Starts a turn at its tick, or as soon as possible if that has passed. */
static bool start_turn(const struct turn *turn, struct actuator *actuator,
                       const struct profile *profile, uint32_t now)
{
    uint32_t start = start_of(turn);
    bool missed = profile->kind == KIND_SERVO && time_reached(now, start + SERVO_TOLERANCE);
    if (missed || !actuator_start(actuator, profile, turn->reverse, start)) {
        player.late += !player.resumed;
        start = now + GO_LEAD;
        if (!actuator_start(actuator, profile, turn->reverse, start)) {
            return refuse(FAULT_OVERLOAD, turn->actuator);
        }
    }
    note_start(start, profile->duration);
    return true;
}

/* Starts the next turn if it is due. Returns true if it did, so that another may follow. */
static bool start_next(uint32_t now)
{
    struct turn turn;
    if (!queue_peek(&turn)) {
        return false;
    }
    bool together = turn.timing == TIMING_WITH && !time_reached(now, player.previous_end);
    if (player.holding && !together) {
        return false;
    }
    const struct profile *profile = profiles_get(turn.profile);
    bool beyond_plan = player.started == player.turns; /* the plan would never end */
    if (!profile || turn.actuator >= actuator_count || beyond_plan) {
        return refuse(FAULT_BAD_TURN, turn.actuator);
    }
    struct actuator *actuator = &actuators[turn.actuator];
    if (actuator_is_moving(actuator) || !time_reached(now + PROTOCOL_LOOKAHEAD, start_of(&turn))) {
        return false;
    }
    int32_t steps;
    uint8_t fault = actuator_check(actuator, profile, turn.reverse, &steps);
    if (fault) {
        return refuse(fault, turn.actuator);
    }
    if (!start_turn(&turn, actuator, profile, now)) {
        return false;
    }
    queue_drop();
    return true;
}

static void note_underrun(uint32_t now)
{
    struct turn turn;
    bool dry = player.started < player.turns && !queue_peek(&turn);
    if (dry && !player.resumed && !player.holding && time_reached(now, player.latest_end)) {
        player.underruns++;
        player.resumed = true;
    }
}

void player_poll(void)
{
    uint32_t now = timer_now();
    watch_sensors(now);
    finish_turns(now);
    if (!player.running) {
        return;
    }
    while (start_next(now)) {
    }
    note_underrun(now);
    bool ended = player.dropping || player.started == player.turns;
    if (ended && !actuators_mask(actuator_is_moving)) {
        player_end();
    }
}
