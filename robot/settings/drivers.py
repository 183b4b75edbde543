"""Stepper drivers that are set up over a UART: current, microsteps, mode, stall threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from robot.settings.base import Settings
from robot.settings.board_table import MAX_DRIVERS
from robot.settings.document import Finding, Path

CURRENT_STEPS = 32
"""Number of steps in which a TMC2209 scales its current."""
FULL_SCALE_V = {False: 0.325, True: 0.18}
"""Voltage at the sense resistor at full current, and with high sensitivity (``vsense``)."""
WIRE_OHM = 0.02
"""Resistance inside the driver, in series with the sense resistor."""
MOST_MA = 2000
"""The driver's own limit of its current."""
LEAST_STALL_FULL_STEPS_PER_S = 100
"""Minimum speed for StallGuard, which measures the voltage that a turning motor induces. Below half
a turn per second of a motor with 200 full steps it is too low."""

Milliamperes = Annotated[
    int, Field(strict=True, ge=30, le=MOST_MA, description=f"RMS milliamperes, 30..{MOST_MA}")
]
DriverAddress = Annotated[
    int,
    Field(
        strict=True,
        ge=0,
        le=MAX_DRIVERS - 1,
        description=f"the driver's address on its UART, 0..{MAX_DRIVERS - 1}",
    ),
]
SenseOhm = Annotated[
    float, Field(strict=True, ge=0.05, le=1, description="ohms of the sense resistor, 0.05..1")
]
StallThreshold = Annotated[
    int,
    Field(strict=True, ge=1, le=255, description="SGTHRS, 1..255; higher: detects a stall sooner"),
]
Microsteps = Literal[1, 2, 4, 8, 16, 32, 64, 128, 256]


class DriverSettings(Settings):
    """A TMC2209 on the board's UART for drivers.

    ``run_ma`` and ``hold_ma`` are RMS; without ``hold_ma`` a motor at rest gets half of ``run_ma``.
    ``sense_ohm``: the driver's sense resistor (default: the board's). A motor that homes by its
    stall needs ``stall_threshold``.
    """

    kind: Literal["tmc2209"]
    address: DriverAddress
    run_ma: Milliamperes
    hold_ma: Milliamperes | None = None
    microsteps: Microsteps
    mode: Literal["stealthchop", "spreadcycle"] = "stealthchop"
    sense_ohm: SenseOhm | None = None
    stall_threshold: StallThreshold | None = None

    @property
    def holding_ma(self) -> int:
        """Current of the motor at rest."""
        return self.run_ma // 2 if self.hold_ma is None else self.hold_ma

    def check(self, path: Path) -> Iterator[Finding]:
        """Yield a finding if the current at rest is higher than the one in motion."""
        if self.hold_ma is not None and self.hold_ma > self.run_ma:
            yield (*path, "hold_ma"), f"must not exceed run_ma, {self.run_ma} mA"

    def check_current(self, path: Path, sense_ohm: float) -> Iterator[Finding]:
        """Yield a finding if this sense resistor does not allow the current."""
        most = math.floor(current_ma(CURRENT_STEPS - 1, False, sense_ohm))
        if self.run_ma > most:
            text = (
                f"{self.run_ma} mA is too much: with a {sense_ohm:g} ohm sense resistor a TMC2209"
            )
            yield (*path, "run_ma"), f"{text} gives at most {most} mA"


def current_ma(scale: int, is_sensitive: bool, sense_ohm: float) -> float:
    """Return the RMS milliamperes at a current scale of 0 to 31."""
    volts = FULL_SCALE_V[is_sensitive] * (scale + 1) / CURRENT_STEPS
    return 1000 * volts / (sense_ohm + WIRE_OHM) / math.sqrt(2)


def current_scale(milliamperes: int, is_sensitive: bool, sense_ohm: float) -> int:
    """Return the current scale, 0 to 31, nearest to these RMS milliamperes from below."""
    full = current_ma(CURRENT_STEPS - 1, is_sensitive, sense_ohm)
    return max(0, min(CURRENT_STEPS, int(CURRENT_STEPS * milliamperes / full)) - 1)


def is_sensitive(settings: DriverSettings, sense_ohm: float) -> bool:
    """Return whether the current in motion fits the finer of the two ranges."""
    return settings.run_ma <= current_ma(CURRENT_STEPS - 1, True, sense_ohm)
