/* Framing: known values, round trips, damage. */
#include <string.h>

#include "bench.h"

static void crc_has_the_published_check_value(void)
{
    CHECK(crc16(CRC_START, (const uint8_t *)"123456789", 9) == 0x29b1);
}

static void every_length_survives_the_round_trip(void)
{
    for (unsigned length = 1; length <= FRAME_MAX; length++) {
        uint8_t bytes[FRAME_MAX];
        uint8_t block[FRAME_MAX + 2];
        for (unsigned i = 0; i < length; i++) {
            bytes[i] = (uint8_t)(i * length % 5);
        }
        uint8_t encoded = cobs_encode(bytes, (uint8_t)length, block);
        CHECK(encoded == length + 2);
        CHECK(memchr(block, 0, encoded) == &block[encoded - 1]);
        CHECK(cobs_decode(block, encoded - 1) == length);
        CHECK(memcmp(block, bytes, length) == 0);
    }
}

static void one_flipped_bit_is_found(void)
{
    struct frame frame = {.session = 3, .seq = 4, .ack = 5, .type = MESSAGE_GO};
    memcpy(frame.payload, "payload", 7);
    uint8_t length = frame_seal(&frame, 7);
    CHECK(frame_check(&frame, length) == 7);
    for (unsigned bit = 0; bit < length * 8u; bit++) {
        uint8_t *byte = &(&frame.session)[bit / 8];
        *byte ^= (uint8_t)(1u << bit % 8);
        CHECK(frame_check(&frame, length) < 0);
        *byte ^= (uint8_t)(1u << bit % 8);
    }
}

static void impossible_blocks_are_refused(void)
{
    uint8_t too_far[] = {5, 1, 2};
    uint8_t with_zero[] = {2, 1, 0, 4};
    CHECK(cobs_decode(too_far, sizeof too_far) == 0);
    CHECK(cobs_decode(with_zero, sizeof with_zero) == 0);
    CHECK(cobs_decode(too_far, 0) == 0);
}

int main(void)
{
    crc_has_the_published_check_value();
    every_length_survives_the_round_trip();
    one_flipped_bit_is_found();
    impossible_blocks_are_refused();
    return bench_result();
}
