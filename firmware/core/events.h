/* What happens at a tick: servo edges and steps, served one after the other. */
#ifndef CUBIST_EVENTS_H
#define CUBIST_EVENTS_H

#include <stdint.h>

/* Called by the board at the moment planned; returns the ticks until it wants to be called
 * again. */
uint16_t events_serve(void);

#endif
