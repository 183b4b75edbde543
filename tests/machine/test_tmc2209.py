"""The registers that a stepper's driver gets."""

from __future__ import annotations

from typing import Any

import pytest

from robot.machine.board_configuration import actuator_setups
from robot.machine.tmc2209 import driver_setup
from robot.settings import load_profile
from robot.settings.drivers import current_ma, current_scale
from robot.settings.stepper import Stepper

GCONF, IHOLD_IRUN, TCOOLTHRS, SGTHRS, CHOPCONF = 0x00, 0x10, 0x14, 0x40, 0x6C
MOTOR: dict[str, Any] = {
    "kind": "stepper",
    "pins": {"step": 2, "direction": 3, "endstop": 4},
    "steps_per_turn": 1600,
    "max_speed_steps_per_s": 4000,
    "max_acceleration_steps_per_s2": 40_000,
}
DRIVER: dict[str, Any] = {"kind": "tmc2209", "address": 0, "run_ma": 900, "microsteps": 8}


def registers(driver: dict[str, Any], **motor: Any) -> dict[int, int]:
    stepper = Stepper.model_validate(MOTOR | motor | {"driver": DRIVER | driver})
    assert stepper.driver is not None
    return dict(driver_setup(stepper, stepper.driver, 0.11).registers)


@pytest.mark.parametrize("milliamperes", [100, 580, 900, 1200, 1700])
def test_the_current_is_what_the_data_sheet_makes_of_the_scale(milliamperes: int) -> None:
    """I = (CS + 1) / 32 * Vfs / (Rsense + 20 mOhm) / sqrt 2, rounded down."""
    found = registers({"run_ma": milliamperes})
    scale, is_fine = found[IHOLD_IRUN] >> 8 & 31, bool(found[CHOPCONF] >> 17 & 1)
    volts = 0.18 if is_fine else 0.325
    flows = 1000 * (scale + 1) / 32 * volts / 0.13 / 2**0.5
    assert milliamperes - 1000 * volts / 32 / 0.13 / 2**0.5 <= flows <= milliamperes + 1
    assert is_fine == (milliamperes <= 979)


def test_a_motor_at_rest_gets_half_unless_told() -> None:
    half = registers({})[IHOLD_IRUN] & 31
    assert half == current_scale(450, True, 0.11)
    assert registers({"hold_ma": 100})[IHOLD_IRUN] & 31 < half
    assert current_ma(half, True, 0.11) <= 450


@pytest.mark.parametrize(("microsteps", "code"), [(1, 8), (8, 5), (16, 4), (256, 0)])
def test_microsteps_and_mode(microsteps: int, code: int) -> None:
    found = registers({"microsteps": microsteps, "mode": "spreadcycle"})
    assert found[CHOPCONF] >> 24 & 15 == code
    assert found[GCONF] & 1 << 2
    assert not registers({})[GCONF] & 1 << 2


def test_stallguard_is_on_for_a_motor_that_homes_by_it() -> None:
    homing = {
        "by": "stall",
        "direction": -1,
        "backoff_steps": 200,
        "max_travel_steps": 1200,
        "speed_steps_per_s": 1000,
        "slow_speed_steps_per_s": 1000,
    }
    found = registers({"stall_threshold": 60}, homing=homing)
    at_speed = 12_000_000 * 8 / 256 / 1000
    assert found[SGTHRS] == 60
    assert at_speed < found[TCOOLTHRS] < 2 * at_speed
    assert registers({"stall_threshold": 60})[TCOOLTHRS] == 0


def test_the_way_from_the_stop_to_the_start_is_within_a_motors_range() -> None:
    right = next(one for one in actuator_setups(load_profile("four-arm-skr-pico")))
    assert right.homed_at == -460
    assert right.message().minimum <= -460
