"""One run of motion, whoever asked for it, and the program that calibrates."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import NoReturn

from robot.api.endpoints import Place
from robot.api.rights import Program
from robot.text.faults import Conflict, RobotError
from robot.text.notes import Note


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


@dataclass(frozen=True)
class CalibratingProgram:
    """The program whose connection has the robot for calibrating: where somebody uses it, its
    process, and since when."""

    place: Place
    process: int
    since: datetime

    def refuse_others(self) -> NoReturn:
        """Raise :class:`Conflict`: who has to wait for whom, and how to end a forgotten session."""
        since, process = self.since.astimezone().strftime("%H:%M"), self.process
        if not process:  # it is of another container
            raise Conflict(Note.of("calibrated", since=since))
        match self.place:
            case "terminal":
                raise Conflict(Note.of("calibrated-terminal", since=since, process=process))
            case "page":
                raise Conflict(Note.of("calibrated-page", since=since, process=process))
            case "display":
                raise Conflict(Note.of("calibrated-display", since=since, process=process))
