/*
 * The pins. A step's pulse is made by a machine of the PIO: the interrupt only writes its length to
 * the machine, so no code waits for the end of a pulse.
 */
#include "board.h"
#include "hardware.h"

#define MACHINES 8 /* four in each PIO */
#define NOBODY 0xff
#define PROGRAM_END 4
#define PIO_DIVIDER (25u << 16) /* 0.2 us an instruction */
#define PULSE_TICKS 4 /* a step's pulse, or half the shortest interval if that is less */
#define INSTRUCTIONS_PER_2_TICKS 5
#define BEYOND_LOOP 2 /* instructions with the pin high that the length does not count */

static const uint16_t program[] = {
    0x80a0, /* pull block */
    0xa027, /* mov x, osr */
    0xe001, /* set pins, 1 */
    0x0043, /* jmp x--, 3 */
    0xe000, /* set pins, 0 */
};

#define SET_PINDIRS_OUT 0xe081
#define SET_PIN_LOW 0xe000
#define JUMP_TO_START 0x0000

static uint8_t pins_of_machines[MACHINES];

bool board_has_pin(uint8_t number)
{
    return number >= BOARD_FIRST_PIN && number < BOARD_PINS;
}

void pin_connect(uint8_t number, uint32_t function, uint32_t pad)
{
    REGISTER(PAD(number)) = pad | PAD_4_MA | PAD_SCHMITT | PAD_INPUT;
    REGISTER(GPIO_CTRL(number)) = function;
}

void pins_start(void)
{
    chip_start(RESETS_IO_BANK0 | RESETS_PADS_BANK0 | RESETS_PIO0 | RESETS_PIO1);
    for (uint8_t pio = 0; pio < 2; pio++) {
        for (uint8_t i = 0; i <= PROGRAM_END; i++) {
            REGISTER(PIO(pio) + PIO_INSTRUCTION(i)) = program[i];
        }
    }
    for (uint8_t machine = 0; machine < MACHINES; machine++) {
        pins_of_machines[machine] = NOBODY;
    }
}

static uint8_t find_machine(uint8_t pin)
{
    uint8_t machine = 0;
    while (pins_of_machines[machine] != pin) {
        machine++;
    }
    return machine;
}

board_pin board_output(uint8_t number, bool level)
{
    board_pin pin = {&REGISTER(SIO_GPIO_OUT_SET), 1u << number};
    if (level) {
        board_high(pin);
    } else {
        board_low(pin);
    }
    REGISTER(SIO_GPIO_OE_SET) = pin.word;
    pin_connect(number, FUNCTION_SIO, 0);
    return pin;
}

board_pin board_open_step(uint8_t number, uint16_t interval)
{
    uint8_t machine = find_machine(NOBODY); /* there are as many as actuators */
    uint32_t pio = PIO(machine / 4);
    uint8_t own = machine % 4;
    uint16_t ticks = interval / 2 < PULSE_TICKS ? interval / 2 : PULSE_TICKS;
    pins_of_machines[machine] = number;
    REGISTER(pio + PIO_CLKDIV(own)) = PIO_DIVIDER;
    REGISTER(pio + PIO_EXECCTRL(own)) = PROGRAM_END << PIO_WRAP_TOP_SHIFT;
    REGISTER(pio + PIO_PINCTRL(own)) = PIO_SET_ONE_PIN | (uint32_t)number << PIO_SET_BASE_SHIFT;
    REGISTER(pio + PIO_INSTR(own)) = SET_PIN_LOW;
    REGISTER(pio + PIO_INSTR(own)) = SET_PINDIRS_OUT;
    REGISTER(pio + PIO_INSTR(own)) = JUMP_TO_START;
    pin_connect(number, FUNCTION_PIO0 + machine / 4, 0);
    SET_BITS(pio + PIO_CTRL) = 1u << own;
    return (board_pin){&REGISTER(pio + PIO_TXF(own)),
                       ticks * INSTRUCTIONS_PER_2_TICKS / 2 - BEYOND_LOOP};
}

board_pin board_input(uint8_t number)
{
    REGISTER(SIO_GPIO_OE_CLR) = 1u << number;
    pin_connect(number, FUNCTION_SIO, PAD_PULL_UP);
    return (board_pin){&REGISTER(GPIO_STATUS(number)), GPIO_FROM_PAD};
}

void board_release(uint8_t number)
{
    REGISTER(SIO_GPIO_OE_CLR) = 1u << number;
    pin_connect(number, FUNCTION_SIO, 0);
    for (uint8_t machine = 0; machine < MACHINES; machine++) {
        if (pins_of_machines[machine] == number) {
            CLEAR_BITS(PIO(machine / 4) + PIO_CTRL) = 1u << machine % 4;
            pins_of_machines[machine] = NOBODY;
        }
    }
}
