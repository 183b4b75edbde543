"""The registers of a TMC2209 for a stepper of a profile; names and bits as in its data sheet."""

from __future__ import annotations

from robot.link.drivers import DriverSetup
from robot.settings.board_table import MAX_INTERVAL_TICKS, TICKS_PER_S
from robot.settings.drivers import DriverSettings, current_scale, is_sensitive
from robot.settings.stepper import STALL_BLANK_FULL_STEPS, Stepper

GCONF, SLAVECONF, IHOLD_IRUN, TPWMTHRS, TCOOLTHRS = 0x00, 0x03, 0x10, 0x13, 0x14
SGTHRS, CHOPCONF, PWMCONF = 0x40, 0x6C, 0x70

SPREADCYCLE = 1 << 2
BY_UART = 1 << 6 | 1 << 7 | 1 << 8
"""PDN_UART serves the UART only, CHOPCONF sets the microsteps, and step pulses are filtered."""
ANSWER_LATER = 2 << 8
"""Drivers on a shared wire wait for the time of three bytes before they answer."""
HOLD_DELAY = 8 << 16
CHOPPER = 1 << 28 | 2 << 15 | 5 << 4 | 3
"""Interpolation to 256 microsteps, with blank time, hysteresis and off time for common motors."""
HIGH_SENSITIVITY = 1 << 17
RESOLUTION_SHIFT = 24
STEALTHCHOP_PWM = 0xC10D0024
"""PWM that tunes itself, as after a reset."""
CLOCK_HZ = 12_000_000
FINEST = 256
"""Microsteps per full step in the driver's measurement of speed."""
LONGEST_TSTEP = (1 << 20) - 1
STALL_SPEED_MARGIN = 0.75
"""StallGuard works from this fraction of the slow homing speed."""
OPEN_LOAD_FULL_STEPS_PER_S = 200
"""Speed up to which the driver detects open loads reliably."""


def driver_setup(
    stepper: Stepper, driver: DriverSettings, board_sense_ohm: float | None
) -> DriverSetup:
    """Return the set-up of a stepper's driver.

    ``board_sense_ohm``: the sense resistors on the board, which the profile may override.
    """
    sense_ohm = driver.sense_ohm or board_sense_ohm
    assert sense_ohm is not None, "profiles without one are refused"
    is_fine = is_sensitive(driver, sense_ohm)
    run = current_scale(driver.run_ma, is_fine, sense_ohm)
    hold = current_scale(driver.holding_ma, is_fine, sense_ohm)
    resolution = 8 - (driver.microsteps.bit_length() - 1)
    homing = stepper.homing if stepper.homes_by_stall else None
    slowest = 0.0 if homing is None else homing.slow_speed_steps_per_s / driver.microsteps
    trusted = max(OPEN_LOAD_FULL_STEPS_PER_S, slowest) * driver.microsteps
    return DriverSetup(
        address=driver.address,
        registers={
            GCONF: BY_UART | (SPREADCYCLE if driver.mode == "spreadcycle" else 0),
            SLAVECONF: ANSWER_LATER,
            IHOLD_IRUN: HOLD_DELAY | run << 8 | hold,
            TPWMTHRS: 0,
            TCOOLTHRS: _tstep(slowest * STALL_SPEED_MARGIN) if slowest else 0,
            SGTHRS: driver.stall_threshold or 0,
            CHOPCONF: CHOPPER
            | (HIGH_SENSITIVITY if is_fine else 0)
            | resolution << RESOLUTION_SHIFT,
            PWMCONF: STEALTHCHOP_PWM,
        },
        slow_interval=min(MAX_INTERVAL_TICKS, int(TICKS_PER_S / trusted)),
        stall_blank=STALL_BLANK_FULL_STEPS * driver.microsteps if homing is not None else 0,
    )


def _tstep(full_steps_per_s: float) -> int:
    """Return a speed as the driver measures it: clock cycles between its finest microsteps."""
    return min(LONGEST_TSTEP, round(CLOCK_HZ / (full_steps_per_s * FINEST)))
