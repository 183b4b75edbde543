/* Maps Arduino pin numbers to ports. */
#include <avr/pgmspace.h>

#include "board.h"
#include "pin_places.h"

#define AT(port, bit) ((port) << 3 | (bit))
#define AT_PORT(letter) _SFR_MEM_ADDR(PORT##letter)

#if defined(__AVR_ATmega328P__)
enum { B, C, D };

static const board_port ports[] PROGMEM = {AT_PORT(B), AT_PORT(C), AT_PORT(D)};

static const uint8_t places[BOARD_PINS] PROGMEM = {PIN_PLACES_UNO};
#else
enum { A, B, C, D, E, F, G, H, J, K, L };

static const board_port ports[] PROGMEM = {AT_PORT(A), AT_PORT(B), AT_PORT(C), AT_PORT(D),
                                           AT_PORT(E), AT_PORT(F), AT_PORT(G), AT_PORT(H),
                                           AT_PORT(J), AT_PORT(K), AT_PORT(L)};

static const uint8_t places[BOARD_PINS] PROGMEM = {PIN_PLACES_MEGA};
#endif

bool board_has_pin(uint8_t number)
{
    return number >= BOARD_FIRST_PIN && number < BOARD_PINS;
}

static board_pin find(uint8_t number)
{
    uint8_t place = pgm_read_byte(&places[number]);
    board_pin pin = {.mask = (uint8_t)(1 << (place & 7))};
    memcpy_P(&pin.port, &ports[place >> 3], sizeof pin.port);
    return pin;
}

static void set_mode(board_pin pin, bool output, bool level)
{
    board_lock_t lock = board_lock();
    if (level) {
        board_high(pin);
    } else {
        board_low(pin);
    }
    if (output) {
        BOARD_REGISTER(pin.port - 1) |= pin.mask;
    } else {
        BOARD_REGISTER(pin.port - 1) &= (uint8_t)~pin.mask;
    }
    board_unlock(lock);
}

board_pin board_output(uint8_t number, bool level)
{
    board_pin pin = find(number);
    set_mode(pin, true, level);
    return pin;
}

board_pin board_input(uint8_t number)
{
    board_pin pin = find(number);
    set_mode(pin, false, true); /* with pull-up */
    return pin;
}

void board_release(uint8_t number)
{
    set_mode(find(number), false, false);
}
