/*
 * For boards that are told of a pulse and repeat it by themselves every 20 ms, in frames whose
 * beginning nobody knows: a pulse told now is out within a frame, and that is 22.5 ms. The frame of
 * the firmware has a slot of 2.5 ms for each actuator, so one pulse at a time is told, and it is the
 * position due at the end of that frame, as with servo_edges.c. A slew is then at most a frame late,
 * never ahead of where a board with edges would be; the host adds a frame to every travel.
 */
#include "actuators.h"
#include "board.h"
#include "player.h"
#include "servo.h"
#include "timer.h"

#define SLOT (PROTOCOL_SERVO_FRAME / PROTOCOL_MAX_ACTUATORS)

static struct servo *slots[PROTOCOL_MAX_ACTUATORS];
static uint8_t slot;
static uint16_t wait = SLOT; /* ticks to the next slot */

static void fail(uint8_t fault, uint8_t index)
{
    actuator_lose_place(&actuators[index]);
    player_fail(fault, index);
}

static void start_slot(void)
{
    slot = (slot + 1) % PROTOCOL_MAX_ACTUATORS;
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
    return false; /* a pulse under way is the board's */
}

void servo_detach_all(void)
{
    for (uint8_t i = 0; i < PROTOCOL_MAX_ACTUATORS; i++) {
        slots[i] = 0;
    }
}

void servo_poll(void)
{
    /* pulses are worked out in the timer event */
}
