/* Stepper drivers on their UART: two of them, modelled by the registers that the firmware uses. */
#include <string.h>

#include "actuators.h"
#include "bench.h"
#include "drivers.h"

#define STEPPERS 2
#define GSTAT 0x01
#define IFCNT 0x02
#define SG_RESULT 0x41
#define CHOPCONF 0x6c
#define DRV_STATUS 0x6f
#define BLANK 10

struct model {
    uint8_t flags; /* GSTAT */
    uint8_t writes;
    uint32_t chopper;
    uint32_t status;
    bool silent;
    unsigned lost_writes; /* number of writes to lose next */
};

static struct model models[STEPPERS];
static bool stalls; /* DIAG of the first */

static uint8_t crc8(const uint8_t *bytes, unsigned length)
{
    uint8_t crc = 0;
    for (unsigned i = 0; i < 8 * length; i++) {
        uint8_t bit = bytes[i / 8] >> i % 8 & 1;
        crc = (uint8_t)(crc << 1) ^ ((crc >> 7) ^ bit ? 7 : 0);
    }
    return crc;
}

static uint32_t value_of(const struct model *model, uint8_t number)
{
    return number == GSTAT        ? model->flags
           : number == IFCNT      ? model->writes
           : number == DRV_STATUS ? model->status
                                  : 300;
}

static uint8_t answer_as_drivers(const uint8_t *bytes, uint8_t length, uint8_t *answer)
{
    struct model *model = &models[bytes[1]];
    CHECK(bytes[0] == 5 && bytes[1] < STEPPERS && bytes[length - 1] == crc8(bytes, length - 1));
    CHECK(length == (bytes[2] & 0x80 ? 8 : 4));
    if (model->silent) {
        return 0;
    }
    if (length == 4) {
        uint32_t value = value_of(model, bytes[2]);
        uint8_t said[8] = {5,
                           0xff,
                           bytes[2],
                           (uint8_t)(value >> 24),
                           (uint8_t)(value >> 16),
                           (uint8_t)(value >> 8),
                           (uint8_t)value};
        said[7] = crc8(said, 7);
        memcpy(answer, said, sizeof said);
        return sizeof said;
    }
    if (model->lost_writes) {
        model->lost_writes--;
        return 0;
    }
    model->writes++;
    if (bytes[2] == (GSTAT | 0x80)) {
        model->flags &= ~bytes[6] | 4;
    } else if (bytes[2] == (CHOPCONF | 0x80)) {
        model->chopper = (uint32_t)bytes[3] << 24 | (uint32_t)bytes[4] << 16 | bytes[6];
    }
    return 0;
}

static struct config_actuator motor(uint8_t number)
{
    struct config_actuator setup = bench_stepper(number == 0);
    setup.flags &= (uint8_t)~ACTUATOR_FLAG_SAFE_OFF;
    setup.home_slow_interval = setup.home_interval = 400;
    setup.home_backoff = 100;
    return setup;
}

static void send_configuration(uint16_t blank)
{
    struct config_begin begin = {.silence_hold_ms = 2000, .silence_safe_ms = 20000};
    struct config_end end = {.crc = crc16(CRC_START, (const uint8_t *)&begin, sizeof begin)};
    bench_command(MESSAGE_CONFIG_BEGIN, &begin, sizeof begin);
    for (uint8_t i = 0; i < STEPPERS; i++) {
        struct config_actuator setup = motor(i);
        bench_command(MESSAGE_CONFIG_ACTUATOR, &setup, sizeof setup);
        end.crc = crc16(end.crc, (const uint8_t *)&setup, sizeof setup);
    }
    for (uint8_t i = 0; i < STEPPERS; i++) {
        struct __attribute__((packed)) {
            struct config_driver head;
            struct driver_register registers[2];
        } driver = {
            {.actuator = i, .address = i, .slow_interval = 1000, .stall_blank = i ? 0 : blank},
            {{0, 0x1c0}, {CHOPCONF, 0x15000053}}};
        bench_command(MESSAGE_CONFIG_DRIVER, &driver, sizeof driver);
        end.crc = crc16(end.crc, (const uint8_t *)&driver, sizeof driver);
    }
    bench_command(MESSAGE_CONFIG_END, &end, sizeof end);
}

static void power_on(void)
{
    bench_command(MESSAGE_CLEAR, 0, 0);
    memset(models, 0, sizeof models);
    models[0].flags = models[1].flags = 1;
    stalls = false;
}

static void begin(uint16_t blank)
{
    power_on();
    send_configuration(blank);
    bench_run_ms(100);
    CHECK(drivers_are_ready());
}

/* Both motors turn for 0.2 s. */
static void turn_both(void)
{
    struct step_segment run = {.interval = 400, .count = 1000, .add = 0};
    const uint8_t turns[] = {TIMING_AFTER_ALL << TURN_BIT_TIMING_SHIFT, 0,
                             TIMING_WITH << TURN_BIT_TIMING_SHIFT, 1};
    inputs[SENSOR_PIN] = true;
    for (uint8_t i = 0; i < STEPPERS; i++) {
        actuators[i].homed = actuators[i].placed = true;
    }
    bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
    bench_profile(KIND_STEPPER, &run, 1, 400000);
    bench_clear_edges();
    bench_play(turns, sizeof turns, 2);
    bench_run_ms(60);
    CHECK(bench_status().state == STATE_RUNNING);
}

static void settings_arrive_and_nothing_moves_before(void)
{
    power_on();
    models[0].lost_writes = 1;
    send_configuration(0);
    bench_home(1);
    CHECK(bench_status().fault == FAULT_BAD_STATE);
    bench_run_ms(100);
    CHECK(drivers_are_ready());
    for (uint8_t i = 0; i < STEPPERS; i++) {
        CHECK(models[i].chopper == 0x15000053 && models[i].flags == 0);
    }
}

static void a_driver_without_answer_is_named_and_its_turn_ends_as_planned(void)
{
    power_on();
    models[1].silent = true;
    send_configuration(0);
    bench_run_ms(100);
    CHECK(bench_status().fault == FAULT_DRIVER_SILENT && bench_status().fault_detail == 1);
    begin(0);
    turn_both();
    models[1].silent = true;
    bench_run_ms(400);
    CHECK(bench_status().fault == FAULT_DRIVER_SILENT && bench_rises(STEP2_PIN) == 1000);
    CHECK(actuators[1].placed && actuators[1].position == 1000);
}

static void a_driver_that_was_reset_stops_its_motor_and_no_other(void)
{
    begin(0);
    turn_both();
    models[1].flags = 1;
    bench_run_ms(400);
    struct status status = bench_status();
    CHECK(status.fault == FAULT_DRIVER_RESET && status.fault_detail == 1);
    CHECK(bench_rises(STEP_PIN) == 1000 && bench_rises(STEP2_PIN) < 700);
    CHECK(actuators[0].placed && !actuators[1].placed);
    models[1].chopper = 0;
    bench_command(MESSAGE_CLEAR, 0, 0);
    bench_run_ms(100);
    CHECK(drivers_are_ready() && models[1].chopper == 0x15000053);
}

static void each_report_is_a_fault(void)
{
    static const struct {
        uint8_t flags;
        uint32_t status;
        uint8_t fault;
    } reports[] = {
        {4, 0, FAULT_DRIVER_VOLTAGE},
        {2, 1 << 1, FAULT_DRIVER_HOT},
        {2, 0, FAULT_DRIVER_HOT},
        {2, 1 << 2, FAULT_DRIVER_GROUND_A},
        {2, 1 << 3, FAULT_DRIVER_GROUND_B},
        {2, 1 << 4, FAULT_DRIVER_SUPPLY_A},
        {2, 1 << 5, FAULT_DRIVER_SUPPLY_B},
        {0, 1 << 0, FAULT_NONE},
        {0, 1 << 6, FAULT_NONE /* at rest */},
    };
    for (unsigned i = 0; i < COUNT(reports); i++) {
        begin(0);
        models[0].flags = reports[i].flags;
        models[0].status = reports[i].status;
        bench_run_ms(400);
        CHECK(bench_status().fault == reports[i].fault);
        models[0].flags &= 3;
        models[0].status = 0;
    }
}

static void an_open_load_counts_in_slow_motion_alone(void)
{
    for (uint8_t slow = 0; slow < 2; slow++) {
        struct step_segment run = {.interval = slow ? 4000 : 400, .count = 500, .add = 0};
        const uint8_t turn[] = {TIMING_AFTER_ALL << TURN_BIT_TIMING_SHIFT, 1};
        begin(0);
        actuators[1].homed = actuators[1].placed = true;
        bench_command(MESSAGE_CLEAR_PROFILES, 0, 0);
        bench_profile(KIND_STEPPER, &run, 1, 4000000);
        bench_play(turn, sizeof turn, 1);
        models[1].status = 1 << 7;
        bench_run_ms(800);
        CHECK(bench_status().fault == (slow ? FAULT_DRIVER_OPEN_B : FAULT_NONE));
        bench_run_ms(2000);
    }
}

static int where;
static bool jammed;

/* Simulates a peg at -300, where the motor stalls. DIAG is invalid in the first steps of each
 * motion. */
static void follow(uint8_t pin, bool level)
{
    static unsigned steps;
    static bool direction;
    if (pin != STEP_PIN || !level) {
        return;
    }
    steps = direction == levels[DIRECTION_PIN] ? steps + 1 : 0;
    direction = levels[DIRECTION_PIN];
    bool blocked = jammed || (!direction && where <= -300);
    where += blocked ? 0 : direction ? 1 : -1;
    inputs[SENSOR_PIN] = blocked || steps < BLANK - 2;
}

static void homing_ends_at_a_stall_and_a_jam_is_none(void)
{
    on_edge = follow;
    for (jammed = false;; jammed = true) {
        begin(BLANK);
        where = 0;
        struct config_actuator setup = motor(0);
        CHECK(setup.flags & ACTUATOR_FLAG_HOME_SENSOR);
        actuators[0].setup.flags |= ACTUATOR_FLAG_SENSOR_HIGH;
        inputs[SENSOR_PIN] = true; /* not valid at rest */
        bench_home(1);
        bench_run_ms(2000);
        struct status status = bench_status();
        if (jammed) {
            CHECK(status.fault == FAULT_HOME_BLOCKED && !actuators[0].placed);
            break;
        }
        CHECK(status.fault == FAULT_NONE && status.homed == 1 && where == -300);
    }
    on_edge = 0;
}

static void states_are_reported(void)
{
    struct driver_report report;
    begin(0);
    models[1].status = 0x80080000;
    bench_run_ms(400);
    CHECK(drivers_report(&report) == 2 * sizeof report.each[0]);
    CHECK(report.each[1].actuator == 1 && report.each[1].phase == DRIVER_PHASE_READY);
    CHECK(report.each[1].status == 0x80080000 && report.each[1].load == 300);
}

static void wrong_drivers_are_refused(void)
{
    struct config_driver driver = {.actuator = 0, .address = 4};
    struct config_begin configuration = {.silence_hold_ms = 200, .silence_safe_ms = 1000};
    struct config_actuator setup = motor(0);
    for (uint8_t i = 0; i < 3; i++) {
        bench_command(MESSAGE_CLEAR, 0, 0);
        bench_command(MESSAGE_CONFIG_BEGIN, &configuration, sizeof configuration);
        bench_command(MESSAGE_CONFIG_ACTUATOR, &setup, sizeof setup);
        driver.actuator = i == 1;
        driver.address = i ? 0 : 4;
        bench_command(MESSAGE_CONFIG_DRIVER, &driver, sizeof driver - (i == 2));
        CHECK(bench_status().fault == (i == 2 ? FAULT_BAD_MESSAGE : FAULT_BAD_CONFIG));
    }
}

int main(void)
{
    on_datagram = answer_as_drivers;
    settings_arrive_and_nothing_moves_before();
    a_driver_without_answer_is_named_and_its_turn_ends_as_planned();
    a_driver_that_was_reset_stops_its_motor_and_no_other();
    each_report_is_a_fault();
    an_open_load_counts_in_slow_motion_alone();
    homing_ends_at_a_stall_and_a_jam_is_none();
    states_are_reported();
    wrong_drivers_are_refused();
    return bench_result();
}
