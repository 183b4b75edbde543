"""A run of motion, and the programs that ask for one or have the robot for calibrating."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import NoReturn

from robot.api.endpoints import Place, Program
from robot.text.faults import Conflict, RobotError
from robot.text.messages import Note


@dataclass(frozen=True)
class Caller:
    """A program that asks the daemon for something.

    ``program`` is the one whose socket it uses, None at the control socket; ``process`` is its
    number by the kernel, 0 if unknown, as in another container.
    """

    program: Program | None
    process: int


CALLER: ContextVar[Caller] = ContextVar("caller")
"""The program whose request is being handled; unset if the daemon acts by itself."""


@dataclass
class MotionRun:
    """Something that moves the robot, from before its first motion until it rests: a job, a trial.

    ``cancel`` is the one flag that its motion, searches and waits watch. Whoever sets it ends the
    run at the next safe point, the end of the turns in progress. ``ended`` is set when it is over.
    ``by``: who ended it, if it was no person at the robot.
    """

    cancel: threading.Event = field(default_factory=threading.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    by: str = ""

    @property
    def reason(self) -> RobotError:
        """Why a calibrating program's motion ended early."""
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
    """The program whose connection has the robot for calibrating: where somebody uses it, its
    process, since when, and how its motion was stopped last."""

    place: Place
    process: int
    since: datetime
    stop: TrialStop = TrialStop.NONE

    def note_stop(self, run: MotionRun | None) -> None:
        """Note a stop, which meets ``run`` if anything moves."""
        if run is None:
            self.stop = TrialStop.REFUSES_NEXT
        elif self.stop is TrialStop.NONE:
            self.stop = TrialStop.ENDED_TRIAL

    def refuse_others(self) -> NoReturn:
        """Raise :class:`Conflict`: who has to wait for whom, and how to end a forgotten session."""
        since = self.since.astimezone().strftime("%H:%M")
        if not self.process:  # it is of another container
            raise Conflict(Note.of("calibrated", since=since))
        code = _CALIBRATED_AT[self.place]
        raise Conflict(Note.of(code, since=since, process=self.process))
