/* Frames: COBS( session | seq | ack | type | payload | crc16 ) 00. The board's `seq` is the number
 * of emergency stops, and the host's `ack` returns it. */
#ifndef CUBIST_FRAME_H
#define CUBIST_FRAME_H

#include <stdint.h>

#include "board.h"
#include "protocol.h"

#define CRC_START 0xffff
#define FRAME_HEADER 4
#define FRAME_CRC 2
/* The positions of more than eight actuators are longer than anything that the host sends. */
#define FRAME_PAYLOAD (BOARD_ACTUATORS > 8 ? PROTOCOL_MAX_REPLY : PROTOCOL_MAX_PAYLOAD)
#define FRAME_MAX (FRAME_HEADER + FRAME_PAYLOAD + FRAME_CRC)

struct frame {
    uint8_t session;
    uint8_t seq;
    uint8_t ack;
    uint8_t type;
    uint8_t payload[FRAME_PAYLOAD + FRAME_CRC];
};

/* Continues a CRC-16/CCITT-FALSE over more bytes. */
uint16_t crc16(uint16_t crc, const uint8_t *bytes, uint16_t length);

/* Decodes COBS in place. Returns the decoded length, or 0 for a damaged block. */
uint8_t cobs_decode(uint8_t *bytes, uint8_t length);

/* Encodes `bytes` (length <= 253) into `out`, which has room for two more. Returns the length
 * including the final 00. */
uint8_t cobs_encode(const uint8_t *bytes, uint8_t length, uint8_t *out);

/* Checks the CRC of `length` decoded bytes. Returns the payload's length, or -1 for a damaged
 * frame. */
int8_t frame_check(const struct frame *frame, uint8_t length);

/* Appends the CRC to the payload. Returns the length of the whole frame. */
uint8_t frame_seal(struct frame *frame, uint8_t payload_length);

#endif
