/* Clocks, watchdog, cause of the last reset, boot id. */
#include "board.h"
#include "hardware.h"

#define XOSC_STARTUP_MS_1 47u /* in units of 256 cycles of 12 MHz */
#define SYSTEM_MULTIPLIER 125u /* 12 MHz to 1,500 MHz, divided to 125 MHz */
#define SYSTEM_DIVIDERS (6u << 16 | 2u << 12)
#define USB_MULTIPLIER 100u /* 12 MHz to 1,200 MHz, divided to 48 MHz */
#define USB_DIVIDERS (5u << 16 | 5u << 12)
#define TICK_CYCLES 6u /* of 12 MHz: the timer counts half microseconds */

/* The watchdog counts down by two on every tick of the timer (erratum RP2040-E1): 250 ms. */
#define WATCHDOG_COUNTS 1000000u

static uint8_t cause;
static uint32_t boot_id;

void chip_start(uint32_t parts)
{
    CLEAR_BITS(RESETS_RESET) = parts;
    while ((REGISTER(RESETS_DONE) & parts) != parts) {
    }
}

static void start_pll(uint32_t pll, uint32_t multiplier, uint32_t dividers)
{
    REGISTER(pll + PLL_CS) = 1;
    REGISTER(pll + PLL_FBDIV_INT) = multiplier;
    CLEAR_BITS(pll + PLL_PWR) = PLL_POWER_DOWN;
    while (!(REGISTER(pll + PLL_CS) & PLL_LOCKED)) {
    }
    REGISTER(pll + PLL_PRIM) = dividers;
    CLEAR_BITS(pll + PLL_PWR) = PLL_DIVIDERS_DOWN;
}

void clocks_start(void)
{
    REGISTER(XOSC_STARTUP) = XOSC_STARTUP_MS_1;
    REGISTER(XOSC_CTRL) = XOSC_1_TO_15_MHZ | XOSC_ENABLE;
    while (!(REGISTER(XOSC_STATUS) & XOSC_STABLE)) {
    }
    REGISTER(CLK_REF_CTRL) = CLK_REF_XOSC;
    while (!(REGISTER(CLK_REF_SELECTED) & 1u << CLK_REF_XOSC)) {
    }
    chip_start(RESETS_PLL_SYS | RESETS_PLL_USB);
    start_pll(PLL_SYS, SYSTEM_MULTIPLIER, SYSTEM_DIVIDERS);
    start_pll(PLL_USB, USB_MULTIPLIER, USB_DIVIDERS);
    REGISTER(CLK_SYS_CTRL) = CLK_SYS_AUX;
    while (!(REGISTER(CLK_SYS_SELECTED) & 1u << CLK_SYS_AUX)) {
    }
    REGISTER(CLK_PERI_CTRL) = CLK_ENABLE;
    REGISTER(CLK_USB_CTRL) = CLK_ENABLE;
    REGISTER(WATCHDOG_TICK) = WATCHDOG_TICK_ENABLE | TICK_CYCLES;
    REGISTER(PSM_WDSEL) = PSM_ALL_BUT_OSCILLATORS;
    watchdog_feed();
    REGISTER(WATCHDOG_CTRL) = WATCHDOG_ENABLE;
}

void watchdog_feed(void)
{
    REGISTER(WATCHDOG_LOAD) = WATCHDOG_COUNTS;
}

/* The ring oscillator, which still runs the chip here, has a bit that is random if read slowly. */
static uint32_t draw_number(void)
{
    uint32_t number = 0;
    for (uint8_t bit = 0; bit < 32; bit++) {
        number = number << 1 | (REGISTER(ROSC_RANDOMBIT) & 1);
        for (volatile uint8_t wait = 0; wait < 16; wait++) {
        }
    }
    return number;
}

void boot_start(void)
{
    if (REGISTER(WATCHDOG_REASON)) {
        cause = RESET_CAUSE_WATCHDOG;
    } else if (REGISTER(CHIP_RESET) & CHIP_RESET_POWER) {
        cause = RESET_CAUSE_POWER_ON;
    } else {
        cause = RESET_CAUSE_EXTERNAL;
    }
    boot_id = draw_number();
}

/* The ROM has a table of its functions, named by two letters, and a function that looks one up. */
void board_enter_bootloader(void)
{
    typedef void *look_up(uint16_t *table, uint32_t code);
    typedef void reset_to_usb(uint32_t activity_pins, uint32_t disabled_interfaces);
    look_up *find = (look_up *)(uintptr_t)*(uint16_t *)ROM_LOOK_UP;
    uint16_t *table = (uint16_t *)(uintptr_t)*(uint16_t *)ROM_FUNCTIONS;
    ((reset_to_usb *)find(table, 'U' | 'B' << 8))(0, 0);
}

uint32_t board_boot_id(void)
{
    return boot_id;
}

uint8_t board_reset_cause(void)
{
    return cause;
}

void interrupt_enable(unsigned number, unsigned priority)
{
    REGISTER(NVIC_IPR(number)) |= priority << (8 * (number % 4) + 6);
    REGISTER(NVIC_ISER) = 1u << number;
}
