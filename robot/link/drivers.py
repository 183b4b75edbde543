"""The set-up of stepper drivers for the board, and the states that it reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from robot.link.protocol import (
    DRIVER_REGISTER,
    DRIVER_STATE,
    ConfigDriver,
    DriverPhase,
    DriverStates,
)
from robot.text.faults import Fault
from robot.text.messages import Note

DRIVER_FAULTS = frozenset(fault for fault in Fault if fault.name.startswith("DRIVER_"))
"""Faults of a driver that a board reports."""
OVER_120_C = 1 << 0
_TEMPERATURES = {11: 157, 10: 150, 9: 143, 8: 120}
"""Temperatures that DRV_STATUS reports as exceeded, by its bits."""
_CURRENT_SHIFT, _CURRENT_MASK = 16, 0x1F


@dataclass(frozen=True, slots=True)
class DriverSetup:
    """The set-up of a stepper's driver: its address and the values of its registers.

    ``slow_interval``: minimum ticks between steps for which it detects an open load reliably.
    ``stall_blank``: steps before a stall counts if the motor homes by stall, else 0.
    """

    address: int
    registers: Mapping[int, int]
    slow_interval: int
    stall_blank: int = 0

    def message(self, actuator: int) -> ConfigDriver:
        """Return the message that configures it for the stepper with this number."""
        pairs = (DRIVER_REGISTER.pack(*pair) for pair in self.registers.items())
        head = (actuator, self.address, self.slow_interval, self.stall_blank)
        return ConfigDriver(*head, b"".join(pairs))


@dataclass(frozen=True, slots=True)
class DriverState:
    """The last state of a stepper's driver that the board has seen.

    ``load``: SG_RESULT, which falls as the load rises. ``current_scale``: 0 to 31.
    """

    actuator: str
    phase: DriverPhase
    status: int
    load: int

    def as_failed(self) -> DriverState:
        """Return the state after a fault that the board has reported."""
        return replace(self, phase=DriverPhase.FAILED)

    @property
    def is_ready(self) -> bool:
        """True if it has its settings, and no fault."""
        return self.phase is DriverPhase.READY

    @property
    def is_warm(self) -> bool:
        """True above 120 degrees, well before it switches itself off."""
        return bool(self.status & OVER_120_C)

    @property
    def threshold_celsius(self) -> int | None:
        """The highest of its temperature thresholds that it exceeds; None below 120 degrees."""
        return next((at for bit, at in _TEMPERATURES.items() if self.status >> bit & 1), None)

    @property
    def current_scale(self) -> int:
        """Scale of the current that flows, 0 to 31."""
        return self.status >> _CURRENT_SHIFT & _CURRENT_MASK


def parse_drivers(states: DriverStates, names: Sequence[str]) -> tuple[DriverState, ...]:
    """Return the drivers in a board's report; ``names``: its actuators by number."""
    return tuple(
        DriverState(names[actuator], DriverPhase(phase), status, load)
        for actuator, phase, _, status, load in DRIVER_STATE.iter_unpack(states.drivers)
    )


def warm_drivers(states: Sequence[DriverState]) -> Iterator[Note]:
    """Yield a note for each driver that is about to overheat."""
    for state in states:
        if state.is_warm:
            yield Note.of(
                "driver-warm", actuator=state.actuator, celsius=state.threshold_celsius or 120
            )
