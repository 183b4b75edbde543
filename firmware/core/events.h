/* Timer events: serves servo edges first, then steps. */
#ifndef CUBIST_EVENTS_H
#define CUBIST_EVENTS_H

#include <stdint.h>

/* The board calls this at the planned tick. Returns the ticks until the next call. */
uint16_t events_serve(void);

#endif
