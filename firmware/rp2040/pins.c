/* The pins, except for step pulses (steppers.c) and servo pulses (servos.c). */
#include "board.h"
#include "hardware.h"

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
    chip_start(RESETS_IO_BANK0 | RESETS_PADS_BANK0);
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
    steppers_release(number);
}
