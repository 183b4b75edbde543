/*
 * For boards whose hardware repeats a pulse by itself every 20 ms, in frames whose phase the
 * firmware cannot observe: a pulse set now is out within a frame, that is, within 22.5 ms. The
 * firmware's own frame has a 2.5 ms slot for each actuator, so it sets one pulse at a time. As in
 * servo_edges.c, the pulse is the position due at the end of that frame. A slew is then at most a
 * frame later than on a board with edges and never ahead of it. The host adds a frame to every
 * travel.
 */
#include "actuators.h"
#include "board.h"
#include "player.h"
#include "servo.h"
#include "timer.h"

#define SLOT (PROTOCOL_SERVO_FRAME / BOARD_ACTUATORS)

static struct servo *slots[BOARD_ACTUATORS];
static uint8_t slot;
static uint16_t wait = SLOT; /* ticks to the next slot */

static void fail(uint8_t fault, uint8_t index)
{
    actuator_lose_place(&actuators[index]);
    player_fail(fault, index);
}

static void start_slot(void)
{
    slot = (slot + 1) % BOARD_ACTUATORS;
    struct servo *servo = slots[slot];
    if (!servo) {
        return;
    }
    if (servo->pulse) {
        uint32_t frame_end = timer_whole(timer_last_event()) + PROTOCOL_SERVO_FRAME;
        servo_set_pulse(servo, servo_at(servo, frame_end));
    }
    player.late += player.running && board_is_late();
    uint8_t fault = board_set_pulse(servo->number, servo->pulse);
    if (fault) {
        fail(fault, slot);
    }
}

uint16_t servo_event(uint16_t elapsed, uint16_t next)
{
    wait -= elapsed;
    if (wait == 0) {
        start_slot();
        wait = SLOT;
    }
    return wait < next ? wait : next;
}

void servo_attach(uint8_t index, struct servo *servo)
{
    slots[index] = servo;
}

bool servo_is_high(uint8_t number)
{
    (void)number;
    return false; /* the board's hardware ends its own pulses */
}

void servo_detach_all(void)
{
    for (uint8_t i = 0; i < BOARD_ACTUATORS; i++) {
        slots[i] = 0;
    }
}

void servo_poll(void)
{
    /* the timer event computes the pulses */
}
