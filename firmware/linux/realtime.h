/* Real-time scheduling and locked memory for the process. */
#ifndef CUBIST_REALTIME_H
#define CUBIST_REALTIME_H

/* Locks the process's memory and raises its priority above other programs. If the system refuses,
 * prints the reason to stderr and continues. */
void realtime_start(void);

#endif
