/* Frames: COBS( session | seq | ack | type | payload | crc16 ) 00. */
#ifndef CUBIST_FRAME_H
#define CUBIST_FRAME_H

#include <stdint.h>

#include "protocol.h"

#define CRC_START 0xffff
#define FRAME_HEADER 4
#define FRAME_CRC 2
#define FRAME_MAX (FRAME_HEADER + PROTOCOL_MAX_PAYLOAD + FRAME_CRC)

struct frame {
    uint8_t session;
    uint8_t seq;
    uint8_t ack;
    uint8_t type;
    uint8_t payload[PROTOCOL_MAX_PAYLOAD + FRAME_CRC];
};

/* CRC-16/CCITT-FALSE continued over more bytes. */
uint16_t crc16(uint16_t crc, const uint8_t *bytes, uint16_t length);

/* COBS in place; returns the decoded length, or 0 for a damaged block. */
uint8_t cobs_decode(uint8_t *bytes, uint8_t length);

/* COBS from `bytes` (length <= 253) to `out`, which has room for two more; returns the length
 * with the final 00. */
uint8_t cobs_encode(const uint8_t *bytes, uint8_t length, uint8_t *out);

/* Checks and removes the CRC of `length` decoded bytes; returns the payload's length, or -1. */
int8_t frame_check(const struct frame *frame, uint8_t length);

/* Puts the CRC behind a payload; returns the length of the whole. */
uint8_t frame_seal(struct frame *frame, uint8_t payload_length);

#endif
