/* The robot's fault. The first one stays latched until it is cleared. */
#ifndef CUBIST_FAULTS_H
#define CUBIST_FAULTS_H

#include <stdint.h>

/* Latches a fault. While a plan is running, call player_fail() instead. */
void fault_latch(uint8_t fault, uint8_t detail);
uint8_t fault_code(void);
uint8_t fault_detail(void);
void fault_clear(void);

#endif
