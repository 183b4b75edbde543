/*
 * All drivers share one wire, so there is one exchange at a time: the board sends a datagram,
 * receives its own echo and then the answer. The UART's FIFO holds a whole exchange, so this needs
 * no interrupt. The values of the registers come from the host. This module writes them, checks by
 * the counter IFCNT that each write arrived, and then reads one register every SLOT_TICKS: GSTAT of
 * each driver in turn, which shows everything that needs a quick reaction, and once a round
 * DRV_STATUS or SG_RESULT of one of them.
 *
 * A driver that reports a fault has switched its motor off, or makes steps of the wrong size. The
 * motor's turn ends at once and its position is lost. The other motors finish their turns, as after
 * any other fault in a plan. So does the motor of a driver that does not answer.
 */
#include "drivers.h"

#if defined(BOARD_HAS_DRIVERS)

#include <string.h>

#include "actuators.h"
#include "player.h"
#include "timer.h"

#define TICKS_PER_MS (1000ul * PROTOCOL_TICKS_PER_US)
#define SLOT_TICKS (10 * TICKS_PER_MS)
#define ANSWER_TICKS (5 * TICKS_PER_MS) /* longest time of a datagram with its answer */
#define MOST_ATTEMPTS 5

#define SYNC 0x05
#define MASTER 0xff
#define WRITE_BIT 0x80
#define READ_BYTES 4
#define WRITE_BYTES 8
#define ANSWER_BYTES 8

#define GSTAT 0x01
#define GSTAT_RESET (1u << 0)
#define GSTAT_ERROR (1u << 1)
#define GSTAT_UNDERVOLTAGE (1u << 2)
#define GSTAT_ALL 7u
#define IFCNT 0x02
#define SG_RESULT 0x41
#define DRV_STATUS 0x6f
#define DRV_STATUS_HOT (1u << 1)
#define DRV_STATUS_GROUND_A (1u << 2)
#define DRV_STATUS_GROUND_B (1u << 3)
#define DRV_STATUS_SUPPLY_A (1u << 4)
#define DRV_STATUS_SUPPLY_B (1u << 5)
#define DRV_STATUS_OPEN_A (1u << 6)
#define DRV_STATUS_OPEN_B (1u << 7)
#define DRV_STATUS_AT_REST (1u << 31)

/* Readings in a row, all in slow motion, that make an open load a fault. */
#define OPEN_LOOKS 2

/* Steps of the set-up before the registers, and after them. */
enum step { STEP_FLAGS, STEP_COUNT, STEP_REGISTERS };
enum last_step { LAST_CLEAR, LAST_COUNT, LAST_FLAGS, LAST_STATUS };

struct driver {
    struct config_driver setup;
    struct driver_register registers[PROTOCOL_MAX_DRIVER_REGISTERS];
    struct driver_state state;
    uint8_t count;    /* of registers */
    uint8_t step;     /* of the set-up */
    uint8_t attempts; /* in a row that failed */
    uint8_t writes;   /* IFCNT before the set-up */
    uint8_t open_looks;
    bool was_ready;
    bool has_error; /* DRV_STATUS has the cause */
};

static struct driver drivers[PROTOCOL_MAX_DRIVERS];
static uint8_t driver_count;

static struct {
    struct driver *driver; /* 0: idle */
    bool settles;          /* bytes of a failed exchange may still arrive */
    uint8_t reg;
    bool reads;
    uint8_t sent;
    uint8_t expected;
    uint8_t received;
    uint8_t bytes[READ_BYTES + ANSWER_BYTES];
    uint32_t since;
} line;

static uint8_t slot;
static uint32_t slot_began;

static uint8_t crc8(const uint8_t *bytes, uint8_t length)
{
    uint8_t crc = 0;
    while (length--) {
        uint8_t byte = *bytes++;
        for (uint8_t bit = 0; bit < 8; bit++) {
            bool differs = (crc >> 7) ^ (byte & 1);
            crc = (uint8_t)(crc << 1) ^ (differs ? 0x07 : 0);
            byte >>= 1;
        }
    }
    return crc;
}

static void send(struct driver *driver, uint8_t reg, bool reads, uint32_t value)
{
    uint8_t bytes[WRITE_BYTES] = {SYNC, driver->setup.address, reg};
    uint8_t length = reads ? READ_BYTES : WRITE_BYTES;
    if (!reads) {
        bytes[2] |= WRITE_BIT;
        for (uint8_t i = 0; i < 4; i++) {
            bytes[3 + i] = (uint8_t)(value >> (24 - 8 * i));
        }
    }
    bytes[length - 1] = crc8(bytes, length - 1);
    for (uint8_t late; board_drivers_receive(&late);) {
    }
    line.driver = driver;
    line.reg = reg;
    line.reads = reads;
    line.sent = length;
    line.expected = length + (reads ? ANSWER_BYTES : 0);
    line.received = 0;
    line.since = timer_now();
    board_drivers_send(bytes, length);
}

static void ask(struct driver *driver, uint8_t reg)
{
    send(driver, reg, true, 0);
}

/* Returns true if the exchange is over, with or without an answer. */
static bool exchange_is_over(void)
{
    uint8_t byte;
    while (line.received < line.expected && board_drivers_receive(&byte)) {
        if (line.received < sizeof line.bytes) {
            line.bytes[line.received] = byte;
        }
        line.received++;
    }
    return line.received == line.expected || time_reached(timer_now(), line.since + ANSWER_TICKS);
}

static bool take_answer(uint32_t *value)
{
    const uint8_t *answer = line.bytes + line.sent;
    if (line.received != line.expected || answer[0] != SYNC || answer[1] != MASTER ||
        answer[2] != line.reg || answer[7] != crc8(answer, ANSWER_BYTES - 1)) {
        return false;
    }
    *value = (uint32_t)answer[3] << 24 | (uint32_t)answer[4] << 16 | (uint32_t)answer[5] << 8 |
             answer[6];
    return true;
}

static void fail(struct driver *driver, uint8_t fault)
{
    uint32_t now = timer_now();
    struct actuator *actuator = &actuators[driver->setup.actuator];
    driver->state.phase = DRIVER_PHASE_FAILED;
    actuator_halt(actuator, now);
    actuator_lose_place(actuator);
    for (uint8_t i = 0; i < actuator_count; i++) {
        if (actuators[i].turning && !actuator_has_begun(&actuators[i], now)) {
            actuator_halt(&actuators[i], now);
        }
    }
    player_fail(fault, driver->setup.actuator);
}

static void begin_set_up(struct driver *driver)
{
    driver->state.phase = DRIVER_PHASE_SETTING_UP;
    driver->step = STEP_FLAGS;
}

/* Waits until the line is quiet, because an exchange is recognised only by its number of bytes. */
static void let_settle(void)
{
    line.driver = 0;
    line.settles = true;
    line.since = timer_now();
}

/* Retries, or gives up. A set-up starts over. */
static void repeat(struct driver *driver)
{
    let_settle();
    if (++driver->attempts == MOST_ATTEMPTS) {
        driver->state.phase = DRIVER_PHASE_FAILED; /* its motor may still turn correctly */
        player_fail(FAULT_DRIVER_SILENT, driver->setup.actuator);
    } else if (driver->state.phase == DRIVER_PHASE_SETTING_UP) {
        begin_set_up(driver);
    }
}

static uint8_t fault_in_flags(uint8_t flags)
{
    if (flags & GSTAT_UNDERVOLTAGE) {
        return FAULT_DRIVER_VOLTAGE;
    }
    return flags & GSTAT_RESET ? FAULT_DRIVER_RESET : FAULT_NONE;
}

static uint8_t fault_in_status(const struct driver *driver)
{
    static const struct {
        uint8_t bit;
        uint8_t fault;
    } shutdowns[] = {{DRV_STATUS_HOT, FAULT_DRIVER_HOT},
                     {DRV_STATUS_GROUND_A, FAULT_DRIVER_GROUND_A},
                     {DRV_STATUS_GROUND_B, FAULT_DRIVER_GROUND_B},
                     {DRV_STATUS_SUPPLY_A, FAULT_DRIVER_SUPPLY_A},
                     {DRV_STATUS_SUPPLY_B, FAULT_DRIVER_SUPPLY_B}};
    uint32_t status = driver->state.status;
    for (unsigned i = 0; i < sizeof shutdowns / sizeof *shutdowns; i++) {
        if (status & shutdowns[i].bit) {
            return shutdowns[i].fault;
        }
    }
    if (driver->state.flags & GSTAT_ERROR) {
        return FAULT_DRIVER_HOT; /* it has cooled down: a short would still show */
    }
    if (driver->open_looks < OPEN_LOOKS) {
        return FAULT_NONE;
    }
    return status & DRV_STATUS_OPEN_A ? FAULT_DRIVER_OPEN_A : FAULT_DRIVER_OPEN_B;
}

/* At rest and in fast motion, the drivers report open loads that do not exist. */
static void look_for_open_load(struct driver *driver)
{
    const struct stepper *motor = &actuators[driver->setup.actuator].motor.stepper;
    bool slow = motor->active && motor->interval >= driver->setup.slow_interval &&
                !(driver->state.status & DRV_STATUS_AT_REST);
    if (!slow || !(driver->state.status & (DRV_STATUS_OPEN_A | DRV_STATUS_OPEN_B))) {
        driver->open_looks = 0;
    } else if (driver->open_looks < OPEN_LOOKS) {
        driver->open_looks++;
    }
}

/* Stores the value of a register. Returns the fault that it shows. */
static uint8_t note(struct driver *driver, uint8_t reg, uint32_t value)
{
    if (reg == GSTAT) {
        driver->state.flags = (uint8_t)value;
        driver->has_error = value & GSTAT_ERROR;
        return fault_in_flags((uint8_t)value);
    }
    if (reg == DRV_STATUS) {
        driver->state.status = value;
        driver->has_error = false;
        look_for_open_load(driver);
        return fault_in_status(driver);
    }
    driver->state.load = (uint16_t)value;
    return FAULT_NONE;
}

static void set_up(struct driver *driver)
{
    if (driver->step == STEP_FLAGS) {
        ask(driver, GSTAT);
        return;
    }
    if (driver->step == STEP_COUNT) {
        ask(driver, IFCNT);
        return;
    }
    uint8_t number = driver->step - STEP_REGISTERS;
    if (number < driver->count) {
        struct driver_register *one = &driver->registers[number];
        send(driver, one->number, false, one->value);
        return;
    }
    switch (number - driver->count) {
    case LAST_CLEAR:
        send(driver, GSTAT, false, GSTAT_ALL);
        return;
    case LAST_COUNT:
        ask(driver, IFCNT);
        return;
    case LAST_FLAGS:
        ask(driver, GSTAT);
        return;
    default:
        ask(driver, DRV_STATUS);
    }
}

/* Handles the answer to a step of the set-up. Returns false if the step failed. */
static bool follow_set_up(struct driver *driver, uint32_t value)
{
    uint8_t behind = driver->step - STEP_REGISTERS - driver->count;
    if (driver->step == STEP_FLAGS) {
        driver->state.flags = (uint8_t)value;
        if (value & GSTAT_RESET && driver->was_ready) {
            actuator_lose_place(&actuators[driver->setup.actuator]);
        }
    } else if (driver->step == STEP_COUNT) {
        driver->writes = (uint8_t)value;
    } else if (driver->step >= STEP_REGISTERS + driver->count) {
        uint8_t written = driver->count + 1;
        if (behind == LAST_COUNT && (uint8_t)(value - driver->writes) != written) {
            return false;
        }
        uint8_t fault = behind >= LAST_FLAGS ? note(driver, line.reg, value) : FAULT_NONE;
        if (fault) {
            fail(driver, fault);
            return true;
        }
        if (behind == LAST_STATUS) {
            driver->state.phase = DRIVER_PHASE_READY;
            driver->was_ready = true;
            driver->attempts = 0;
        }
    }
    driver->step++;
    return true;
}

static void end_exchange(void)
{
    struct driver *driver = line.driver;
    uint32_t value = 0;
    bool answered = !line.reads || take_answer(&value);
    line.driver = 0;
    if (driver->state.phase == DRIVER_PHASE_FAILED) {
        return;
    }
    if (driver->state.phase == DRIVER_PHASE_SETTING_UP) {
        if (!answered || !follow_set_up(driver, value)) {
            repeat(driver);
        }
        return;
    }
    if (!answered) {
        repeat(driver);
        return;
    }
    driver->attempts = 0;
    uint8_t fault = note(driver, line.reg, value);
    if (fault) {
        fail(driver, fault);
    }
}

static struct driver *find(uint8_t phase)
{
    for (uint8_t i = 0; i < driver_count; i++) {
        if (drivers[i].state.phase == phase) {
            return &drivers[i];
        }
    }
    return 0;
}

static bool is_turning(const struct driver *driver)
{
    return actuators[driver->setup.actuator].motor.stepper.active;
}

/* Returns the next driver whose motor turns, because its registers show the most, or else the next
 * one. */
static struct driver *next_driver(void)
{
    static uint8_t last;
    for (uint8_t ahead = 1; ahead <= driver_count; ahead++) {
        uint8_t number = (last + ahead) % driver_count;
        if (is_turning(&drivers[number])) {
            last = number;
            return &drivers[number];
        }
    }
    last = (last + 1) % driver_count;
    return &drivers[last];
}

/* Reads the register of this slot. */
static void watch(void)
{
    if (slot < driver_count) {
        if (drivers[slot].state.phase == DRIVER_PHASE_READY) {
            ask(&drivers[slot], GSTAT);
        }
        slot++;
        return;
    }
    static struct driver *driver;
    static bool looked;
    if (!looked) {
        driver = next_driver();
    }
    if (driver->state.phase == DRIVER_PHASE_READY) {
        ask(driver, looked ? SG_RESULT : DRV_STATUS);
    }
    looked = !looked;
    slot = 0;
}

static struct driver *find_error(void)
{
    for (uint8_t i = 0; i < driver_count; i++) {
        if (drivers[i].has_error && drivers[i].state.phase == DRIVER_PHASE_READY) {
            return &drivers[i];
        }
    }
    return 0;
}

void drivers_poll(void)
{
    if (!driver_count) {
        return;
    }
    if (line.driver) {
        if (!exchange_is_over()) {
            return;
        }
        end_exchange();
    }
    if (line.settles) {
        line.settles = !time_reached(timer_now(), line.since + ANSWER_TICKS);
        return;
    }
    struct driver *driver = find(DRIVER_PHASE_SETTING_UP);
    if (driver) {
        set_up(driver);
        return;
    }
    driver = find_error();
    if (driver) {
        ask(driver, DRV_STATUS);
        return;
    }
    if (time_reached(timer_now(), slot_began + SLOT_TICKS)) {
        slot_began = timer_now();
        watch();
    }
}

uint8_t drivers_add(const uint8_t *payload, uint8_t length)
{
    struct config_driver setup;
    if (length < sizeof setup || (length - sizeof setup) % sizeof(struct driver_register) ||
        length > sizeof setup + sizeof drivers[0].registers) {
        return FAULT_BAD_MESSAGE;
    }
    memcpy(&setup, payload, sizeof setup);
    if (setup.actuator >= actuator_count || setup.address >= PROTOCOL_MAX_DRIVERS ||
        driver_count == PROTOCOL_MAX_DRIVERS || !board_drivers_open() ||
        actuators[setup.actuator].setup.kind != KIND_STEPPER) {
        return FAULT_BAD_CONFIG;
    }
    for (uint8_t i = 0; i < driver_count; i++) {
        if (drivers[i].setup.address == setup.address ||
            drivers[i].setup.actuator == setup.actuator) {
            return FAULT_BAD_CONFIG;
        }
    }
    struct driver *driver = &drivers[driver_count++];
    memset(driver, 0, sizeof *driver);
    driver->setup = setup;
    driver->count = (uint8_t)((length - sizeof setup) / sizeof(struct driver_register));
    memcpy(driver->registers, payload + sizeof setup, length - sizeof setup);
    driver->state.actuator = setup.actuator;
    return FAULT_NONE;
}

void drivers_forget(void)
{
    if (driver_count) {
        board_drivers_close();
    }
    driver_count = 0;
    line.driver = 0;
}

void drivers_set_up(void)
{
    for (uint8_t i = 0; i < driver_count; i++) {
        drivers[i].attempts = 0;
        begin_set_up(&drivers[i]);
    }
    let_settle();
    slot = 0;
}

bool drivers_are_ready(void)
{
    for (uint8_t i = 0; i < driver_count; i++) {
        if (drivers[i].state.phase != DRIVER_PHASE_READY) {
            return false;
        }
    }
    return true;
}

uint16_t drivers_stall_blank(uint8_t actuator)
{
    for (uint8_t i = 0; i < driver_count; i++) {
        if (drivers[i].setup.actuator == actuator) {
            return drivers[i].setup.stall_blank;
        }
    }
    return 0;
}

uint8_t drivers_report(struct driver_report *report)
{
    for (uint8_t i = 0; i < driver_count; i++) {
        report->each[i] = drivers[i].state;
    }
    return driver_count * (uint8_t)sizeof report->each[0];
}

#endif
