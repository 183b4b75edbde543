/*
 * The frame of 20 ms has a slot of 2.5 ms for each of eight actuators; a servo's pulse rises at the
 * start of its slot, so no two rise together and at most one pulse lasts at a time. At the start of
 * a slot the main loop is asked for the pulse of the next one; should it ever miss that, the servo
 * holds its last pulse. The pulse is the position due at the end of its frame: the last pulse of a
 * slew is out no later than the slew's end.
 *
 * An edge that would come while steps due now are worked out is waited for before them: the servo
 * would show its lateness, a motor does not show that of a step.
 */
#include "servo.h"

#include "stepper.h"
#include "timer.h"

#define SLOT (PROTOCOL_SERVO_FRAME / PROTOCOL_MAX_ACTUATORS)
#define NOBODY 0xff

static struct servo *slots[PROTOCOL_MAX_ACTUATORS];
static uint8_t attached;
static bool busy; /* servos are attached, or a pulse of one that was is under way */
static uint8_t slot;
static uint16_t edge_wait; /* ticks to the next edge */
static uint16_t rest;      /* of the slot, after the falling edge */
static bool high;          /* a pulse is under way */
static board_pin high_pin; /* ... there; its servo may be forgotten meanwhile */
static uint8_t high_number;
static volatile uint8_t asked = NOBODY; /* slot whose pulse is to be worked out */
static uint16_t asked_at; /* lower half of the tick of asking: the slot before */

static void ask_for(uint8_t coming)
{
    asked = coming;
    asked_at = timer_last_event();
}

static void start_slot(uint16_t ahead)
{
    slot = (slot + 1) % PROTOCOL_MAX_ACTUATORS;
    ask_for((slot + 1) % PROTOCOL_MAX_ACTUATORS);
    struct servo *servo = slots[slot];
    edge_wait = SLOT;
    if (servo && servo->pulse) {
        board_wait(ahead);
        board_high(servo->pin);
        high = true;
        high_pin = servo->pin;
        high_number = servo->number;
        edge_wait = servo->pulse;
        rest = SLOT - edge_wait;
    }
}

static __attribute__((noinline)) void edge(uint16_t ahead)
{
    if (high) {
        board_wait(ahead);
        board_low(high_pin);
        high = false;
        edge_wait = rest;
        busy = attached;
        if (edge_wait) {
            return;
        }
    }
    start_slot(ahead);
}

uint16_t servo_event(uint16_t elapsed, uint16_t next)
{
    if (!busy) {
        return next;
    }
    edge_wait -= elapsed;
    if (edge_wait <= board_guard(stepper_count())) {
        uint16_t ahead = edge_wait;
        edge(ahead);
        edge_wait += ahead;
    }
    return edge_wait < next ? edge_wait : next;
}

void servo_attach(uint8_t index, struct servo *servo)
{
    board_lock_t lock = board_lock();
    slots[index] = servo;
    board_events_changed();
    attached++;
    if (!busy) {
        busy = true;
        slot = PROTOCOL_MAX_ACTUATORS - 1;
        edge_wait = SLOT;
    }
    board_unlock(lock);
}

bool servo_is_high(uint8_t number)
{
    board_lock_t lock = board_lock();
    bool is = high && high_number == number;
    board_unlock(lock);
    return is;
}

/* A pulse under way ends in its time: one cut short would be another position. */
void servo_detach_all(void)
{
    board_lock_t lock = board_lock();
    for (uint8_t i = 0; i < PROTOCOL_MAX_ACTUATORS; i++) {
        slots[i] = 0;
    }
    attached = 0;
    busy = high;
    asked = NOBODY;
    board_unlock(lock);
}

void servo_poll(void)
{
    if (asked == NOBODY) {
        return;
    }
    board_lock_t lock = board_lock();
    uint8_t due = asked;
    uint16_t then = asked_at;
    asked = NOBODY;
    board_unlock(lock);
    struct servo *servo = slots[due];
    if (servo && servo->pulse) {
        uint32_t frame_end = timer_whole(then) + SLOT + PROTOCOL_SERVO_FRAME;
        servo_set_pulse(servo, servo_at(servo, frame_end));
    }
}
