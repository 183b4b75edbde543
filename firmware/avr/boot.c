/* Cause of the last reset, and the boot id. */
#include <avr/eeprom.h>
#include <avr/io.h>
#include <avr/wdt.h>

#include "board.h"
#include "hardware.h"

static uint8_t cause __attribute__((section(".noinit")));
static uint32_t boot_id;
static uint32_t EEMEM boots;

/* Runs before anything else, because the watchdog must be off. A boot loader that cleared MCUSR has
 * left its value in r2. */
void __attribute__((naked, used, section(".init3"))) save_reset_cause(void)
{
    uint8_t given;
    __asm__ volatile("mov %0, r2" : "=r"(given));
    cause = MCUSR ? MCUSR : given;
    MCUSR = 0;
    wdt_disable();
}

void boot_start(void)
{
    boot_id = eeprom_read_dword(&boots) + 1;
    eeprom_update_dword(&boots, boot_id);
    wdt_enable(WDTO_250MS);
}

uint32_t board_boot_id(void)
{
    return boot_id;
}

uint8_t board_reset_cause(void)
{
    if (cause & _BV(WDRF)) {
        return RESET_CAUSE_WATCHDOG;
    }
    if (cause & _BV(PORF)) {
        return RESET_CAUSE_POWER_ON;
    }
    return cause & _BV(BORF) ? RESET_CAUSE_BROWN_OUT : RESET_CAUSE_EXTERNAL;
}
