/* Generated from firmware/protocol.toml by firmware/tools/generate_protocol.py; do not edit. */
/* clang-format off */
#ifndef CUBIST_MESSAGES_H
#define CUBIST_MESSAGES_H

#include <stdint.h>

#include "board.h"
#include "protocol.h"

/* A bit for each actuator. */
#if BOARD_ACTUATORS > 8
typedef uint16_t actuator_mask;
#else
typedef uint8_t actuator_mask;
#endif

struct __attribute__((packed)) hello {
    uint8_t version; /* protocol version of the host */
    uint16_t nonce; /* chosen at random; Welcome returns it */
};

struct __attribute__((packed)) ping {
    uint8_t echo; /* returned in Status, so that the host can match the answer */
};

struct __attribute__((packed)) config_begin {
    uint16_t silence_hold_ms; /* see SILENCE_HOLD_MS */
    uint16_t silence_safe_ms; /* see SILENCE_SAFE_MS */
};

struct __attribute__((packed)) config_actuator {
    uint8_t kind; /* Kind */
    uint8_t flags; /* ActuatorFlag bits */
    uint8_t pin; /* pin of the servo pulse or of the steps */
    uint8_t direction_pin;
    uint8_t enable_pin; /* several actuators may share it */
    uint8_t sensor_pin; /* end stop or index sensor */
    int32_t minimum; /* lowest position: steps, or ticks of pulse */
    int32_t maximum; /* highest position */
    uint16_t min_interval; /* ticks between steps at its highest speed */
    int32_t home_position; /* position at the edge of the end stop, of a homed servo, or of a stepper without end stop whose position is unknown */
    uint16_t home_interval; /* stepper: ticks per step while seeking the end stop; servo: milliseconds of the slew to its home position */
    uint16_t home_slow_interval; /* ticks per step while approaching it a second time */
    uint16_t home_backoff; /* steps away from the end stop before that */
    uint32_t home_travel; /* steps after which the end stop counts as missing */
    uint16_t check_period; /* stepper: steps between positions at which its sensor is active, which the board checks after each turn; 0: no check */
    int16_t check_position; /* stepper: a position at which the sensor is active */
};

struct __attribute__((packed)) config_driver {
    uint8_t actuator; /* number of the stepper */
    uint8_t address; /* address of the driver on the UART */
    uint16_t slow_interval; /* ticks between steps from which on the driver's report of an open load counts */
    uint16_t stall_blank; /* 0: its sensor is a switch. Else homing ends where the motor stalls, its sensor is the driver's DIAG output, and a stall counts after so many steps of a motion */
};

struct __attribute__((packed)) config_end {
    uint16_t crc; /* CRC-16 of the payloads of ConfigBegin, of all ConfigActuator and of all ConfigDriver, in order */
};

struct __attribute__((packed)) profile_begin {
    uint8_t kind; /* Kind */
    uint8_t segments; /* number of segments that follow */
    uint32_t duration; /* ticks from start to rest, settling included */
    uint16_t crc; /* CRC-16 of all segments as sent */
};

struct __attribute__((packed)) plan_begin {
    uint16_t plan; /* number of the plan, returned in Status */
    uint16_t turns; /* number of its turns */
};

struct __attribute__((packed)) go_at {
    uint32_t tick; /* ticks since boot, as in Status */
};

struct __attribute__((packed)) home {
    actuator_mask actuators;
};

struct __attribute__((packed)) power_down {
    actuator_mask actuators;
    actuator_mask lost; /* those among them that may turn without power, so that their positions are unknown */
};

struct __attribute__((packed)) welcome {
    uint8_t version; /* protocol version */
    uint16_t nonce; /* nonce of the Hello that this answers */
    uint32_t boot_id; /* differs after every reset */
    uint16_t config_crc; /* CRC of its configuration, 0 for none */
    uint8_t board; /* Board */
    uint8_t major; /* firmware version */
    uint8_t minor;
    uint8_t patch;
    uint16_t profile_units; /* room for profiles, in segments; each profile takes one more */
    uint16_t queue_bytes; /* room for turns */
    uint16_t rate_one; /* hundreds of steps/s for one axis at a time */
    uint16_t rate_two; /* hundreds of steps/s for each of two axes at a time */
    uint16_t rate_six; /* hundreds of steps/s for each of six axes at a time */
    uint8_t reset_cause; /* ResetCause */
};

struct __attribute__((packed)) status {
    uint8_t state; /* State */
    uint8_t fault; /* Fault, 0 for none */
    uint8_t fault_detail; /* actuator or message type the fault is about */
    actuator_mask homed;
    actuator_mask moving;
    uint16_t plan; /* number of the plan */
    uint16_t turns_done; /* turns of it completed */
    uint32_t executed; /* ticks from the start of the plan to the end of its last completed turn */
    uint16_t free; /* free bytes of the turn queue */
    uint8_t underruns; /* times the queue ran dry before the end of the plan, since boot */
    uint8_t late; /* turns that could not start on time, since boot */
    uint16_t bad_frames; /* frames with a wrong CRC or length, since boot */
    uint8_t lost_bytes; /* bytes lost to a full receive buffer or a slow interrupt, since boot */
    uint8_t held; /* times the host fell silent, since boot */
    actuator_mask sensors; /* actuators whose sensor is active */
    uint8_t echo; /* echo of the last Ping */
    uint32_t now; /* ticks since boot; wraps after 35 minutes */
};

struct __attribute__((packed)) ack {
    uint16_t free; /* free bytes of the turn queue */
};

struct __attribute__((packed)) positions {
    uint16_t config_crc; /* CRC of its configuration, 0 for none */
    actuator_mask known; /* the actuators whose position is known */
};

#endif
