/*
 * The 20 ms frame has a 2.5 ms slot for each of eight actuators; host/servos.c has two such frames
 * side by side. A servo's pulse rises at the start of its slot, so at most one pulse is high at a
 * time. At the start of each slot the timer event asks the main loop for the next slot's pulse; if
 * the main loop misses that, the servo repeats its last pulse. The pulse is the position due at the
 * end of its frame, so the last pulse of a slew is out by the end of the slew.
 *
 * If an edge would fall due while the event computes steps, the event waits for the edge first: a
 * late edge shows on the servo, a late step does not show on a motor.
 */
#include "servo.h"

#include "stepper.h"
#include "timer.h"

#define SLOTS 8
#define SLOT (PROTOCOL_SERVO_FRAME / SLOTS)
#define NOBODY 0xff

static struct servo *slots[SLOTS];
static uint8_t attached;
static bool busy; /* servos are attached, or the last pulse of a detached one is still high */
static uint8_t slot;
static uint16_t edge_wait; /* ticks to the next edge */
static uint16_t rest;      /* ticks of the slot after the falling edge */
static bool high;          /* a pulse is high */
static board_pin high_pin; /* ... on this pin; its servo may have been detached since */
static uint8_t high_number;
static volatile uint8_t asked = NOBODY; /* slot whose pulse the main loop must compute */
static uint16_t asked_at; /* lower half of the request's tick, one slot earlier */

static void ask_for(uint8_t coming)
{
    asked = coming;
    asked_at = timer_last_event();
}

static void start_slot(uint16_t ahead)
{
    slot = (slot + 1) % SLOTS;
    ask_for((slot + 1) % SLOTS);
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
        slot = SLOTS - 1;
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

/* A high pulse still ends on time: a shortened one would command another position. */
void servo_detach_all(void)
{
    board_lock_t lock = board_lock();
    for (uint8_t i = 0; i < SLOTS; i++) {
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
