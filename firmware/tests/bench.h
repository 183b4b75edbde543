/* What the unit tests have in common. */
#ifndef CUBIST_TEST_BENCH_H
#define CUBIST_TEST_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "frame.h"
#include "protocol.h"

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

/* Of a board that sets pulses: what was set, and whether that fails or comes late from now on. */
struct set_pulse {
    uint64_t time;
    uint8_t pin;
    uint16_t ticks;
};

extern struct set_pulse set_pulses[];
extern unsigned set_pulse_count;
extern bool bench_pulses_fail;
extern bool bench_is_late;

/* Ticks before a servo's edge from which on it is waited for, when a step comes first. */
extern uint16_t bench_guard;

/* Ticks since the last event, as long as the next one is overdue. */
extern uint16_t bench_elapsed;

/* How often an input was read, and how often the timer's events were said to be others. */
extern unsigned bench_reads;
extern unsigned bench_changes;

/* A bit for each pin that has been let go. */
extern uint32_t bench_released;

/* Called before an input is read, to change it. */
extern void (*on_read)(uint8_t pin);

/* Called after every edge, to move what hangs on the pins. */
extern void (*on_edge)(uint8_t pin, bool level);

uint64_t bench_now(void);
void bench_run_ms(uint32_t ms);

/* Forgets the edges logged so far. */
void bench_clear_edges(void);

/* Time of the n-th rising edge of a pin since then, or UINT64_MAX. */
uint64_t bench_rise(uint8_t pin, unsigned number);
unsigned bench_rises(uint8_t pin);

/* Delivers a message past the link; payload as a structure of protocol.h. */
bool bench_command(uint8_t type, const void *payload, uint8_t length);

/* Whether the stepper with an end stop is looked at after turns: the next configuration says so. */
extern bool bench_check_turns;

/* Steps after which an end stop is taken for missing. */
extern uint32_t bench_home_travel;

/* The actuators of bench_configure(): a servo, a stepper with an end stop or without one. */
struct config_actuator bench_servo(void);
struct config_actuator bench_stepper(bool with_sensor);

/* One servo (actuator 0) and two steppers (1 with an end stop, 2 without), not homed. */
void bench_configure(void);

/* Any actuators; the checksum of what was sent. Held and safe after the times that `begin` says. */
uint16_t bench_configure_as(struct config_begin begin, const struct config_actuator *setups,
                            unsigned count);
void bench_home(uint8_t mask);

/* Uploads a profile; the segments as they lie in the frame. */
void bench_profile(uint8_t kind, const void *segments, uint8_t count, uint32_t duration);

/* Queues turns and starts them. */
void bench_play(const uint8_t *turns, uint8_t length, uint16_t count);

struct status bench_status(void);

/* Frames the firmware has sent since the last call of bench_clear_sent(). */
extern struct frame sent[];
extern unsigned sent_count;
void bench_clear_sent(void);

/* Puts a frame on the wire and lets the firmware work. */
void bench_send(uint8_t session, uint8_t seq, uint8_t type, const void *payload, uint8_t length);
void bench_bytes(const uint8_t *bytes, unsigned length);

void check_that(bool holds, const char *what, const char *file, int line);
int bench_result(void);

#define CHECK(condition) check_that((condition), #condition, __FILE__, __LINE__)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#endif
