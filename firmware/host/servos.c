/*
 * The pulses of 16 servos: servo_edges.c, which has room for eight, is built twice, with prefixed
 * functions. The frames of the two run side by side.
 */
#include "servo.h"

#define LANE_SERVOS 8

#define DECLARE_LANE(lane)                                                                         \
    void lane##_servo_attach(uint8_t index, struct servo *servo);                                  \
    bool lane##_servo_is_high(uint8_t number);                                                     \
    void lane##_servo_detach_all(void);                                                            \
    void lane##_servo_poll(void);                                                                  \
    uint16_t lane##_servo_event(uint16_t elapsed, uint16_t next)

DECLARE_LANE(first);
DECLARE_LANE(second);

void servo_attach(uint8_t index, struct servo *servo)
{
    if (index < LANE_SERVOS) {
        first_servo_attach(index, servo);
    } else {
        second_servo_attach(index - LANE_SERVOS, servo);
    }
}

bool servo_is_high(uint8_t number)
{
    return first_servo_is_high(number) || second_servo_is_high(number);
}

void servo_detach_all(void)
{
    first_servo_detach_all();
    second_servo_detach_all();
}

void servo_poll(void)
{
    first_servo_poll();
    second_servo_poll();
}

uint16_t servo_event(uint16_t elapsed, uint16_t next)
{
    return second_servo_event(elapsed, first_servo_event(elapsed, next));
}
