/* The simulated board and helpers that the unit tests share. */
#ifndef CUBIST_TEST_BENCH_H
#define CUBIST_TEST_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"
#include "messages.h"

#define PIN_COUNT 32
#define TICKS_A_MS 2000u
#define SERVO_PIN 9
#define STEP_PIN 2
#define DIRECTION_PIN 3
#define ENABLE_PIN 4
#define SENSOR_PIN 5
#define STEP2_PIN 6
#define DIRECTION2_PIN 7

struct edge {
    uint64_t time;
    uint8_t pin;
    bool level;
};

extern struct edge edges[];
extern unsigned edge_count;
extern bool levels[PIN_COUNT];
extern bool inputs[PIN_COUNT];
extern uint32_t silent_ms; /* added to the host's clock */

/* For a board that sets pulses: the pulses set, and the fault or lateness to inject. */
struct set_pulse {
    uint64_t time;
    uint8_t pin;
    uint16_t ticks;
};

extern struct set_pulse set_pulses[];
extern unsigned set_pulse_count;
extern bool bench_pulses_fail;
extern bool bench_is_late;

/* Ticks before a servo's edge within which an event waits for it before a step. */
extern uint16_t bench_guard;

/* Ticks since the last event while the next one is overdue. */
extern uint16_t bench_elapsed;

/* Number of input reads, and of calls of board_events_changed(). */
extern unsigned bench_reads;
extern unsigned bench_changes;

/* Bit mask of released pins. */
extern uint32_t bench_released;

/* Called before each read of an input, so that a test can change it. */
extern void (*on_read)(uint8_t pin);

/* Called after every edge, so that a test can move the hardware on the pins. */
extern void (*on_edge)(uint8_t pin, bool level);

/* Called with each datagram to the stepper drivers. Fills in the answer and returns its length. */
extern uint8_t (*on_datagram)(const uint8_t *bytes, uint8_t length, uint8_t *answer);

uint64_t bench_now(void);
void bench_run_ms(uint32_t ms);

/* Clears the log of edges. */
void bench_clear_edges(void);

/* Returns the time of the n-th rising edge of a pin in the log, or UINT64_MAX. */
uint64_t bench_rise(uint8_t pin, unsigned number);
unsigned bench_rises(uint8_t pin);

/* Delivers a message directly, without the link. The payload is a structure of messages.h. */
bool bench_command(uint8_t type, const void *payload, uint8_t length);

/* The next configuration checks the sensor of the stepper with an end stop after turns. */
extern bool bench_check_turns;

/* Steps after which homing reports the end stop as missing. */
extern uint32_t bench_home_travel;

/* The actuators of bench_configure(): a servo, and a stepper with or without an end stop. */
struct config_actuator bench_servo(void);
struct config_actuator bench_stepper(bool with_sensor);

/* Configures one servo (actuator 0) and two steppers (1 with an end stop, 2 without), not homed. */
void bench_configure(void);

/* Configures any actuators, with the silence times in `begin`. Returns the checksum sent. */
uint16_t bench_configure_as(struct config_begin begin, const struct config_actuator *setups,
                            unsigned count);
void bench_home(uint8_t mask);

/* Uploads a profile. The segments have the format of the frame. */
void bench_profile(uint8_t kind, const void *segments, uint8_t count, uint32_t duration);

/* Queues turns and starts the plan. */
void bench_play(const uint8_t *turns, uint8_t length, uint16_t count);

struct status bench_status(void);

/* Frames the firmware has sent since the last call of bench_clear_sent(). */
extern struct frame sent[];
extern unsigned sent_count;
void bench_clear_sent(void);

/* Puts a frame on the wire and runs the firmware. */
void bench_send(uint8_t session, uint8_t seq, uint8_t type, const void *payload, uint8_t length);
void bench_bytes(const uint8_t *bytes, unsigned length);

void check_that(bool holds, const char *what, const char *file, int line);
int bench_result(void);

#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#endif
