/*
 * Fuzzing the receiver: bytes from the wire go through framing, sessions and every message's
 * handler. The first byte of the input chooses how frames are made: raw bytes, or payloads that get
 * a right header and CRC, so that the handlers are reached too. Time passes between frames, so what
 * was started also runs. Built with libFuzzer, or with a main() that replays files.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define SESSION 9
#define MAX_INPUT 4096

static uint8_t seq;

static void open_session(void)
{
    static uint8_t session = SESSION;
    session = session == SESSION ? SESSION + 1 : SESSION; /* another one: its numbers start anew */
    seq = 0;
    struct hello hello = {.version = PROTOCOL_VERSION};
    bench_bytes((const uint8_t *)"", 1);
    bench_send(session, 0, MESSAGE_HELLO, &hello, sizeof hello);
    bench_run_ms(5);
    bench_configure();
    bench_home(0x7);
}

static uint8_t current_session(void)
{
    return sent[sent_count - 1].session;
}

/* Type, length and payload follow one another; what the frame needs besides is right. */
static void play_messages(const uint8_t *bytes, size_t length)
{
    size_t at = 0;
    uint8_t session = current_session();
    while (at + 2 <= length) {
        uint8_t type = bytes[at];
        size_t wanted = bytes[at + 1] % (PROTOCOL_MAX_PAYLOAD + 1);
        at += 2;
        size_t size = wanted < length - at ? wanted : length - at;
        bench_send(session, seq++, type, bytes + at, (uint8_t)size);
        bench_run_ms(type % 4);
        at += size;
    }
}

static void rest(void)
{
    bench_command(MESSAGE_ABORT, 0, 0);
    bench_command(MESSAGE_RELEASE, 0, 0);
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_clear_edges();
    bench_clear_sent();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length == 0 || length > MAX_INPUT) {
        return 0;
    }
    rest();
    open_session();
    if (bytes[0] & 1) {
        play_messages(bytes + 1, length - 1);
    } else {
        bench_bytes(bytes + 1, (unsigned)length - 1);
    }
    bench_run_ms(20);
    if (bench_result()) {
        abort();
    }
    return 0;
}
