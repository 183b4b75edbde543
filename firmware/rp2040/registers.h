/* Registers of the RP2040 that the firmware uses; names, addresses and bits as in its data
 * sheet. */
#ifndef CUBIST_REGISTERS_H
#define CUBIST_REGISTERS_H

#include <stdint.h>

#if defined(CHIP_MODEL) /* the unit tests have a model of the chip's registers */
volatile uint32_t *model_register(uint32_t address);
#define REGISTER(address) (*model_register(address))
#else
#define REGISTER(address) (*(volatile uint32_t *)(address))
#endif
/* Most registers have aliases where a write flips, sets or clears the bits that are 1 in it. */
#define FLIP_BITS(address) REGISTER((address) + 0x1000)
#define SET_BITS(address) REGISTER((address) + 0x2000)
#define CLEAR_BITS(address) REGISTER((address) + 0x3000)

/* In the ROM: the addresses of the table of its functions and of the function that looks one up. */
#define ROM_FUNCTIONS 0x14
#define ROM_LOOK_UP 0x18

#define CLOCKS 0x40008000
#define CLK_REF_CTRL (CLOCKS + 0x30)
#define CLK_REF_SELECTED (CLOCKS + 0x38)
#define CLK_REF_XOSC 2u
#define CLK_SYS_CTRL (CLOCKS + 0x3c)
#define CLK_SYS_SELECTED (CLOCKS + 0x44)
#define CLK_SYS_AUX 1u /* of which the PLL is the first */
#define CLK_PERI_CTRL (CLOCKS + 0x48)
#define CLK_USB_CTRL (CLOCKS + 0x54)
#define CLK_ENABLE (1u << 11)

#define RESETS_RESET 0x4000c000
#define RESETS_DONE (RESETS_RESET + 8)
#define RESETS_IO_BANK0 (1u << 5)
#define RESETS_PADS_BANK0 (1u << 8)
#define RESETS_PIO0 (1u << 10)
#define RESETS_PIO1 (1u << 11)
#define RESETS_PLL_SYS (1u << 12)
#define RESETS_PLL_USB (1u << 13)
#define RESETS_PWM (1u << 14)
#define RESETS_TIMER (1u << 21)
#define RESETS_UART0 (1u << 22)
#define RESETS_UART1 (1u << 23)
#define RESETS_USB (1u << 24)

#define PSM_WDSEL 0x40010008
#define PSM_ALL_BUT_OSCILLATORS 0x1fffcu

#define GPIO_STATUS(number) (0x40014000 + 8u * (number))
#define GPIO_FROM_PAD (1u << 17)
#define GPIO_TO_PAD (1u << 9)
#define GPIO_CTRL(number) (0x40014004 + 8u * (number))
#define FUNCTION_UART 2u
#define FUNCTION_PWM 4u
#define FUNCTION_SIO 5u
#define FUNCTION_PIO0 6u
#define PAD(number) (0x4001c004 + 4u * (number))
#define PAD_INPUT (1u << 6)
#define PAD_4_MA (1u << 4)
#define PAD_PULL_UP (1u << 3)
#define PAD_SCHMITT (1u << 1)

#define XOSC_CTRL 0x40024000
#define XOSC_1_TO_15_MHZ 0xaa0u
#define XOSC_ENABLE (0xfabu << 12)
#define XOSC_STATUS (XOSC_CTRL + 0x04)
#define XOSC_STABLE (1u << 31)
#define XOSC_STARTUP (XOSC_CTRL + 0x0c)

#define PLL_SYS 0x40028000
#define PLL_USB 0x4002c000
#define PLL_CS 0x00
#define PLL_LOCKED (1u << 31)
#define PLL_PWR 0x04
#define PLL_POWER_DOWN (1u << 0 | 1u << 5) /* of the PLL and its oscillator */
#define PLL_DIVIDERS_DOWN (1u << 3)
#define PLL_FBDIV_INT 0x08
#define PLL_PRIM 0x0c

#define UART0 0x40034000
#define UART_DR (UART0 + 0x00)
#define UART_OVERRUN (1u << 11)
#define UART_FR (UART0 + 0x18)
#define UART_TX_FULL (1u << 5)
#define UART_RX_EMPTY (1u << 4)
#define UART_IBRD (UART0 + 0x24)
#define UART_FBRD (UART0 + 0x28)
#define UART_LCR_H (UART0 + 0x2c)
#define UART_8_BITS (3u << 5)
#define UART_FIFOS (1u << 4)
#define UART_CR (UART0 + 0x30)
#define UART_ON (1u << 0 | 1u << 8 | 1u << 9)
#define UART_IFLS (UART0 + 0x34)
#define UART_IMSC (UART0 + 0x38)
#define UART_RX (1u << 4)
#define UART_TX (1u << 5)
#define UART_RX_TIMEOUT (1u << 6)
#define UART1_BEHIND 0x4000 /* UART 1 has the same registers at this offset */

#define PWM_SLICE(number) (0x40050000 + 0x14u * (number))
#define PWM_DIV 0x04
#define PWM_CTR 0x08
#define PWM_CC 0x0c
#define PWM_TOP 0x10
#define PWM_EN 0x400500a0

#define TIMER 0x40054000
#define TIMER_ALARM0 (TIMER + 0x10)
#define TIMER_ARMED (TIMER + 0x20)
#define TIMER_RAWL (TIMER + 0x28)
#define TIMER_INTR (TIMER + 0x34)
#define TIMER_INTE (TIMER + 0x38)

#define WATCHDOG 0x40058000
#define WATCHDOG_CTRL (WATCHDOG + 0x00)
#define WATCHDOG_ENABLE (1u << 30)
#define WATCHDOG_LOAD (WATCHDOG + 0x04)
#define WATCHDOG_REASON (WATCHDOG + 0x08)
#define WATCHDOG_TICK (WATCHDOG + 0x2c)
#define WATCHDOG_TICK_ENABLE (1u << 9)

#define ROSC_RANDOMBIT 0x4006001c
#define CHIP_RESET 0x40064008
#define CHIP_RESET_POWER (1u << 8) /* power came on or failed */

/* Memory that the USB controller shares: the setup packet of a transfer, the registers of the
 * endpoints, and their buffers. */
#define USB_SETUP 0x50100000
#define USB_ENDPOINT(number, out) (0x50100000 + 8u * (number) + 4u * (out))
#define USB_ENDPOINT_ENABLE (1u << 31 | 1u << 29) /* with an event for each buffer */
#define USB_BULK (2u << 26)
#define USB_INTERRUPT (3u << 26)
#define USB_BUFFER_CONTROL(number, out) (0x50100080 + 8u * (number) + 4u * (out))
#define USB_FULL (1u << 15)
#define USB_DATA1 (1u << 13)
#define USB_STALL (1u << 11)
#define USB_AVAILABLE (1u << 10)
#define USB_LENGTH 0x3ffu
#define USB_BUFFER(offset) (0x50100000 + (offset))
#define USB_FIRST_BUFFER 0x100 /* of endpoint 0 */

#define USB_ADDRESS 0x50110000
#define USB_MAIN_CTRL 0x50110040
#define USB_DEVICE 1u
#define USB_SIE_CTRL 0x5011004c
#define USB_EP0_EVENTS (1u << 29)
#define USB_PULL_UP (1u << 16)
#define USB_SIE_STATUS 0x50110050
#define USB_WAS_RESET (1u << 19)
#define USB_SETUP_CAME (1u << 17)
#define USB_BUFFER_STATUS 0x50110058
#define USB_STALL_ARM 0x50110068
#define USB_EP0_BOTH 3u
#define USB_MUXING 0x50110074
#define USB_TO_PHY (1u << 3 | 1u << 0)
#define USB_POWER 0x50110078
#define USB_VBUS_IS_THERE (1u << 3 | 1u << 2)
#define USB_INTE 0x50110090
#define USB_INTS 0x50110098
#define USB_ON_SETUP (1u << 16)
#define USB_ON_RESET (1u << 12)
#define USB_ON_BUFFER (1u << 4)

#define PIO(number) (0x50200000 + 0x100000u * (number))
#define PIO_CTRL 0x00
#define PIO_RESTART (1u << 4) /* of its first machine */
#define PIO_FSTAT 0x04
#define PIO_TX_FULL (1u << 16) /* the queue of its first machine */
#define PIO_TXF(machine) (0x10 + 4u * (machine))
#define PIO_INSTRUCTION(number) (0x48 + 4u * (number))
#define PIO_CLKDIV(machine) (0xc8 + 0x18u * (machine))
#define PIO_EXECCTRL(machine) (0xcc + 0x18u * (machine))
#define PIO_WRAP_TOP_SHIFT 12
#define PIO_SHIFTCTRL(machine) (0xd0 + 0x18u * (machine))
#define PIO_SHIFT_RIGHT (3u << 18)
#define PIO_JOIN_TX (1u << 30)
#define PIO_INSTR(machine) (0xd8 + 0x18u * (machine))
#define PIO_PINCTRL(machine) (0xdc + 0x18u * (machine))
#define PIO_SET_ONE_PIN (1u << 26)
#define PIO_SET_BASE_SHIFT 5

#define SIO_GPIO_OUT_SET 0xd0000014
#define SIO_GPIO_OE_SET 0xd0000024
#define SIO_GPIO_OE_CLR 0xd0000028

#define NVIC_ISER 0xe000e100
#define NVIC_IPR(number) (0xe000e400 + (number) / 4 * 4)
#define TIMER_IRQ 0
#define USB_IRQ 5
#define UART0_IRQ 20

#endif
