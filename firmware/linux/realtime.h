/* What keeps the process from being late. */
#ifndef CUBIST_REALTIME_H
#define CUBIST_REALTIME_H

/* Keeps its memory from being swapped out and lets it run before other programs; says on standard
 * error what of it is not allowed, and goes on. */
void realtime_start(void);

#endif
