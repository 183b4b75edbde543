"""The robot's condition: its state and faults, the events that report both, and who has it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import NoReturn

from robot.api.endpoints import Place, Program, RobotState
from robot.api.models import RESTING, WORKING, Event, check_transition
from robot.daemon.service import complaint
from robot.records.run_record import FaultRecord
from robot.text.faults import Conflict, RobotError
from robot.text.messages import Note, coded
from solver.errors import CubistError

log = logging.getLogger("cubistd")

EMERGENCY = "emergency-stop"
"""The fault that only a person clears: others end when the robot connects again."""


class RobotCondition:
    """State and faults of the robot; used from the event loop's thread only.

    An emergency stop hides other faults until a person acknowledges it. Faults of the panel are
    the least: the robot still works. ``run`` is the number of the job under way, for events.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.events = EventBoard()
        self.state = RobotState.IDLE
        self.since = now()
        self.is_homed = False
        self.run: str | None = None
        self.robot_fault: FaultRecord | None = None
        self.emergency: FaultRecord | None = None
        self._panel_faults: dict[str, FaultRecord] = {}
        self._now = now

    @property
    def fault(self) -> FaultRecord | None:
        """Return the fault to show, if any."""
        panel = next(iter(self._panel_faults.values()), None)
        return self.emergency or self.robot_fault or panel

    @property
    def is_in_order(self) -> bool:
        """Return whether the robot has no fault; those of the panel do not count."""
        return self.emergency is None and self.robot_fault is None

    def set_fault(self, error: CubistError) -> None:
        """Note a fault of the robot and enter its state."""
        record = FaultRecord.of(error)
        if record.code == EMERGENCY:
            self.emergency = record
        else:
            self.robot_fault = record
        self.is_homed = False
        log.error("fault %s: %s", record.code, complaint(error))
        self.rest("")

    def check_emergency(self) -> None:
        """Raise ``RobotError`` after an emergency stop that nobody has acknowledged."""
        if self.emergency is not None:
            raise RobotError(EMERGENCY, self.emergency.cause, self.emergency.remedy)

    def report_panel(self, fault: CubistError) -> None:
        """Note that a part of the panel is out of order, until :meth:`clear_panel` of its code."""
        record = FaultRecord.of(fault)
        log.error("fault %s: %s", record.code, complaint(fault))
        self._panel_faults[record.code] = record

    def clear_panel(self, code: str) -> None:
        """Note that the panel's fault of this code is over."""
        self._panel_faults.pop(code, None)

    def show_panel_faults(self) -> None:
        """Show or end faults of the panel, unless the robot works or has a fault of its own."""
        if self.state in RESTING and self.robot_fault is None:
            self.rest("the panel is in order again")

    def rest(self, text: str) -> None:
        """Enter ``idle``, or ``fault`` if there is one."""
        if self.fault is None:
            self.enter(RobotState.IDLE, text)
        else:
            self.enter(RobotState.FAULT, self.fault.cause)

    def report(self, state: RobotState, step: str) -> None:
        """Publish the state or step that a job has entered."""
        log.info("run %s: %s", self.run or "-", step)
        if state is self.state:
            self.publish("step", step)
        else:
            self.enter(state, step)

    def enter(self, state: RobotState, text: str) -> None:
        """Publish another state; raise ``RuntimeError`` if it cannot follow."""
        check_transition(self.state, state)
        if state is self.state:
            return
        # A job homes first; in what follows, all positions are known.
        self.is_homed |= self.state is RobotState.HOMING and state in WORKING
        self.state, self.since = state, self._now()
        self.publish("state", text)

    def publish_progress(self, fraction: float) -> None:
        """Publish the progress of the turns, the longest step of a job."""
        if self.state is RobotState.TURNING:
            self.publish("progress", f"{fraction:.0%} turned", progress=fraction)

    def publish(self, event: str, text: str, **more: object) -> None:
        """Publish an event of this kind."""
        known = {"run": self.run, "event": event, "time": self._now(), "state": self.state}
        document = known | {"text": text} | coded(text) | more
        self.events.publish(Event.model_validate(document))


QUEUE_LENGTH = 256
"""Events a listener may be behind before it is cut off."""


class EventBoard:
    """Publishes events to any number of listeners; used from the event loop's thread only."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[Event | None]] = set()

    def publish(self, event: Event) -> None:
        """Hand an event to every listener; one that does not keep up is cut off."""
        for queue in tuple(self._queues):
            if queue.qsize() >= QUEUE_LENGTH:
                self._queues.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(event)

    @contextlib.contextmanager
    def listening(self) -> Iterator[AsyncIterator[Event]]:
        """Events from the moment the context is entered, whenever they are asked for.

        They end with :meth:`close`, or when the listener falls behind.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._queues.add(queue)
        try:
            yield _iterate_until_none(queue)
        finally:
            self._queues.discard(queue)

    def close(self) -> None:
        """End all streams."""
        for queue in tuple(self._queues):
            queue.put_nowait(None)
        self._queues.clear()


async def _iterate_until_none(queue: asyncio.Queue[Event | None]) -> AsyncIterator[Event]:
    while (event := await queue.get()) is not None:
        yield event


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
    """What the last stop did to a program that calibrates. Its next trial starts afresh."""

    NONE = auto()
    ENDED_TRIAL = auto()
    """It ended the last trial, or kept it from beginning."""
    REFUSES_NEXT = auto()
    """It came between two trials: the next one is refused, so that the program ends."""


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
