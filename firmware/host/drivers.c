/* The UART of the stepper drivers of a simulated board: bytes take as long as at 115,200 baud. */
#include <string.h>

#include "board.h"
#include "pins.h"
#include "simulation.h"

#define BYTE_TICKS 174
#define ANSWER_DELAY_TICKS 417 /* 24 bit times, as SENDDELAY is set */
#define LONGEST 16

static uint8_t received[LONGEST]; /* echo of what was sent on the same wire, then the answer */
static unsigned taken;
static unsigned echoes;
static unsigned count;
static uint64_t sent_at;

bool board_drivers_open(void)
{
    return true;
}

void board_drivers_close(void)
{
    taken = count = 0;
}

void board_drivers_send(const uint8_t *bytes, uint8_t length)
{
    memcpy(received, bytes, length);
    sent_at = simulation_now();
    taken = 0;
    echoes = length;
    count = length + pins_ask_drivers(sent_at, bytes, length, received + length, LONGEST - length);
}

bool board_drivers_receive(uint8_t *byte)
{
    uint64_t at = sent_at + (taken + 1) * BYTE_TICKS + (taken < echoes ? 0 : ANSWER_DELAY_TICKS);
    if (taken == count || simulation_now() < at) {
        return false;
    }
    *byte = received[taken++];
    return true;
}
