/* Generated from firmware/protocol.toml by firmware/tools/generate_protocol.py; do not edit. */
#ifndef CUBIST_PROTOCOL_H
#define CUBIST_PROTOCOL_H

#include <stdint.h>

#define PROTOCOL_VERSION 7 /* version of this protocol; both sides must have the same */
#define PROTOCOL_FIRMWARE_VERSION "0.5.0" /* version of the firmware built from this tree */
#define PROTOCOL_TICKS_PER_US 2 /* clock of all motion */
#define PROTOCOL_MAX_PAYLOAD 48 /* bytes of payload in a frame of the host */
#define PROTOCOL_MAX_REPLY 68 /* bytes of payload in a frame of a board */
#define PROTOCOL_WINDOW 6 /* most sequenced frames in flight without acknowledgement */
#define PROTOCOL_HEARTBEAT_MS 50 /* longest pause between frames of the host while anything moves or is about to move */
#define PROTOCOL_HEARTBEAT_AT_REST_MS 500 /* longest pause between frames of the host at rest */
#define PROTOCOL_SILENCE_HOLD_MS 220 /* silence of the host after which motion holds (the Pi may set 100 to 2000) */
#define PROTOCOL_SILENCE_SAFE_MS 3000 /* silence of the host after which outputs go to their safe state */
#define PROTOCOL_MAX_PROFILES 64 /* profile numbers 0 to 63 */
#define PROTOCOL_MAX_DRIVERS 4 /* drivers on one UART, at addresses 0 to 3 */
#define PROTOCOL_MAX_DRIVER_REGISTERS 8 /* registers that ConfigDriver sets */
#define PROTOCOL_NO_PIN 255 /* a pin that is not connected */
#define PROTOCOL_ANY_SESSION 255 /* session number of an emergency stop, which boards obey in every session */
#define PROTOCOL_MIN_INTERVAL 4 /* ticks: shortest time between two steps on any board */
#define PROTOCOL_RATE_UNIT 100 /* steps/s: unit of the rates in Welcome */
#define PROTOCOL_MAX_INTERVAL 40000 /* ticks: longest time between two steps */
#define PROTOCOL_SERVO_FRAME 40000 /* ticks between two pulses of a servo */
#define PROTOCOL_MIN_PULSE 600 /* ticks: shortest servo pulse */
#define PROTOCOL_MAX_PULSE 5000 /* ticks: longest servo pulse */
#define PROTOCOL_FIRST_CHANNEL 32 /* number of channel 0 of a PCA9685, on a Raspberry Pi */
#define PROTOCOL_CHANNELS 16 /* channels of a PCA9685 */
#define PROTOCOL_FIRST_MAESTRO 64 /* number of channel 0 of a Pololu Maestro, on a Raspberry Pi or another computer */
#define PROTOCOL_LOOKAHEAD 20000 /* ticks: a turn counts as in progress this long before its start */
#define PROTOCOL_MAX_DELAY_US 16777215 /* longest time between the starts of two successive turns */
#define PROTOCOL_FIRST_PIN_HOST 2
#define PROTOCOL_PINS_HOST 70 /* a simulated board has the pins of the largest one; 0 and 1 are its serial port */
#define PROTOCOL_FIRST_PIN_ATMEGA328P 2
#define PROTOCOL_PINS_ATMEGA328P 20 /* 2 to 13, A0 to A5 are 14 to 19; 0 and 1 are its serial port */
#define PROTOCOL_FIRST_PIN_ATMEGA2560 2
#define PROTOCOL_PINS_ATMEGA2560 70 /* 2 to 53, A0 to A15 are 54 to 69; 0 and 1 are its serial port */
#define PROTOCOL_FIRST_PIN_RP2040 2
#define PROTOCOL_PINS_RP2040 30 /* GPIO numbers; a Pico has 2 to 22 and 26 to 28; 0 and 1 are its serial port */
#define PROTOCOL_FIRST_PIN_LINUX 2
#define PROTOCOL_PINS_LINUX 88 /* BCM numbers 2 to 27; 32 to 47: channels of a PCA9685, 64 to 87: of a Pololu Maestro */
#define PROTOCOL_MIN_INTERVAL_HOST 24
#define PROTOCOL_RATE_ONE_HOST 60000
#define PROTOCOL_RATE_TWO_HOST 32000
#define PROTOCOL_RATE_SIX_HOST 12000
#define PROTOCOL_MIN_INTERVAL_ATMEGA328P 24
#define PROTOCOL_RATE_ONE_ATMEGA328P 60000
#define PROTOCOL_RATE_TWO_ATMEGA328P 32000
#define PROTOCOL_RATE_SIX_ATMEGA328P 12000
#define PROTOCOL_MIN_INTERVAL_ATMEGA2560 24
#define PROTOCOL_RATE_ONE_ATMEGA2560 60000
#define PROTOCOL_RATE_TWO_ATMEGA2560 32000
#define PROTOCOL_RATE_SIX_ATMEGA2560 12000
#define PROTOCOL_MIN_INTERVAL_RP2040 4
#define PROTOCOL_RATE_ONE_RP2040 500000
#define PROTOCOL_RATE_TWO_RP2040 250000
#define PROTOCOL_RATE_SIX_RP2040 100000
#define PROTOCOL_MIN_INTERVAL_LINUX 24
#define PROTOCOL_RATE_ONE_LINUX 1000
#define PROTOCOL_RATE_TWO_LINUX 1000
#define PROTOCOL_RATE_SIX_LINUX 1000
/* Board, shortest interval, rates of one, two and six motors. */
#define PROTOCOL_STEPS {{"host", 24, 60000, 32000, 12000}, {"atmega328p", 24, 60000, 32000, 12000}, {"atmega2560", 24, 60000, 32000, 12000}, {"rp2040", 4, 500000, 250000, 100000}, {"linux", 24, 1000, 1000, 1000}}
#define PROTOCOL_ACTUATORS_HOST 16
#define PROTOCOL_STEPPERS_HOST 16
#define PROTOCOL_ACTUATORS_ATMEGA328P 8
#define PROTOCOL_STEPPERS_ATMEGA328P 8
#define PROTOCOL_ACTUATORS_ATMEGA2560 8
#define PROTOCOL_STEPPERS_ATMEGA2560 8
#define PROTOCOL_ACTUATORS_RP2040 16
#define PROTOCOL_STEPPERS_RP2040 8 /* a machine of the PIO makes the pulses of a stepper, and there are eight */
#define PROTOCOL_ACTUATORS_LINUX 8
#define PROTOCOL_STEPPERS_LINUX 8
#define PROTOCOL_FIRMWARE_MAJOR 0
#define PROTOCOL_FIRMWARE_MINOR 5
#define PROTOCOL_FIRMWARE_PATCH 0
/* The frame of an emergency stop as it travels, without the final 00. */
#define PROTOCOL_STOP_PATTERN {0x07, 0xff, 0xff, 0xff, 0x7f, 0x87, 0x8c}

enum kind {
    KIND_SERVO = 0, /* pulses at 50 Hz */
    KIND_STEPPER = 1, /* step, direction and enable */
};

enum state {
    STATE_UNCONFIGURED = 0, /* outputs released, no actuators configured */
    STATE_IDLE = 1, /* at rest */
    STATE_HOMING = 2, /* homing actuators */
    STATE_RUNNING = 3, /* executing a plan */
    STATE_HOLDING = 4, /* finishing the turns in progress */
    STATE_HELD = 5, /* at rest in the middle of a plan; GO resumes it, ABORT drops it */
    STATE_FAULT = 6, /* a fault is latched; send CLEAR once its cause is gone */
};

enum timing {
    TIMING_AFTER_ALL = 0, /* starts when all turns before it have ended */
    TIMING_WITH = 1, /* starts together with the turn before it */
    TIMING_AFTER_PREVIOUS = 2, /* starts when the turn before it ends */
    TIMING_DELAY = 3, /* starts a number of microseconds (three more bytes) after the start of the turn before it */
};

enum actuator_flag {
    ACTUATOR_FLAG_INVERT_DIRECTION = 1, /* the direction pin is low for positive steps */
    ACTUATOR_FLAG_ENABLE_HIGH = 2, /* the enable pin is active high */
    ACTUATOR_FLAG_SENSOR_HIGH = 4, /* its sensor is active high */
    ACTUATOR_FLAG_HOME_POSITIVE = 8, /* the end stop lies in the direction of positive steps */
    ACTUATOR_FLAG_HOME_SENSOR = 16, /* homes against an end stop; a stepper without one keeps its known position or, if unknown, is taken to be at its home position */
    ACTUATOR_FLAG_MUST_HOME = 32, /* refuses turns until it is homed */
    ACTUATOR_FLAG_SAFE_OFF = 64, /* loses pulses or driver power after an emergency stop or when the host is lost; without this flag it stays powered, like a gripper that holds the cube */
};

enum driver_phase {
    DRIVER_PHASE_SETTING_UP = 0, /* its settings are being written */
    DRIVER_PHASE_READY = 1, /* has its settings, and no fault */
    DRIVER_PHASE_FAILED = 2, /* had a fault; CLEAR sets it up again */
};

enum turn_bit {
    TURN_BIT_PROFILE_MASK = 63, /* first byte: profile number */
    TURN_BIT_TIMING_SHIFT = 6, /* first byte: timing in the two high bits */
    TURN_BIT_ACTUATOR_MASK = 15, /* second byte: actuator */
    TURN_BIT_REVERSE = 16, /* second byte: steps in the negative direction */
};

enum board {
    BOARD_HOST = 0, /* a simulated board */
    BOARD_ATMEGA328P = 1, /* Arduino Uno, Nano */
    BOARD_ATMEGA2560 = 2, /* Arduino Mega */
    BOARD_LINUX = 3, /* a process on the Raspberry Pi */
    BOARD_RP2040 = 4, /* Raspberry Pi Pico */
};

enum reset_cause {
    RESET_CAUSE_POWER_ON = 0,
    RESET_CAUSE_EXTERNAL = 1, /* reset button, or the serial port was opened */
    RESET_CAUSE_BROWN_OUT = 2, /* supply voltage too low */
    RESET_CAUSE_WATCHDOG = 3, /* the program hung */
};

enum fault {
    FAULT_NONE = 0,
    FAULT_EMERGENCY_STOP = 1, /* emergency stop */
    FAULT_HOST_LOST = 2, /* the Raspberry Pi fell silent */
    FAULT_HOME_MISSING = 3, /* the end stop was never reached */
    FAULT_HOME_STUCK = 4, /* the end stop stays active */
    FAULT_NOT_HOMED = 5, /* an actuator that is not homed was commanded to turn */
    FAULT_BAD_STATE = 6, /* a command arrived in a state that does not allow it */
    FAULT_BAD_MESSAGE = 7, /* a message is malformed or unknown */
    FAULT_BAD_CONFIG = 8, /* the configuration of an actuator is impossible */
    FAULT_CONFIG_CRC = 9, /* the configuration arrived damaged */
    FAULT_PROFILE_CRC = 10, /* a motion profile arrived damaged */
    FAULT_PROFILE_SPACE = 11, /* too many motion profiles for this microcontroller */
    FAULT_BAD_PROFILE = 12, /* a motion profile is impossible */
    FAULT_BAD_TURN = 13, /* a turn names a profile or actuator that does not exist */
    FAULT_OUT_OF_RANGE = 14, /* a turn leaves the limits of an actuator */
    FAULT_OVERLOAD = 15, /* the step interrupt could not keep up */
    FAULT_NOT_IN_PLACE = 16, /* an actuator is not where its turn should have ended */
    FAULT_PULSE_MISSING = 17, /* a servo's channel does not exist */
    FAULT_PULSE_REFUSED = 18, /* a servo's channel cannot be used */
    FAULT_PULSE_FAILED = 19, /* a servo's pulse could not be set */
    FAULT_LINE_REFUSED = 20, /* a line of the Raspberry Pi cannot be used */
    FAULT_PULSE_LIMITED = 21, /* a servo controller limits a pulse that it was sent */
    FAULT_PULSE_SILENT = 22, /* a servo controller does not answer */
    FAULT_DRIVER_SILENT = 23, /* a stepper driver does not answer */
    FAULT_DRIVER_RESET = 24, /* a stepper driver was reset and lost its settings */
    FAULT_DRIVER_VOLTAGE = 25, /* the supply voltage of a stepper driver is too low */
    FAULT_DRIVER_HOT = 26, /* a stepper driver switched itself off because it is too hot */
    FAULT_DRIVER_GROUND_A = 27, /* coil A of a motor has a short to ground */
    FAULT_DRIVER_GROUND_B = 28, /* coil B of a motor has a short to ground */
    FAULT_DRIVER_SUPPLY_A = 29, /* coil A of a motor has a short to the supply, or between its wires */
    FAULT_DRIVER_SUPPLY_B = 30, /* coil B of a motor has a short to the supply, or between its wires */
    FAULT_DRIVER_OPEN_A = 31, /* coil A of a motor is not connected */
    FAULT_DRIVER_OPEN_B = 32, /* coil B of a motor is not connected */
    FAULT_HOME_BLOCKED = 33, /* a motor stalls at once in both directions */
};

struct __attribute__((packed)) step_segment {
    uint16_t interval; /* ticks before the first step */
    int16_t count; /* steps; negative: against the direction of the turn */
    int16_t add; /* ticks added to the interval after each step */
};

struct __attribute__((packed)) servo_segment {
    uint16_t pulse; /* pulse length at the end of the segment, in ticks */
    uint32_t duration; /* ticks */
};

struct __attribute__((packed)) driver_register {
    uint8_t number; /* of the register */
    uint32_t value;
};

struct __attribute__((packed)) driver_state {
    uint8_t actuator; /* its motor */
    uint8_t phase; /* DriverPhase */
    uint8_t flags; /* GSTAT at the last look */
    uint32_t status; /* DRV_STATUS at the last look */
    uint16_t load; /* SG_RESULT at the last look; smaller: more load */
};

enum message {
    MESSAGE_HELLO = 0x01, /* opens a session; answered by Welcome. A new session finishes the turns in progress and drops the rest. */
    MESSAGE_PING = 0x02, /* heartbeat; answered by Status */
    MESSAGE_LOCATE = 0x03, /* asks for the positions; answered by Positions */
    MESSAGE_DRIVERS = 0x04, /* asks for the states of the stepper drivers; answered by DriverStates, by boards that have the drivers' UART */
    MESSAGE_CONFIG_BEGIN = 0x10, /* forgets all actuators; only at rest */
    MESSAGE_CONFIG_ACTUATOR = 0x11, /* configures one actuator; they come in the order of their numbers */
    MESSAGE_CONFIG_DRIVER = 0x13, /* configures the TMC2209 driver of a stepper, after all actuators, on boards that have the drivers' UART */
    MESSAGE_CONFIG_END = 0x12, /* ends the configuration */
    MESSAGE_CLEAR_PROFILES = 0x20, /* forgets all profiles; only at rest */
    MESSAGE_PROFILE_BEGIN = 0x21, /* begins the next profile; numbers count up from 0 */
    MESSAGE_PROFILE_SEGMENTS = 0x22, /* segments of the profile, as StepSegment or ServoSegment; the board checks the CRC after the last one */
    MESSAGE_PLAN_BEGIN = 0x30, /* empties the queue for a new plan; only at rest */
    MESSAGE_TURNS = 0x31, /* whole turns for the queue, 2 or 5 bytes each; a frame beyond the credit is refused without acknowledgement */
    MESSAGE_GO = 0x32, /* starts the plan at rest, or resumes it when held; BAD_STATE during homing and after the plan was dropped */
    MESSAGE_HOLD = 0x33, /* finishes the turns in progress, then holds */
    MESSAGE_ABORT = 0x34, /* drops the rest of a held plan */
    MESSAGE_GO_AT = 0x35, /* starts the plan at a tick less than 17 minutes ahead, so that several boards start together; only at rest */
    MESSAGE_HOME = 0x40, /* homes actuators, together; only at rest */
    MESSAGE_CLEAR = 0x41, /* clears a latched fault */
    MESSAGE_RELEASE = 0x42, /* switches outputs off: motors without power, servos without pulses, nothing homed */
    MESSAGE_POWER_DOWN = 0x43, /* switches some actuators off, as RELEASE does; the others hold and stay homed; only at rest. A servo goes on later with its last pulse. */
    MESSAGE_BOOTLOADER = 0x44, /* restarts into the bootloader that takes a firmware by USB; only at rest, and only on boards that have one */
    MESSAGE_EMERGENCY_STOP = 0x7f, /* stops everything at once; sent with session, sequence number and acknowledgement of 255 */
    MESSAGE_WELCOME = 0x81, /* describes the microcontroller and its abilities */
    MESSAGE_STATUS = 0x82, /* answers Ping; also sent when the state changes */
    MESSAGE_ACK = 0x83, /* cumulative acknowledgement (in the header) with credit */
    MESSAGE_POSITIONS = 0x84, /* positions of the actuators; of those in motion, the position at the end of their turn */
    MESSAGE_DRIVER_STATES = 0x85, /* states of the stepper drivers, as DriverState, in the order of their configuration */
};

#endif
