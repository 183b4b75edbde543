/* The fault the robot has: the first one stays until it is cleared. */
#ifndef CUBIST_FAULTS_H
#define CUBIST_FAULTS_H

#include <stdint.h>

/* Latches a fault; a plan that is under way needs player_fail(). */
void fault_latch(uint8_t fault, uint8_t detail);
uint8_t fault_code(void);
uint8_t fault_detail(void);
void fault_clear(void);

#endif
