/* Plays a plan: takes turns from the queue and starts each at its tick. */
#ifndef CUBIST_PLAYER_H
#define CUBIST_PLAYER_H

#include <stdbool.h>
#include <stdint.h>

struct player {
    bool running; /* from go to the end of the last turn */
    bool holding; /* starts no more turns */
    bool dropping; /* ends the plan after the turns in progress */
    bool resumed; /* a delayed start of the next turn does not count as late */
    uint16_t plan;
    uint16_t turns;
    uint16_t started;
    uint16_t done;
    uint32_t go;
    uint32_t previous_start;
    uint32_t previous_end;
    uint32_t latest_end;
    uint32_t executed; /* ticks from go to the end of the last completed turn */
    uint8_t underruns;
    uint8_t late;
};

extern struct player player;

void player_begin(uint16_t plan, uint16_t turns);
void player_go(void);

/* Starts the plan at a tick. If the tick has passed, the first turn counts as late. */
void player_go_at(uint32_t tick);
void player_hold(void);

/* Holds, then drops the rest of the plan. */
void player_drop(void);

/* Latches a fault, lets turns in progress finish and drops the rest of the plan. */
void player_fail(uint8_t fault, uint8_t detail);

/* Ends the plan now. The caller stops the motion itself. */
void player_end(void);

/* For the main loop. */
void player_poll(void);

#endif
