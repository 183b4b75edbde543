"""The robot's condition: its state and faults, and the events that report both."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime

from robot.api.endpoints import RobotState
from robot.api.models import RESTING, WORKING, Event, check_transition
from robot.daemon.service import complaint
from robot.records.run_record import FaultRecord
from robot.text.faults import RobotError
from robot.text.messages import JobStep, coded
from solver.errors import CubistError

log = logging.getLogger("cubistd")

EMERGENCY = "emergency-stop"
"""The fault that only a person clears. Others end when the robot connects again."""


class RobotCondition:
    """State and faults of the robot. Use it in the event loop's thread only.

    An emergency stop hides other faults until a person acknowledges it. Faults of the panel come
    last, since the robot still works. ``released``: the actuators that are off because the robot is
    idle. ``run``: the number of the job under way, for events.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.events = EventBoard()
        self.state = RobotState.IDLE
        self.since = now()
        self.is_homed = False
        self.released: tuple[str, ...] = ()
        self.run: str | None = None
        self.robot_fault: FaultRecord | None = None
        self.emergency: FaultRecord | None = None
        self._panel_faults: dict[str, FaultRecord] = {}
        self._shown: FaultRecord | None = None
        self._now = now

    @property
    def fault(self) -> FaultRecord | None:
        """Return the fault to show, if any."""
        panel = next(iter(self._panel_faults.values()), None)
        return self.emergency or self.robot_fault or panel

    @property
    def is_in_order(self) -> bool:
        """Return whether the robot has no fault. Faults of the panel do not count."""
        return self.emergency is None and self.robot_fault is None

    def set_fault(self, error: CubistError) -> None:
        """Note a fault of the robot and enter the fault state."""
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
        """Note a fault of the panel, until :meth:`clear_panel` is called with its code."""
        record = FaultRecord.of(fault)
        log.error("fault %s: %s", record.code, complaint(fault))
        self._panel_faults[record.code] = record

    def clear_panel(self, code: str) -> None:
        """Clear the panel's fault with this code."""
        self._panel_faults.pop(code, None)

    def show_panel_faults(self) -> None:
        """Show the panel's faults, or their end, unless the robot works or has its own fault."""
        if self.state in RESTING and self.robot_fault is None:
            self.rest("the panel is in order again")

    def rest(self, text: str) -> None:
        """Enter ``idle``, or ``fault`` if there is one. Publish each fault that becomes visible."""
        before, self._shown = self._shown, self.fault
        if self.fault is None:
            self.enter(RobotState.IDLE, text)
        elif self.state is not RobotState.FAULT:
            self.enter(RobotState.FAULT, self.fault.cause)
        elif self.fault != before:
            self.publish("state", self.fault.cause)

    def note_released(self, released: tuple[str, ...]) -> None:
        """Note that these actuators were switched off because the robot is idle."""
        self.released, self.is_homed = released, False
        text = JobStep.of("at-rest", actuators=", ".join(released))
        log.info("%s", text)
        self.publish("state", text)

    def report(self, state: RobotState, step: str) -> None:
        """Publish the state or step that a job has entered."""
        log.info("run %s: %s", self.run or "-", step)
        if state is self.state:
            self.publish("step", step)
        else:
            self.enter(state, step)

    def enter(self, state: RobotState, text: str) -> None:
        """Enter and publish a state. Raise ``RuntimeError`` if it cannot follow the current one."""
        check_transition(self.state, state)
        if state is self.state:
            return
        # A job homes first; afterwards all positions are known.
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
"""Number of events that a listener may be behind before it is cut off."""


class EventBoard:
    """Publishes events to any number of listeners. Use it in the event loop's thread only."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[Event | None]] = set()

    def publish(self, event: Event) -> None:
        """Send an event to every listener. Cut off listeners that do not keep up."""
        for queue in tuple(self._queues):
            if queue.qsize() >= QUEUE_LENGTH:
                self._queues.discard(queue)
                queue.put_nowait(None)
            else:
                queue.put_nowait(event)

    @contextlib.contextmanager
    def listening(self) -> Iterator[AsyncIterator[Event]]:
        """Yield an iterator over the events from this moment on, whenever it is read.

        It ends with :meth:`close`, or when the listener falls behind.
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
