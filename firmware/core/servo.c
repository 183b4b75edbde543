/*
 * Slews: computes the pulse due at a tick from a servo's segments. The pulses themselves come from
 * servo_edges.c on boards whose timer makes every edge, and from servo_frames.c on boards whose
 * hardware repeats a pulse by itself.
 */
#include "servo.h"

#include "timer.h"

/* Interpolates between two pulses. Halves both times until the product fits 32 bits. */
static uint16_t interpolate(uint16_t from, uint16_t to, uint32_t passed, uint32_t duration)
{
    while (duration > UINT16_MAX) {
        duration >>= 1;
        passed >>= 1;
    }
    uint32_t way = to > from ? to - from : from - to;
    uint16_t done = (uint16_t)(way * passed / duration);
    return to > from ? from + done : from - done;
}

uint16_t servo_at(const struct servo *servo, uint32_t moment)
{
    if (!servo->count || !time_reached(moment, servo->start)) {
        return servo->count ? servo->from : servo->target;
    }
    uint32_t passed = moment - servo->start;
    uint16_t from = servo->from;
    for (uint8_t i = 0; i < servo->count; i++) {
        const struct servo_segment *segment = &servo->segments[i];
        if (passed < segment->duration) {
            return interpolate(from, segment->pulse, passed, segment->duration);
        }
        passed -= segment->duration;
        from = segment->pulse;
    }
    return servo->target;
}

void servo_start(struct servo *servo, const struct servo_segment *segments, uint8_t count,
                 uint32_t start)
{
    servo->from = servo->target ? servo->target : segments[0].pulse;
    servo->target = segments[count - 1].pulse;
    servo->segments = segments;
    servo->count = count;
    servo->start = start;
    if (!servo->pulse) {
        servo_set_pulse(servo, servo->from);
    }
}

void servo_freeze(struct servo *servo, uint32_t now)
{
    uint16_t pulse = servo_at(servo, now + PROTOCOL_SERVO_FRAME);
    servo->count = 0;
    servo->target = pulse;
    if (servo->pulse) {
        servo_set_pulse(servo, pulse);
    }
}

void servo_finish(struct servo *servo)
{
    servo->count = 0;
    if (servo->pulse) {
        servo_set_pulse(servo, servo->target);
    }
}
