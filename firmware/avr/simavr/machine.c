/* A machine that runs the AVR's program in simavr. */
#include "machine.h"

#include <simavr/avr_ioport.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <simavr/sim_regbit.h>
#include <simavr/sim_time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pin_places.h"
#include "pins.h"

#define FREQUENCY 16000000
#define CYCLES_PER_TICK 8
#define BYTE_CYCLES (FREQUENCY / 500000 * 11) /* simavr takes 11 bit times for a byte */
#define LINE_SIZE 4096
#define PORTS 12
#define TIME_RECORD_TICKS 10000
#define RJMP_TO_ITSELF 0xcfff
#define DATA_ADDRESSES 0x800000 /* the linker's base for data addresses */
#define SETTLED 3 /* instructions, as the program writes the stack pointer in two halves */

/* Port letters as numbers; the order of their registers in memory. */
enum port { A, B, C, D, E, F, G, H, J, K, L };

#define AT(port, bit) {port, bit}

struct place {
    uint8_t port;
    uint8_t bit;
};

static const struct place uno_places[] = {PIN_PLACES_UNO};
static const struct place mega_places[] = {PIN_PLACES_MEGA};
static const char port_letters[] = "ABCDEFGHJKL";

struct line {
    uint8_t bytes[LINE_SIZE];
    unsigned in;
    unsigned out;
};

const struct machine_pace machine_pace = {.slice = 2000, .most_behind = 20000};
const char machine_name[] = "cubist-firmware-avr";
const char machine_usage[] =
    "  --elf FILE        program, from `cubist firmware build`\n"
    "  --board B         uno (default) or mega\n"
    "  --cycles          stamp records in cycles of 16 MHz, record bytes received\n"
    "  --hang-at ADDRESS SIGUSR2 makes the program hang there, to try the watchdog\n"
    "  --stack           tell with the pins how many bytes the stack has left at least\n";
const struct option machine_options[] = {
    {"board", required_argument, 0, 'b'},   {"elf", required_argument, 0, 'e'},
    {"hang-at", required_argument, 0, 'a'}, {"cycles", no_argument, 0, 'c'},
    {"stack", no_argument, 0, 'k'},         {0, 0, 0, 0}};

static const char *board = "uno";
static const char *elf;
static uint32_t hang_at;
static avr_t *avr;
static uint64_t reset_cycle;
static unsigned cycles_a_stamp = CYCLES_PER_TICK;
static uint64_t recorded;
static uint8_t numbers[PORTS][8]; /* Arduino numbers of port bits */
static uint8_t port_levels[PORTS];
static uint8_t port_modes[PORTS];
static uint8_t port_shown[PORTS];
static avr_io_t reset_notice;
static struct line to_avr;
static struct line from_avr;
static uint64_t next_byte; /* cycle */
static uint32_t hung_at;
static uint16_t hung_instruction;
static bool tells_stack;
static uint16_t variables_end; /* address */
static uint16_t lowest_stack = UINT16_MAX;

static unsigned filled(const struct line *line)
{
    return (line->in - line->out) % LINE_SIZE;
}

static uint8_t take(struct line *line)
{
    uint8_t byte = line->bytes[line->out];
    line->out = (line->out + 1) % LINE_SIZE;
    return byte;
}

static void put(struct line *line, uint8_t byte)
{
    line->bytes[line->in] = byte;
    line->in = (line->in + 1) % LINE_SIZE;
}

uint64_t machine_now(void)
{
    return avr->cycle / CYCLES_PER_TICK;
}

uint64_t machine_since_reset(void)
{
    return (avr->cycle - reset_cycle) / CYCLES_PER_TICK;
}

uint64_t machine_next(void)
{
    return machine_now() + machine_pace.slice;
}

static uint64_t stamp(void)
{
    return (avr->cycle - reset_cycle) / cycles_a_stamp;
}

/* A pin is high if it is an output and its bit is set. Inputs and pull-ups drive nothing. */
static void show_port(unsigned port)
{
    uint8_t levels = port_levels[port] & port_modes[port];
    uint8_t changed = levels ^ port_shown[port];
    port_shown[port] = levels;
    for (unsigned bit = 0; bit < 8; bit++) {
        if (changed >> bit & 1 && numbers[port][bit] != 0xff) {
            recorded = machine_since_reset();
            pins_record(stamp(), numbers[port][bit], levels >> bit & 1, PIN_OUTPUT);
        }
    }
}

static void port_written(struct avr_irq_t *irq, uint32_t value, void *param)
{
    (void)irq;
    unsigned port = (unsigned)(uintptr_t)param;
    port_levels[port] = (uint8_t)value;
    show_port(port);
}

static void mode_written(struct avr_irq_t *irq, uint32_t value, void *param)
{
    (void)irq;
    unsigned port = (unsigned)(uintptr_t)param;
    port_modes[port] = (uint8_t)value;
    show_port(port);
}

/* Asks the robot for the levels of inputs with pull-up when the program reads them. */
static uint8_t pins_are_read(avr_t *machine, avr_io_addr_t address, void *param)
{
    (void)machine;
    (void)address;
    unsigned port = (unsigned)(uintptr_t)param;
    uint8_t inputs = port_levels[port] & (uint8_t)~port_modes[port];
    uint8_t value = port_shown[port];
    for (unsigned bit = 0; bit < 8; bit++) {
        bool asked = inputs >> bit & 1 && numbers[port][bit] != 0xff;
        if (asked && pins_read(stamp(), numbers[port][bit])) {
            value |= (uint8_t)(1u << bit);
        }
    }
    return value;
}

static avr_io_addr_t pin_register(unsigned port)
{
    return (avr_io_addr_t)(port < H ? 0x20 + 3 * port : 0x100 + 3 * (port - H));
}

static void watch_port(unsigned port)
{
    uint32_t irqs = AVR_IOCTL_IOPORT_GETIRQ(port_letters[port]);
    void *param = (void *)(uintptr_t)port;
    avr_irq_register_notify(avr_io_getirq(avr, irqs, IOPORT_IRQ_REG_PORT), port_written, param);
    avr_irq_register_notify(avr_io_getirq(avr, irqs, IOPORT_IRQ_DIRECTION_ALL), mode_written,
                            param);
    avr_io_addr_t io = AVR_DATA_TO_IO(pin_register(port));
    avr->io[io].r.c = pins_are_read; /* replaces simavr's own handler, which has no robot */
    avr->io[io].r.param = param;
}

static void number_pins(const struct place *places, unsigned count)
{
    memset(numbers, 0xff, sizeof numbers);
    for (unsigned number = 0; number < count; number++) {
        numbers[places[number].port][places[number].bit] = (uint8_t)number;
    }
    for (unsigned port = 0; port < sizeof port_letters - 1; port++) {
        bool used = false;
        for (unsigned bit = 0; bit < 8; bit++) {
            used |= numbers[port][bit] != 0xff;
        }
        if (used) {
            watch_port(port);
        }
    }
}

static void byte_sent(struct avr_irq_t *irq, uint32_t value, void *param)
{
    (void)irq;
    (void)param;
    if (filled(&from_avr) < LINE_SIZE - 1) {
        put(&from_avr, (uint8_t)value);
    }
}

/* Handles any reset, including one by the program's watchdog. */
static void was_reset(struct avr_io_t *io)
{
    (void)io;
    for (unsigned port = 0; port < PORTS; port++) {
        port_levels[port] = 0;
        port_modes[port] = 0;
        port_shown[port] = 0; /* the reset record implies it */
    }
    if (hung_at) {
        memcpy(avr->flash + hung_at, &hung_instruction, sizeof hung_instruction);
        hung_at = 0;
    }
    reset_cycle = avr->cycle;
    recorded = 0;
    pins_record(0, PIN_NONE, false, PIN_RESET);
}

static void connect_uart(void)
{
    uint32_t flags = 0;
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    avr_irq_t *output = avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT);
    avr_irq_register_notify(output, byte_sent, 0);
}

bool machine_option(int letter, const char *value)
{
    switch (letter) {
    case 'b':
        board = value;
        return strcmp(board, "uno") == 0 || strcmp(board, "mega") == 0;
    case 'e':
        elf = value;
        return true;
    case 'a':
        hang_at = (uint32_t)strtoul(value, 0, 0);
        return true;
    case 'k':
        tells_stack = true;
        return true;
    default:
        cycles_a_stamp = 1;
        return true;
    }
}

static bool complain(const char *text, const char *about)
{
    fprintf(stderr, "%s: %s%s\n", machine_name, text, about);
    return false;
}

static void find_variables_end(const elf_firmware_t *program)
{
    for (uint32_t i = 0; i < program->symbolcount; i++) {
        if (strcmp(program->symbol[i]->symbol, "_end") == 0) {
            variables_end = (uint16_t)(program->symbol[i]->addr - DATA_ADDRESSES);
        }
    }
}

bool machine_start(void)
{
    bool uno = strcmp(board, "uno") == 0;
    elf_firmware_t program = {0};
    if (!elf) {
        return complain("which program shall run? Say --elf FILE", "");
    }
    if (!freopen("/dev/null", "w", stdout)) { /* simavr prints the parts it loads there */
        return complain("cannot open /dev/null", "");
    }
    if (elf_read_firmware(elf, &program) != 0) {
        return complain("cannot read ", elf);
    }
    avr = avr_make_mcu_by_name(uno ? "atmega328p" : "atmega2560");
    if (!avr) {
        return complain("simavr has no chip for board ", board);
    }
    avr_init(avr);
    avr->frequency = FREQUENCY;
    avr->log = LOG_NONE;
    avr_load_firmware(avr, &program);
    find_variables_end(&program);
    number_pins(uno ? uno_places : mega_places,
                (unsigned)(uno ? sizeof uno_places : sizeof mega_places) / sizeof uno_places[0]);
    connect_uart();
    reset_notice.reset = was_reset;
    avr_register_io(avr, &reset_notice);
    pins_record(0, PIN_NONE, false, PIN_RESET);
    return true;
}

void machine_end(void)
{
    pins_flush();
}

static void feed_uart(void)
{
    if (avr->cycle < next_byte || !filled(&to_avr)) {
        return;
    }
    next_byte = avr->cycle + BYTE_CYCLES;
    uint8_t byte = take(&to_avr);
    if (cycles_a_stamp == 1) {
        pins_record(stamp(), PIN_NONE, byte, PIN_BYTE);
    }
    avr_raise_irq(avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT), byte);
}

/* Returns false if the stack has run into the variables. */
static bool watch_stack(void)
{
    static uint16_t before;
    static unsigned lasted;
    uint16_t pointer = (uint16_t)(avr->data[R_SPL] | avr->data[R_SPH] << 8);
    lasted = pointer == before ? lasted + 1 : 0;
    before = pointer;
    if (lasted < SETTLED || pointer >= lowest_stack) {
        return true;
    }
    lowest_stack = pointer;
    if (pointer < variables_end) {
        return complain("the stack ran into the variables of ", elf);
    }
    if (tells_stack) {
        pins_record(stamp(), pointer + 1 - variables_end, 0, PIN_STACK);
    }
    return true;
}

bool machine_run(uint64_t until)
{
    while (machine_now() < until) {
        int state = avr_run(avr);
        if (state == cpu_Done || state == cpu_Crashed || !watch_stack()) {
            return false;
        }
        feed_uart();
    }
    if (machine_since_reset() - recorded >= TIME_RECORD_TICKS) {
        recorded = machine_since_reset();
        pins_record(stamp(), PIN_NONE, false, PIN_TIME);
    }
    return true;
}

void machine_reset(void)
{
    avr_reset(avr);
    avr_regbit_set(avr, avr->reset_flags.extrf);
}

void machine_hang(void)
{
    static const uint16_t circle = RJMP_TO_ITSELF;
    if (hang_at && !hung_at) {
        hung_at = hang_at;
        memcpy(&hung_instruction, avr->flash + hang_at, sizeof hung_instruction);
        memcpy(avr->flash + hang_at, &circle, sizeof circle);
    }
}

void machine_watchdog(void)
{
    /* the chip has its own watchdog */
}

unsigned machine_room(void)
{
    return LINE_SIZE - 1 - filled(&to_avr);
}

void machine_receive(const uint8_t *bytes, unsigned length)
{
    while (length--) {
        put(&to_avr, *bytes++);
    }
}

unsigned machine_transmitted(uint8_t *bytes, unsigned room)
{
    unsigned count = 0;
    while (count < room && filled(&from_avr)) {
        bytes[count++] = take(&from_avr);
    }
    return count;
}
