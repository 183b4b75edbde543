#include "faults.h"

#include "protocol.h"

static uint8_t fault;
static uint8_t detail;

void fault_latch(uint8_t code, uint8_t about)
{
    if (!fault) {
        fault = code;
        detail = about;
    }
}

uint8_t fault_code(void)
{
    return fault;
}

uint8_t fault_detail(void)
{
    return detail;
}

void fault_clear(void)
{
    fault = FAULT_NONE;
    detail = 0;
}
