#include "frame.h"

/* Bytewise without a table: eight shifts folded into five. */
static uint16_t crc16_byte(uint16_t crc, uint8_t byte)
{
    uint8_t x = (uint8_t)(crc >> 8) ^ byte;
    x ^= x >> 4;
    return (uint16_t)((crc << 8) ^ ((uint16_t)x << 12) ^ ((uint16_t)x << 5) ^ x);
}

uint16_t crc16(uint16_t crc, const uint8_t *bytes, uint16_t length)
{
    while (length--) {
        crc = crc16_byte(crc, *bytes++);
    }
    return crc;
}

uint8_t cobs_decode(uint8_t *bytes, uint8_t length)
{
    uint8_t in = 0;
    uint8_t out = 0;
    while (in < length) {
        uint8_t code = bytes[in++];
        if (code == 0 || (uint8_t)(code - 1) > length - in) {
            return 0;
        }
        for (uint8_t i = 1; i < code; i++) {
            bytes[out++] = bytes[in++];
        }
        if (in < length && code != 0xff) {
            bytes[out++] = 0;
        }
    }
    return out;
}

uint8_t cobs_encode(const uint8_t *bytes, uint8_t length, uint8_t *out)
{
    uint8_t code_at = 0;
    uint8_t end = 1;
    for (uint8_t i = 0; i < length; i++) {
        if (bytes[i]) {
            out[end++] = bytes[i];
            continue;
        }
        out[code_at] = end - code_at;
        code_at = end++;
    }
    out[code_at] = end - code_at;
    out[end++] = 0;
    return end;
}

int8_t frame_check(const struct frame *frame, uint8_t length)
{
    if (length < FRAME_HEADER + FRAME_CRC || length > FRAME_MAX) {
        return -1;
    }
    const uint8_t *bytes = &frame->session;
    uint16_t crc = crc16(CRC_START, bytes, length - FRAME_CRC);
    if (bytes[length - 2] != (uint8_t)crc || bytes[length - 1] != crc >> 8) {
        return -1;
    }
    return (int8_t)(length - FRAME_HEADER - FRAME_CRC);
}

uint8_t frame_seal(struct frame *frame, uint8_t payload_length)
{
    uint8_t *bytes = &frame->session;
    uint8_t length = FRAME_HEADER + payload_length;
    uint16_t crc = crc16(CRC_START, bytes, length);
    bytes[length++] = (uint8_t)crc;
    bytes[length++] = crc >> 8;
    return length;
}
