"""Runs of motion, the programs that request them, and the program that calibrates."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto

from robot.api.endpoints import Place, Program
from robot.api.models import Calibrator
from robot.records.run_record import notes_of
from robot.text.faults import RobotError
from robot.text.messages import Note


@dataclass(frozen=True)
class Caller:
    """A client of the daemon.

    ``program``: the program whose socket it uses; ``None`` means the control socket. ``process``:
    its process ID from the kernel, 0 if unknown, as in another container. ``session``: the name of
    the maintenance that it began, empty if it names none.
    """

    program: Program | None
    process: int
    session: str = ""

    def is_same(self, other: Caller) -> bool:
        """Return whether both have the same session or, if either has none, the same process.

        Two programs with unknown processes are never the same.
        """
        if self.program != other.program:
            return False
        if self.session and other.session:
            return self.session == other.session
        return self.process == other.process != 0


CALLER: ContextVar[Caller] = ContextVar("caller")
"""The program whose request is being handled; unset if the daemon acts on its own."""


@dataclass
class MotionRun:
    """A job or a trial, from before its first motion until the robot is at rest.

    ``cancel``: the single flag that its motion, searches and waits watch. Setting it ends the run
    at the next safe point, the end of the turns in progress. ``rested`` is set while the run
    moves nothing and only its record is written, ``ended`` at the end of the run. ``by``: the
    reason for the end, if no person at the robot stopped it.
    """

    cancel: threading.Event = field(default_factory=threading.Event)
    rested: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    by: str = ""

    def end(self) -> None:
        """Note that the robot is at rest and the run is over."""
        self.rested.set()
        self.ended.set()

    @property
    def reason(self) -> RobotError:
        """The error of a calibrating program whose motion ended early."""
        return RobotError("calibration-stopped", self.by)


class TrialStop(Enum):
    """Effect of the last stop on a calibrating program. Its next trial clears it."""

    NONE = auto()
    ENDED_TRIAL = auto()
    """The stop ended the last trial, or prevented it."""
    REFUSES_NEXT = auto()
    """The stop came between two trials: the next one is refused, so that the program ends."""


_CALIBRATED_AT: dict[Place, str] = {
    "terminal": "calibrated-terminal",
    "page": "calibrated-page",
    "display": "calibrated-display",
}


@dataclass
class CalibratingProgram:
    """The program that calibrates the robot, as long as its connection lasts.

    ``place`` and ``at`` (a terminal or an address): where a person uses it. ``since``: its start.
    ``stop``: the effect of the last stop. ``taken_over`` gets the reason when another person takes
    over.
    """

    place: Place
    process: int
    since: datetime
    at: str = ""
    stop: TrialStop = TrialStop.NONE
    taken_over: asyncio.Future[Note] = field(default_factory=asyncio.Future)

    def note_stop(self, run: MotionRun | None) -> None:
        """Note a stop of ``run``, or a stop while nothing moves."""
        if run is None:
            self.stop = TrialStop.REFUSES_NEXT
        elif self.stop is TrialStop.NONE:
            self.stop = TrialStop.ENDED_TRIAL

    @property
    def who(self) -> tuple[str, dict[str, str]]:
        """Return code and parameters of a note on who calibrates, since when, how to end it."""
        at = self.at or (f"pid {self.process}" if self.process else "")
        since = clock_text(self.since)
        if not at and self.place != "display":  # it runs in another container
            return "calibrated", {"since": since}
        return _CALIBRATED_AT[self.place], {"at": at, "since": since}

    @property
    def report(self) -> Calibrator:
        """Return who calibrates, for the status."""
        code, parameters = self.who
        (who,) = notes_of([Note.of(code, **parameters)])
        return Calibrator(
            place=self.place, at=self.at, process=self.process, since=self.since, who=who
        )


def clock_text(time: datetime) -> str:
    """Return the local hour and minute of a time."""
    return time.astimezone().strftime("%H:%M")
