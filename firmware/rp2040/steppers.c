/*
 * Step pulses by the PIO. Each motor has a state machine of its own, which takes the time until the
 * next step from its queue, counts it down in cycles of its clock, and makes the pulse. The
 * interrupt keeps the queues filled. Its exact time does not matter while no queue runs dry, so
 * every edge comes as planned, however many motors step at once.
 *
 * The machines' clock and the timer come from the same crystal. A machine only counts from one step
 * to the next, so the first step after a rest has to be aligned with the timer: the processor waits
 * for the timer's next count, half a microsecond at most, and gives the machine the rest of the
 * time until the step. After a change of direction the processor gives steps one at a time in this
 * way, because the queue must be empty before the direction changes. It does the same with steps of
 * homing, because each may be the last.
 *
 * One step takes a machine 1 (pull) + 1 (mov) + x + 1 (count) + 1 (set) + 1 (mov) + y + 1 (count) +
 * 1 (set) = x + y + 7 cycles. The pin is high for y + 3 of them.
 */
#include "stepper.h"

#include "hardware.h"
#include "safety.h"
#include "step_runs.h"
#include "timer.h"

#define MACHINES 8 /* four in each PIO */
#define QUEUE 8    /* steps: a machine also has the space for received words */
#define REFILL 5   /* steps left in a queue when the interrupt should come */
#define FREE 0xff

#define CYCLES_PER_TICK 25u
#define DIVIDER (2u << 16 | 128u << 8) /* 125 MHz / 2.5: 20 ns */
#define PULSE_TICKS 4 /* a step's pulse, or half the shortest interval if that is less */
#define BEYOND_INTERVAL 7 /* cycles of a step beyond x and y */
#define BEYOND_PULSE 3    /* cycles with the pin high beyond y */
#define BEYOND_WAIT 11 /* cycles from the timer's count to the pin, beyond x: of code, too */

#define SET_PINDIRS_OUT 0xe081
#define SET_PIN_LOW 0xe000
#define PULL 0x80a0
#define MOV_Y_OSR 0xa047
#define JUMP_TO_START 0x0000
#define PROGRAM_END 6

static const uint16_t program[PROGRAM_END + 1] = {
    PULL,   /* of the time until the step */
    0xa027, /* mov x, osr */
    0x0042, /* jmp x--, 2 */
    0xe001, /* set pins, 1 */
    0xa022, /* mov x, y */
    0x0045, /* jmp x--, 5 */
    SET_PIN_LOW,
};

#define SOON_TICKS 32  /* the interrupt also fills queues that are due within this time */
#define NEAR_TICKS 4   /* a machine gets no more steps this shortly before its last one */
#define START_TICKS 80 /* ... and no first step this shortly before its time */
#define TOO_LATE 200   /* total ticks that a motion may fall behind */

/* Longest wait for a first step. */
#define LONGEST_WAIT UINT16_MAX

/* A state machine with its queue. Times are counts of the chip's timer. */
struct machine {
    uint8_t pin;
    uint8_t pulse; /* ticks */
    bool drains;   /* gets no more until it has made all steps */
    uint8_t given; /* steps, modulo QUEUE */
    uint16_t late; /* ticks that the motion is behind its plan */
    uint32_t beyond; /* cycles of a step beyond x */
    volatile uint32_t *status;
    uint32_t full; /* its bit there: the queue has no room */
    uint32_t first;  /* step of the motion */
    uint32_t last;   /* step given */
    uint32_t due;    /* when the interrupt must serve it */
    uint32_t steps[QUEUE];
};

static struct machine machines[MACHINES];
static struct stepper *running[MACHINES];
static uint8_t running_count;

static uint32_t pio_of(uint8_t number)
{
    return PIO(number / 4);
}

static struct machine *machine_of(const struct stepper *motor)
{
    return &machines[motor->step.word];
}

void steppers_start(void)
{
    chip_start(RESETS_PIO0 | RESETS_PIO1);
    for (uint8_t number = 0; number < MACHINES; number++) {
        machines[number].pin = FREE;
    }
    for (uint8_t i = 0; i <= PROGRAM_END; i++) {
        REGISTER(PIO(0) + PIO_INSTRUCTION(i)) = program[i];
        REGISTER(PIO(1) + PIO_INSTRUCTION(i)) = program[i];
    }
}

static uint8_t find_machine(uint8_t pin)
{
    uint8_t number = 0;
    while (number < MACHINES && machines[number].pin != pin) {
        number++;
    }
    return number;
}

/* Ends a pulse and forgets all steps that were given. */
static void clear(uint8_t number)
{
    uint32_t pio = pio_of(number);
    uint8_t own = number % 4;
    CLEAR_BITS(pio + PIO_CTRL) = 1u << own;
    FLIP_BITS(pio + PIO_SHIFTCTRL(own)) = PIO_JOIN_TX; /* a change empties the queue */
    FLIP_BITS(pio + PIO_SHIFTCTRL(own)) = PIO_JOIN_TX;
    SET_BITS(pio + PIO_CTRL) = PIO_RESTART << own;
    REGISTER(pio + PIO_INSTR(own)) = SET_PIN_LOW;
    REGISTER(pio + PIO_INSTR(own)) = JUMP_TO_START;
}

static void enable(uint8_t number)
{
    SET_BITS(pio_of(number) + PIO_CTRL) = 1u << number % 4;
}

/* There are as many machines as steppers. */
board_pin board_open_step(uint8_t pin, uint16_t interval)
{
    uint8_t number = find_machine(FREE);
    uint32_t pio = pio_of(number);
    uint8_t own = number % 4;
    struct machine *machine = &machines[number];
    machine->pin = pin;
    machine->pulse = (uint8_t)(interval / 2 < PULSE_TICKS ? interval / 2 : PULSE_TICKS);
    uint32_t y = machine->pulse * CYCLES_PER_TICK - BEYOND_PULSE;
    machine->beyond = y + BEYOND_INTERVAL;
    machine->status = &REGISTER(pio + PIO_FSTAT);
    machine->full = PIO_TX_FULL << own;
    REGISTER(pio + PIO_CLKDIV(own)) = DIVIDER;
    REGISTER(pio + PIO_EXECCTRL(own)) = PROGRAM_END << PIO_WRAP_TOP_SHIFT;
    REGISTER(pio + PIO_PINCTRL(own)) = PIO_SET_ONE_PIN | (uint32_t)pin << PIO_SET_BASE_SHIFT;
    REGISTER(pio + PIO_SHIFTCTRL(own)) = PIO_SHIFT_RIGHT | PIO_JOIN_TX;
    clear(number);
    REGISTER(pio + PIO_INSTR(own)) = SET_PINDIRS_OUT;
    REGISTER(pio + PIO_TXF(own)) = y;
    REGISTER(pio + PIO_INSTR(own)) = PULL;
    REGISTER(pio + PIO_INSTR(own)) = MOV_Y_OSR;
    pin_connect(pin, FUNCTION_PIO0 + number / 4, 0);
    enable(number);
    return (board_pin){&REGISTER(pio + PIO_TXF(own)), number};
}

void steppers_release(uint8_t pin)
{
    uint8_t number = find_machine(pin);
    if (number < MACHINES) {
        clear(number);
        machines[number].pin = FREE;
    }
}

/* Gives a waiting machine its next step by the timer, or at once if the step is overdue. */
static void give_by_timer(struct stepper *motor, struct machine *machine)
{
    machine->last += motor->interval;
    uint32_t before = REGISTER(TIMER_RAWL);
    uint32_t now;
    while ((now = REGISTER(TIMER_RAWL)) == before) {
    }
    int32_t ahead = (int32_t)(machine->last - now);
    if (ahead < 1) {
        machine->late += (uint16_t)(1 - ahead);
        machine->last += (uint32_t)(1 - ahead);
        ahead = 1;
    }
    *motor->step.place = (uint32_t)ahead * CYCLES_PER_TICK - BEYOND_WAIT;
    machine->steps[machine->given++ % QUEUE] = machine->last;
    motor->left--;
    motor->interval += (uint16_t)motor->add;
}

/* Gives a machine steps of the run until its queue is full or all are given. Returns true if all
 * are. Interrupts spend most of their time here. */
static bool give_steps(struct stepper *motor, struct machine *machine)
{
    volatile uint32_t *queue = motor->step.place;
    uint32_t interval = motor->interval;
    uint32_t left = motor->left;
    uint32_t last = machine->last;
    uint8_t given = machine->given;
    while (left && !(*machine->status & machine->full)) {
        last += interval;
        *queue = interval * CYCLES_PER_TICK - machine->beyond;
        machine->steps[given++ % QUEUE] = last;
        interval = (uint16_t)(interval + (uint32_t)motor->add);
        left--;
    }
    machine->given = given;
    machine->last = last;
    motor->left = (uint16_t)left;
    motor->interval = (uint16_t)interval;
    return !left;
}

/* True if the next run turns the other way. */
static bool turns_round(const struct stepper *motor)
{
    return (motor->segment[0].count < 0) != (motor->segment[-1].count < 0);
}

/* Loads the next run if it continues this one. Returns false if all steps have to be made first. */
static inline bool goes_on(struct stepper *motor)
{
    if (motor->sense != SENSE_NOTHING) {
        return false;
    }
    if (!motor->left) {
        if (!motor->segments_left || turns_round(motor)) {
            return false;
        }
        next_run(motor);
    }
    return true;
}

/* Fills the queue of a machine that has a step to make. */
static void fill(struct stepper *motor, struct machine *machine)
{
    while (goes_on(motor)) {
        if (!give_steps(motor, machine)) {
            machine->drains = false;
            machine->due = machine->steps[(uint8_t)(machine->given - REFILL) % QUEUE];
            return;
        }
    }
    machine->drains = true;
    machine->due = machine->last + machine->pulse + 1;
}

/* Waits until a machine has ended the pulse of its last step, which is a matter of microseconds. */
static void await_end(const struct machine *machine)
{
    while ((int32_t)(REGISTER(TIMER_RAWL) - machine->last) <= machine->pulse) {
    }
}

/* Serves a motor. Returns false if its motion has ended. */
static bool serve(struct stepper *motor, struct machine *machine)
{
    if (machine->drains) {
        if (motor->sense != SENSE_NOTHING && sensor_reached(motor)) {
            return false;
        }
        if (!motor->left) {
            if (!motor->segments_left) {
                return false;
            }
            next_run(motor);
        }
        give_by_timer(motor, machine);
    } else if ((int32_t)(machine->last - REGISTER(TIMER_RAWL)) < NEAR_TICKS) {
        await_end(machine);
        give_by_timer(motor, machine);
    }
    if (machine->late > TOO_LATE) {
        safety_stop(FAULT_OVERLOAD);
        return true;
    }
    fill(motor, machine);
    return true;
}

static void retire(struct stepper **place)
{
    (*place)->active = false;
    *place = running[--running_count];
}

/* Returns `next`, or the ticks from the event to `due` if that is sooner. */
static inline uint16_t sooner(uint16_t next, uint32_t due)
{
    int32_t wait = (int32_t)(due - board_event_tick);
    return wait >= next ? next : wait < 1 ? 1 : (uint16_t)wait;
}

uint16_t stepper_event(uint16_t elapsed, uint16_t next)
{
    (void)elapsed;
    for (uint8_t i = running_count; i-- > 0;) {
        struct machine *machine = machine_of(running[i]);
        int32_t ahead = (int32_t)(machine->due - REGISTER(TIMER_RAWL));
        if (ahead <= (machine->drains ? 0 : SOON_TICKS) && !serve(running[i], machine)) {
            retire(&running[i]);
            continue;
        }
        if (!running_count) { /* stopped */
            break;
        }
        next = sooner(next, machine->due);
    }
    return next;
}

bool stepper_start(struct stepper *motor, const struct step_segment *segments, uint8_t count,
                   bool forward, uint32_t start)
{
    if (motor->active) {
        return false;
    }
    struct machine *machine = machine_of(motor);
    load_runs(motor, segments, count, forward);
    board_lock_t lock = board_lock();
    int32_t ahead = (int32_t)(start + motor->interval - timer_now());
    bool met = !safety_is_stopping() && ahead >= START_TICKS && ahead <= LONGEST_WAIT;
    if (met) {
        machine->late = 0;
        machine->last = start + board_start_tick;
        machine->first = machine->last + motor->interval;
        give_by_timer(motor, machine);
        fill(motor, machine);
        motor->active = true;
        running[running_count++] = motor;
        timer_request(sooner(UINT16_MAX, machine->due));
    }
    board_unlock(lock);
    return met;
}

uint8_t stepper_count(void)
{
    return running_count;
}

bool stepper_has_begun(const struct stepper *motor)
{
    return !motor->active || time_reached(timer_now() + board_start_tick, machine_of(motor)->first);
}

static void halt(uint8_t i)
{
    uint8_t number = (uint8_t)running[i]->step.word;
    clear(number);
    enable(number);
    retire(&running[i]);
}

void stepper_halt(struct stepper *motor)
{
    board_lock_t lock = board_lock();
    for (uint8_t i = running_count; i-- > 0;) {
        if (running[i] == motor) {
            halt(i);
        }
    }
    board_unlock(lock);
}

void stepper_halt_all(void)
{
    board_lock_t lock = board_lock();
    while (running_count) {
        halt(running_count - 1);
    }
    board_unlock(lock);
}
