/*
 * The receiver's side of go-back-N. It handles and acknowledges only the next expected frame. It
 * drops any other frame and repeats its last acknowledgement. Replies to the host report states,
 * never events, so it never has to keep them for retransmission.
 *
 * A frame that the host sent before an emergency stop must not be executed after it, even if it was
 * lost at first and the host sends it again. Replies therefore carry the number of stops, which the
 * host returns with each frame. A frame with an earlier number is dropped.
 */
#include "link.h"

#include <string.h>

#include "board.h"
#include "commands.h"
#include "drivers.h"
#include "frame.h"
#include "queue.h"
#include "safety.h"

#define FIRST_SEQUENCED 0x10
#define COBS_EXTRA 2
#define BYTES_A_ROUND 16 /* so that a flooded line does not starve the rest of the main loop */
#define RX_MASK (BOARD_RX_BYTES - 1)
/* The longest replies. */
union replies {
    struct whereabouts whereabouts;
#if defined(BOARD_HAS_DRIVERS)
    struct driver_report drivers;
#endif
};
#define REPLY_MAX (FRAME_HEADER + sizeof(union replies) + FRAME_CRC)

static const uint8_t stop_pattern[] = PROTOCOL_STOP_PATTERN;

#if BOARD_RX_BYTES > 256
typedef uint16_t rx_index;
#else
typedef uint8_t rx_index;
#endif

static uint8_t rx_ring[BOARD_RX_BYTES];
static volatile rx_index rx_in;
static rx_index rx_out;
static volatile uint8_t lost_bytes;
static uint8_t stop_matched;
static uint8_t stop_matched_elsewhere;

static union {
    uint8_t bytes[FRAME_MAX + COBS_EXTRA];
    struct frame frame; /* after decoding in place */
} block;
static uint8_t block_length; /* larger than `block`: too long, ignored up to the next 00 */
static uint16_t bad_frames;

static uint8_t tx_block[REPLY_MAX + COBS_EXTRA];
static volatile uint8_t tx_length;
static volatile uint8_t tx_sent;

static uint8_t session; /* 0: none */
static uint16_t nonce;
static uint8_t expected; /* sequence number */
static uint8_t stops;    /* since the session began */
static bool ack_due;
static bool status_due;
static uint8_t echo; /* from the last ping */
static bool welcome_due;
static bool whereabouts_due;
#if defined(BOARD_HAS_DRIVERS)
static bool drivers_due;
#endif

/* Takes a byte after `matched` bytes of the emergency stop. Returns the new number of matching
 * bytes. */
static inline __attribute__((always_inline)) uint8_t match_stop(uint8_t matched, uint8_t byte)
{
    if (byte != stop_pattern[matched]) {
        return byte == stop_pattern[0];
    }
    if (++matched == sizeof stop_pattern) {
        safety_stop(FAULT_EMERGENCY_STOP);
        return 0;
    }
    return matched;
}

void link_receive(uint8_t byte)
{
    stop_matched = match_stop(stop_matched, byte);
    rx_index next = (rx_in + 1) & RX_MASK;
    if (next == rx_out) {
        link_lost_byte();
        return;
    }
    rx_ring[rx_in] = byte;
    rx_in = next;
}

void link_lost_byte(void)
{
    if (lost_bytes != UINT8_MAX) {
        lost_bytes++;
    }
}

void link_watch(uint8_t byte)
{
    stop_matched_elsewhere = match_stop(stop_matched_elsewhere, byte);
}

void link_drop_earlier(void)
{
    rx_out = rx_in;
    block_length = 0;
    stops++;
}

bool link_transmit(uint8_t *byte)
{
    if (tx_sent == tx_length) {
        return false;
    }
    *byte = tx_block[tx_sent++];
    return true;
}

static void send(uint8_t type, const void *payload, uint8_t length)
{
    struct frame frame = {.session = session, .seq = stops, .ack = expected - 1, .type = type};
    memcpy(frame.payload, payload, length);
    uint8_t encoded = cobs_encode(&frame.session, frame_seal(&frame, length), tx_block);
    tx_sent = 0;
    tx_length = encoded;
}

static void send_due(void)
{
    if (tx_sent != tx_length) {
        return;
    }
    if (welcome_due) {
        struct welcome welcome;
        commands_welcome(&welcome);
        welcome.nonce = nonce;
        welcome_due = false;
        send(MESSAGE_WELCOME, &welcome, sizeof welcome);
    } else if (whereabouts_due) {
        struct whereabouts whereabouts;
        uint8_t length = commands_whereabouts(&whereabouts);
        whereabouts_due = false;
        send(MESSAGE_POSITIONS, &whereabouts, length);
#if defined(BOARD_HAS_DRIVERS)
    } else if (drivers_due) {
        struct driver_report report;
        uint8_t length = drivers_report(&report);
        drivers_due = false;
        send(MESSAGE_DRIVER_STATES, &report, length);
#endif
    } else if (status_due) {
        struct status status;
        commands_status(&status);
        status.bad_frames = bad_frames;
        status.lost_bytes = lost_bytes;
        status.echo = echo;
        status_due = false;
        ack_due = false;
        send(MESSAGE_STATUS, &status, sizeof status);
    } else if (ack_due) {
        struct ack ack = {.free = queue_free()};
        ack_due = false;
        send(MESSAGE_ACK, &ack, sizeof ack);
    }
}

static void handle_hello(const struct frame *frame, uint8_t length)
{
    struct hello hello;
    if (length != sizeof hello || frame->session == 0) {
        return;
    }
    memcpy(&hello, frame->payload, sizeof hello);
    /* Two hosts may pick the same session number. Only a repeated Hello has the same nonce. */
    if (frame->session != session || hello.nonce != nonce) {
        session = frame->session;
        expected = 0;
        stops = 0;
        echo = 0;
        commands_new_session();
    }
    nonce = hello.nonce;
    welcome_due = true;
    safety_heard();
}

static void handle_frame(const struct frame *frame, uint8_t length)
{
    if (frame->type == MESSAGE_HELLO) {
        handle_hello(frame, length);
        return;
    }
    if (session == 0 || frame->session != session) {
        welcome_due = session == 0; /* informs a host that missed our reset */
        return;
    }
    safety_heard();
#if defined(BOARD_HAS_DRIVERS)
    if (frame->type == MESSAGE_DRIVERS) {
        drivers_due = true;
        return;
    }
#endif
    if (frame->type < FIRST_SEQUENCED) {
        bool locate = frame->type == MESSAGE_LOCATE;
        *(locate ? &whereabouts_due : &status_due) = true;
        echo = locate ? echo : frame->payload[0];
        return;
    }
    bool is_next = frame->seq == expected && frame->ack == stops;
    if (is_next && commands_handle(frame->type, frame->payload, length)) {
        expected++;
    }
    ack_due = true;
}

static void handle_block(void)
{
    uint8_t length = block_length;
    block_length = 0;
    if (length == 0) {
        return;
    }
    length = length > sizeof block ? 0 : cobs_decode(block.bytes, length);
    int8_t payload = frame_check(&block.frame, length);
    if (payload < 0) {
        bad_frames++;
        return;
    }
    handle_frame(&block.frame, (uint8_t)payload);
}

static void take_byte(uint8_t byte)
{
    if (byte == 0) {
        handle_block();
    } else if (block_length < sizeof block) {
        block.bytes[block_length++] = byte;
    } else {
        block_length = sizeof block + 1;
    }
}

void link_poll(void)
{
    for (uint8_t taken = 0; taken < BYTES_A_ROUND && rx_out != rx_in; taken++) {
        uint8_t byte = rx_ring[rx_out];
        rx_out = (rx_out + 1) & RX_MASK;
        take_byte(byte);
    }
    if (commands_state_changed()) {
        status_due = session != 0;
    }
    send_due();
}
