#include "commands.h"

#include <string.h>

#include "actuators.h"
#include "board.h"
#include "drivers.h"
#include "faults.h"
#include "frame.h"
#include "homing.h"
#include "player.h"
#include "profiles.h"
#include "queue.h"
#include "safety.h"
#include "timer.h"

static bool configured;
static uint16_t config_crc;
static uint8_t shown_state;
static uint8_t shown_fault;

static bool at_rest(void)
{
    return !player.running && !actuators_mask(actuator_is_moving);
}

static bool is_homing(const struct actuator *actuator)
{
    return actuator->homing;
}

static uint8_t state(void)
{
    if (fault_code()) {
        return STATE_FAULT;
    }
    if (!configured) {
        return STATE_UNCONFIGURED;
    }
    if (actuators_mask(is_homing)) {
        return STATE_HOMING;
    }
    if (!player.running) {
        return STATE_IDLE;
    }
    if (!player.holding) {
        return STATE_RUNNING;
    }
    return actuators_mask(actuator_is_moving) ? STATE_HOLDING : STATE_HELD;
}

static void forget_configuration(void)
{
    safety_release();
    drivers_forget();
    actuators_forget();
    configured = false;
}

static uint8_t config_begin(const uint8_t *payload)
{
    struct config_begin begin;
    memcpy(&begin, payload, sizeof begin);
    forget_configuration();
    safety_set_silence(begin.silence_hold_ms, begin.silence_safe_ms);
    config_crc = crc16(CRC_START, payload, sizeof begin);
    return FAULT_NONE;
}

static uint8_t config_actuator(const uint8_t *payload)
{
    struct config_actuator setup;
    memcpy(&setup, payload, sizeof setup);
    if (configured) {
        return FAULT_BAD_STATE;
    }
    config_crc = crc16(config_crc, payload, sizeof setup);
    return actuators_add(&setup);
}

#if defined(BOARD_HAS_DRIVERS)
static uint8_t config_driver(const uint8_t *payload, uint8_t length)
{
    if (configured) {
        return FAULT_BAD_STATE;
    }
    config_crc = crc16(config_crc, payload, length);
    return drivers_add(payload, length);
}
#endif

static uint8_t config_end(const uint8_t *payload)
{
    struct config_end end;
    memcpy(&end, payload, sizeof end);
    if (end.crc != config_crc || !actuator_count) {
        forget_configuration();
        return FAULT_CONFIG_CRC;
    }
    configured = true;
    drivers_set_up();
    return FAULT_NONE;
}

static uint8_t profile_begin(const uint8_t *payload)
{
    struct profile_begin begin;
    memcpy(&begin, payload, sizeof begin);
    return profiles_begin(&begin);
}

static uint8_t plan_begin(const uint8_t *payload)
{
    struct plan_begin begin;
    memcpy(&begin, payload, sizeof begin);
    player_begin(begin.plan, begin.turns);
    return FAULT_NONE;
}

static bool turns_are_whole(const uint8_t *payload, uint8_t length)
{
    struct turn turn;
    uint8_t at = 0;
    while (at < length) {
        uint8_t taken = turn_read(payload + at, length - at, &turn);
        if (!taken) {
            return false;
        }
        at += taken;
    }
    return length > 0;
}

static bool plan_cannot_go(void)
{
    return !configured || player.started == player.turns || player.dropping || !drivers_are_ready();
}

static uint8_t go(void)
{
    if (plan_cannot_go()) {
        return FAULT_BAD_STATE;
    }
    player_go();
    return FAULT_NONE;
}

static uint8_t go_at(const uint8_t *payload)
{
    struct go_at go_at;
    memcpy(&go_at, payload, sizeof go_at);
    if (plan_cannot_go()) {
        return FAULT_BAD_STATE;
    }
    player_go_at(go_at.tick);
    return FAULT_NONE;
}

static uint8_t home(const uint8_t *payload)
{
    struct home home;
    memcpy(&home, payload, sizeof home);
    if (!configured || home.actuators >> actuator_count || !drivers_are_ready()) {
        return FAULT_BAD_STATE;
    }
    homing_start(home.actuators);
    return FAULT_NONE;
}

static uint8_t power_down(const uint8_t *payload)
{
    struct power_down power_down;
    memcpy(&power_down, payload, sizeof power_down);
    for (uint8_t i = 0; i < actuator_count; i++) {
        if (power_down.actuators & (1u << i)) {
            actuator_power(&actuators[i], false);
            actuators[i].placed &= !(power_down.lost & (1u << i));
        }
    }
    return FAULT_NONE;
}

static uint8_t payload_size(uint8_t type)
{
    switch (type) {
    case MESSAGE_CONFIG_BEGIN:
        return sizeof(struct config_begin);
    case MESSAGE_CONFIG_ACTUATOR:
        return sizeof(struct config_actuator);
    case MESSAGE_CONFIG_END:
        return sizeof(struct config_end);
    case MESSAGE_PROFILE_BEGIN:
        return sizeof(struct profile_begin);
    case MESSAGE_PLAN_BEGIN:
        return sizeof(struct plan_begin);
    case MESSAGE_GO_AT:
        return sizeof(struct go_at);
    case MESSAGE_HOME:
        return sizeof(struct home);
    case MESSAGE_POWER_DOWN:
        return sizeof(struct power_down);
    default:
        return 0;
    }
}

static bool size_is_right(uint8_t type, uint8_t length)
{
    bool free_length = type == MESSAGE_PROFILE_SEGMENTS || type == MESSAGE_TURNS;
#if defined(BOARD_HAS_DRIVERS)
    free_length = free_length || type == MESSAGE_CONFIG_DRIVER;
#endif
    return free_length || length == payload_size(type);
}

/* Messages that start motion or change data a moving robot uses need rest, because an actuator
 * belongs to either the player or homing. GO starts a plan (at rest) or resumes the current one. */
static bool needs_rest(uint8_t type)
{
    switch (type) {
    case MESSAGE_GO:
        return !player.running;
    case MESSAGE_TURNS:
    case MESSAGE_HOLD:
    case MESSAGE_ABORT:
    case MESSAGE_CLEAR:
    case MESSAGE_RELEASE:
        return false;
    default:
        return true;
    }
}

static bool works_in_fault(uint8_t type)
{
    return type == MESSAGE_CLEAR || type == MESSAGE_HOLD || type == MESSAGE_ABORT ||
           type == MESSAGE_RELEASE;
}

static uint8_t carry_out(uint8_t type, const uint8_t *payload, uint8_t length)
{
    switch (type) {
    case MESSAGE_CONFIG_BEGIN:
        return config_begin(payload);
    case MESSAGE_CONFIG_ACTUATOR:
        return config_actuator(payload);
#if defined(BOARD_HAS_DRIVERS)
    case MESSAGE_CONFIG_DRIVER:
        return config_driver(payload, length);
#endif
    case MESSAGE_CONFIG_END:
        return config_end(payload);
    case MESSAGE_CLEAR_PROFILES:
        profiles_clear();
        return FAULT_NONE;
    case MESSAGE_PROFILE_BEGIN:
        return profile_begin(payload);
    case MESSAGE_PROFILE_SEGMENTS:
        return profiles_append(payload, length);
    case MESSAGE_PLAN_BEGIN:
        return plan_begin(payload);
    case MESSAGE_TURNS:
        return queue_push(payload, length) ? FAULT_NONE : FAULT_BAD_MESSAGE;
    case MESSAGE_GO:
        return go();
    case MESSAGE_GO_AT:
        return go_at(payload);
    case MESSAGE_HOLD:
        player_hold();
        return FAULT_NONE;
    case MESSAGE_ABORT:
        homing_abort();
        player_drop();
        return FAULT_NONE;
    case MESSAGE_HOME:
        return home(payload);
    case MESSAGE_CLEAR:
        fault_clear();
        drivers_set_up();
        return FAULT_NONE;
    case MESSAGE_RELEASE:
        safety_release();
        return FAULT_NONE;
    case MESSAGE_POWER_DOWN:
        return power_down(payload);
#if defined(BOARD_HAS_BOOTLOADER)
    case MESSAGE_BOOTLOADER:
        safety_release();
        board_enter_bootloader();
        return FAULT_NONE;
#endif
    default:
        return FAULT_BAD_MESSAGE;
    }
}

bool commands_handle(uint8_t type, const uint8_t *payload, uint8_t length)
{
    if (fault_code() && !works_in_fault(type)) {
        return true; /* acknowledged so that the host learns of the fault, but not executed */
    }
    if (type == MESSAGE_TURNS && length > queue_free()) {
        return false;
    }
    uint8_t fault = FAULT_BAD_MESSAGE;
    if (size_is_right(type, length) &&
        (type != MESSAGE_TURNS || turns_are_whole(payload, length))) {
        bool allowed = at_rest() || !needs_rest(type);
        fault = allowed ? carry_out(type, payload, length) : (uint8_t)FAULT_BAD_STATE;
    }
    if (fault) {
        player_fail(fault, fault == FAULT_BAD_CONFIG ? actuator_count : type);
    }
    return true;
}

void commands_new_session(void)
{
    player_drop();
}

void commands_welcome(struct welcome *welcome)
{
    welcome->version = PROTOCOL_VERSION;
    welcome->boot_id = board_boot_id();
    welcome->config_crc = configured ? config_crc : 0;
    welcome->board = BOARD_ID;
    welcome->major = PROTOCOL_FIRMWARE_MAJOR;
    welcome->minor = PROTOCOL_FIRMWARE_MINOR;
    welcome->patch = PROTOCOL_FIRMWARE_PATCH;
    welcome->profile_units = BOARD_PROFILE_UNITS;
    welcome->queue_bytes = BOARD_QUEUE_BYTES;
    welcome->rate_one = BOARD_RATE_ONE / PROTOCOL_RATE_UNIT;
    welcome->rate_two = BOARD_RATE_TWO / PROTOCOL_RATE_UNIT;
    welcome->rate_six = BOARD_RATE_SIX / PROTOCOL_RATE_UNIT;
    welcome->reset_cause = board_reset_cause();
}

void commands_status(struct status *status)
{
    memset(status, 0, sizeof *status);
    status->state = state();
    status->fault = fault_code();
    status->fault_detail = fault_detail();
    status->homed = actuators_mask(actuator_is_homed);
    status->moving = actuators_mask(actuator_is_moving);
    status->plan = player.plan;
    status->turns_done = player.done;
    status->executed = player.executed;
    status->free = queue_free();
    status->underruns = player.underruns;
    status->late = player.late;
    status->held = safety_times_held();
    status->sensors = actuators_mask(actuator_senses);
    status->now = timer_now();
}

uint8_t commands_whereabouts(struct whereabouts *whereabouts)
{
    whereabouts->head.config_crc = configured ? config_crc : 0;
    whereabouts->head.known = actuators_mask(actuator_is_placed);
    for (uint8_t i = 0; i < actuator_count; i++) {
        whereabouts->each[i] = actuators[i].position;
    }
    return (uint8_t)(sizeof whereabouts->head + actuator_count * sizeof whereabouts->each[0]);
}

bool commands_state_changed(void)
{
    uint8_t now = state();
    bool changed = now != shown_state || fault_code() != shown_fault;
    shown_state = now;
    shown_fault = fault_code();
    return changed;
}
