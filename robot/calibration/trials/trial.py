"""Trials: motion that the robot tries for calibration, one operation of the control socket each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from robot.api.endpoints import Endpoint, trial_endpoint
from robot.machine.confirmed_range import ConfirmedRange
from robot.records.documents import ApiDocument, ApiRequest
from robot.settings import RobotProfile
from robot.settings.stepper import Stepper
from solver.errors import InvalidRequest
from solver.files import JsonObject

if TYPE_CHECKING:
    from robot.machine.assembly import Machine

Asked = TypeVar("Asked", bound=ApiRequest)
Found = TypeVar("Found", bound=ApiDocument)


@dataclass(frozen=True)
class Bench:
    """The robot of a trial, its calibrated profile, and how far its actuators may go.

    ``kept``: the profile without what is only tried out, if anything is. ``cancel`` is set when the
    trial is to end: motion watches it by itself, searches are given it.
    """

    machine: Machine
    profile: RobotProfile
    contact: ConfirmedRange = field(default_factory=lambda: ConfirmedRange({}))
    kept: RobotProfile | None = None
    cancel: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Trial(Generic[Asked, Found]):
    """An operation of the control socket, ``/maintenance/NAME``, and what carries it out.

    ``run`` blocks; it raises ``InvalidRequest`` for what this robot does not have, ``RobotError``,
    and ``Stopped`` once the bench's ``cancel`` is set. One that is only asked for (``GET``)
    moves nothing. ``trusted``: what may go anywhere meanwhile, because somebody who watches asked
    for it. ``renews``: the robot is put together anew first, if anything was kept since.
    """

    name: str
    summary: str
    request: type[Asked]
    answer: type[Found]
    run: Callable[[Bench, Asked], Found]
    method: Literal["GET", "POST"] = "POST"
    trusted: Callable[[RobotProfile, Asked], Collection[str]] = lambda *_: ()
    renews: bool = True

    @property
    def moves(self) -> bool:
        """Return whether it may move the robot."""
        return self.method == "POST"

    @property
    def endpoint(self) -> Endpoint[JsonObject]:
        """Return its endpoint on the control socket."""
        return trial_endpoint(self.method, self.name)


AnyTrial = Trial[Any, Any]
"""Whatever it asks and finds."""


def stepper_of(profile: RobotProfile, name: str) -> Stepper:
    """Return a stepper; raises ``InvalidRequest`` for another name."""
    steppers = profile.actuators_of(Stepper)
    if name in steppers:
        return steppers[name]
    known = ", ".join(steppers_of(profile)) or "none"
    raise InvalidRequest(f"{profile.name} has no stepper {name}; there is {known}")


def steppers_of(profile: RobotProfile) -> list[str]:
    """Return the names of all steppers."""
    return list(profile.actuators_of(Stepper))
