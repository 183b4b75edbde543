"""Pulses that something beside the firmware makes: in periods whose beginning nobody knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from solver.errors import InvalidRequest

PHASE_US = 7_919.0
"""Where a channel's periods begin, against those of the one before."""

EdgeListener = Callable[[float, int, bool], None]
"""Called with time in microseconds, pin and level."""


class PulseTrain:
    """The output of a channel: a counter. A new width counts from the next period on."""

    def __init__(self, pin: int, phase_us: float) -> None:
        self.pin = pin
        self.period_us = 0.0
        self.width_us = 0.0
        self._phase_us = phase_us
        self._next_us: float | None = None
        self._fall_us: float | None = None

    def run(self, time_us: float) -> None:
        """Periods begin, a phase later."""
        self._next_us = time_us + self._phase_us

    def halt(self) -> None:
        """No periods any more."""
        self._next_us = None

    def next_edge_us(self) -> float | None:
        """When there is something to do."""
        return self._next_us if self._fall_us is None else self._fall_us

    def step(self, edge: EdgeListener) -> None:
        """Do it: the end of a pulse, or a period's beginning."""
        if self._fall_us is not None:
            edge(self._fall_us, self.pin, False)
            self._fall_us = None
            return
        assert self._next_us is not None
        if self.width_us:
            edge(self._next_us, self.pin, True)
            self._fall_us = self._next_us + self.width_us
        self._next_us += self.period_us

    def shift(self, by_us: float) -> None:
        """The clock that times are given by starts anew, so much earlier."""
        self._next_us = None if self._next_us is None else self._next_us - by_us
        self._fall_us = None if self._fall_us is None else self._fall_us - by_us


class PulseMaker(ABC):
    """What makes the pulses of a firmware that only says how long they are."""

    def __init__(self, edge: EdgeListener) -> None:
        self._edge = edge
        self._now_us = 0.0
        self._trains: dict[int, PulseTrain] = {}

    def written(self, time_us: float, pin: int, place: int) -> None:
        """A record says that something was written for a pin; raises :class:`InvalidRequest`."""
        self.advance(time_us)
        if pin not in self._trains:
            raise InvalidRequest(f"pin {pin} has no channel")
        self._take(time_us, pin, place)

    def advance(self, time_us: float) -> None:
        """Make all edges up to a time, in their order."""
        while True:
            due = [
                (when, train.pin)
                for train in self._trains.values()
                if (when := train.next_edge_us()) is not None and when <= time_us
            ]
            if not due:
                break
            self._trains[min(due)[1]].step(self._edge)
        self._now_us = max(self._now_us, time_us)

    def restart(self) -> None:
        """The firmware boots: its clock is at zero again, the pulses go on as they are."""
        for train in self._trains.values():
            train.shift(self._now_us)
        self._now_us = 0.0

    @abstractmethod
    def close(self) -> None:
        """Be unplugged. Idempotent."""

    @abstractmethod
    def _take(self, time_us: float, pin: int, place: int) -> None:
        """Read what was written at this ``place`` of a pin."""

    def _add_train(self, pin: int) -> PulseTrain:
        phase_us = len(self._trains) * PHASE_US % 20_000
        self._trains[pin] = PulseTrain(pin, phase_us)
        return self._trains[pin]
