/* The board's memory: the queue of turns, the units of profiles, a servo's slew. */
#include <string.h>

#include "bench.h"
#include "profiles.h"
#include "queue.h"
#include "servo.h"

#define UNITS 61
#define QUEUE 320

static bool reads(const char *bytes, uint8_t length, struct turn wanted, uint8_t taken)
{
    struct turn turn;
    memset(&turn, 0xff, sizeof turn);
    return turn_read((const uint8_t *)bytes, length, &turn) == taken &&
           (!taken || (turn.profile == wanted.profile && turn.timing == wanted.timing &&
                       turn.actuator == wanted.actuator && turn.reverse == wanted.reverse &&
                       turn.delay == wanted.delay));
}

static void turns_are_two_bytes_or_five(void)
{
    CHECK(reads("\x05\x03", 2, (struct turn){5, 0, 3, false, 0}, 2));
    CHECK(reads("\x08\x03", 2, (struct turn){8, 0, 3, false, 0}, 2));
    CHECK(reads("\x7f\x1f", 9, (struct turn){63, 1, 15, true, 0}, 2));
    CHECK(reads("\xff\x10\x01\x02\x03", 5, (struct turn){63, 3, 0, true, 0x030201}, 5));
    struct turn none = {0};
    CHECK(reads("\x05", 1, none, 0) && reads("", 0, none, 0));
    CHECK(reads("\x05\x20", 2, none, 0) && reads("\x05\x80", 2, none, 0));
    for (uint8_t length = 2; length < 5; length++) {
        uint8_t timing = TIMING_DELAY << TURN_BIT_TIMING_SHIFT;
        CHECK(reads((const char[]){(char)timing, 0, 0, 0, 0}, length, none, 0));
    }
}

static void the_queue_takes_what_fits(void)
{
    struct turn turn;
    queue_clear();
    CHECK(queue_free() == QUEUE && !queue_peek(&turn));
    uint8_t bytes[QUEUE / 2];
    for (unsigned i = 0; i < sizeof bytes; i += 2) {
        bytes[i] = (uint8_t)(i / 2 % 64);
        bytes[i + 1] = 1;
    }
    for (unsigned round = 0; round < 3; round++) {
        CHECK(queue_push(bytes, sizeof bytes) && queue_free() == QUEUE / 2);
        CHECK(!queue_push(bytes, QUEUE / 2 + 1) && queue_free() == QUEUE / 2);
        CHECK(queue_push(bytes, sizeof bytes) && queue_free() == 0);
        CHECK(!queue_push(bytes, 1) && queue_push(bytes, 0));
        for (unsigned i = 0; i < QUEUE / 2; i++) {
            CHECK(queue_peek(&turn) && turn.profile == bytes[2 * i % sizeof bytes]);
            CHECK(turn.actuator == 1 && turn.delay == 0);
            queue_drop();
            CHECK(queue_free() == 2 * (i + 1));
        }
        CHECK(!queue_peek(&turn) && queue_free() == QUEUE);
        queue_push(bytes, 2); /* shifts the start of the next round */
        queue_drop();
    }
    queue_push(bytes, 3);
    queue_clear();
    CHECK(queue_free() == QUEUE && !queue_peek(&turn));
}

static uint8_t begin(uint8_t segments, uint16_t crc)
{
    return profiles_begin(&(struct profile_begin){
        .kind = KIND_STEPPER, .segments = segments, .duration = 1000u + segments, .crc = crc});
}

static uint8_t upload(uint8_t segments, uint8_t fill)
{
    uint8_t bytes[UNITS * 6];
    memset(bytes, fill, sizeof bytes);
    unsigned length = segments * 6u;
    uint8_t fault = begin(segments, crc16(CRC_START, bytes, (uint8_t)length));
    if (fault) {
        return fault;
    }
    CHECK(profiles_append(bytes, 0) == FAULT_BAD_PROFILE);
    CHECK(profiles_append(bytes, (uint8_t)(length + 1)) == FAULT_BAD_PROFILE);
    CHECK(length < 2 || profiles_append(bytes, 1) == FAULT_NONE);
    CHECK(begin(1, 0) == FAULT_BAD_PROFILE); /* the previous one is incomplete */
    return profiles_append(bytes + 1, (uint8_t)(length - 1));
}

static void profiles_take_the_room_there_is(void)
{
    profiles_clear();
    CHECK(begin(0, 0) == FAULT_BAD_PROFILE);
    CHECK(profiles_begin(&(struct profile_begin){.kind = KIND_STEPPER + 1, .segments = 1}) ==
          FAULT_BAD_PROFILE);
    CHECK(profiles_begin(&(struct profile_begin){.segments = 1, .duration = 1u << 30}) ==
          FAULT_BAD_PROFILE);
    CHECK(!profiles_get(0));
    CHECK(upload(20, 7) == FAULT_NONE && upload(30, 8) == FAULT_NONE);
    CHECK(upload(9, 9) == FAULT_PROFILE_SPACE); /* 21 and 31 of 61 units are in use */
    CHECK(begin(8, 0) == FAULT_NONE);
    uint8_t bytes[8 * 6] = {0};
    CHECK(profiles_append(bytes, sizeof bytes) == FAULT_PROFILE_CRC);
    CHECK(!profiles_get(2));
    CHECK(upload(8, 9) == FAULT_NONE); /* replaces the damaged one */
    static const uint8_t segments[] = {20, 30, 8};
    for (uint8_t i = 0; i < 3; i++) {
        const struct profile *profile = profiles_get(i);
        CHECK(profile && profile->segments == segments[i] && profile->kind == KIND_STEPPER);
        CHECK(profile && profile->duration == 1000u + segments[i]);
        const uint8_t *first = profile ? (const uint8_t *)profile_segments(profile) : 0;
        CHECK(first && first[0] == 7 + i && first[segments[i] * 6 - 1] == 7 + i);
    }
    CHECK(!profiles_get(3));
    CHECK(begin(1, 0) == FAULT_PROFILE_SPACE);
    profiles_clear();
    CHECK(begin(1, 0) == FAULT_NONE);
    profiles_clear();
    CHECK(!profiles_get(0) && upload(40, 1) == FAULT_NONE);
}

static void a_slew_goes_straight_from_segment_to_segment(void)
{
    static const struct servo_segment segments[] = {{.pulse = 3000, .duration = 1000},
                                                    {.pulse = 2000, .duration = 400000}};
    struct servo servo = {.target = 2500};
    CHECK(servo_at(&servo, 77) == 2500);
    servo.pulse = 2500;
    servo_start(&servo, segments, 2, 5000);
    CHECK(servo.pulse == 2500);
    CHECK(servo_at(&servo, 4999) == 2500 && servo_at(&servo, 5000) == 2500);
    CHECK(servo_at(&servo, 5500) == 2750 && servo_at(&servo, 5998) == 2999);
    CHECK(servo_at(&servo, 6000) == 3000 && servo_at(&servo, 6000 + 100000) == 2750);
    CHECK(servo_at(&servo, 6000 + 399999) == 2001);
    CHECK(servo_at(&servo, 6000 + 400000) == 2000 && servo_at(&servo, 1u << 30) == 2000);
    servo_freeze(&servo, 6000 + 100000 - PROTOCOL_SERVO_FRAME);
    CHECK(servo.pulse == 2750 && servo.target == 2750 && servo.count == 0);
    CHECK(servo_at(&servo, 6000 + 300000) == 2750);
    servo_start(&servo, segments, 2, 5000);
    CHECK(servo_at(&servo, 0) == 2750);
    servo_finish(&servo);
    CHECK(servo.pulse == 2000 && servo.count == 0 && servo_at(&servo, 5500) == 2000);
}

static void a_servo_begins_at_its_last_pulse_or_where_it_is_told_first(void)
{
    static const struct servo_segment segments[] = {{.pulse = 3000, .duration = 1000},
                                                    {.pulse = 2000, .duration = 1000}};
    struct servo servo = {.target = 0};
    servo_start(&servo, segments, 2, 5000);
    CHECK(servo.pulse == 3000 && servo_at(&servo, 5000) == 3000 && servo_at(&servo, 6500) == 2500);
    servo.pulse = 0;
    servo_freeze(&servo, 6500 - PROTOCOL_SERVO_FRAME);
    CHECK(servo.pulse == 0 && servo.target == 2500);
    servo_finish(&servo);
    CHECK(servo.pulse == 0);
    servo_start(&servo, segments, 2, 5000);
    CHECK(servo.pulse == 2500); /* its last pulse */
}

int main(void)
{
    turns_are_two_bytes_or_five();
    the_queue_takes_what_fits();
    profiles_take_the_room_there_is();
    a_slew_goes_straight_from_segment_to_segment();
    a_servo_begins_at_its_last_pulse_or_where_it_is_told_first();
    return bench_result();
}
