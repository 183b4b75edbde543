#include "firmware.h"

#include "drivers.h"
#include "homing.h"
#include "link.h"
#include "player.h"
#include "safety.h"
#include "servo.h"

void firmware_poll(void)
{
    link_poll();
    safety_poll();
    drivers_poll();
    homing_poll();
    player_poll();
    servo_poll();
}
