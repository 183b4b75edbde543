/* Plays a plan: takes turns from the queue and starts each at its tick. */
#ifndef CUBIST_PLAYER_H
#define CUBIST_PLAYER_H

#include <stdbool.h>
#include <stdint.h>

struct player {
    bool running; /* between go and the end of the last turn */
    bool holding; /* starts no more turns */
    bool dropping; /* ends the plan when the turns in progress are done */
    bool resumed; /* the next turn's start is put off without being late */
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

/* Starts the plan at a tick; at one that has passed the first turn is late. */
void player_go_at(uint32_t tick);
void player_hold(void);

/* Holds, and then forgets the rest of the plan. */
void player_drop(void);

/* Latches a fault, lets turns in progress finish and drops the rest of the plan. */
void player_fail(uint8_t fault, uint8_t detail);

/* Ends the plan now; the motion itself is ended by the caller. */
void player_end(void);

/* For the main loop. */
void player_poll(void);

#endif
