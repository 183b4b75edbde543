"""What the robot itself does for calibration: each trial is one operation of the control socket."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from robot.documents import ApiDocument, ApiRequest
from robot.settings import RobotProfile

if TYPE_CHECKING:
    from robot.machine.assembly import Machine

Asked = TypeVar("Asked", bound=ApiRequest)
Found = TypeVar("Found", bound=ApiDocument)


@dataclass(frozen=True)
class Bench:
    """What a trial works with: the robot, and its profile with what is calibrated by now."""

    machine: Machine
    profile: RobotProfile


@dataclass(frozen=True)
class Trial(Generic[Asked, Found]):
    """An operation of the control socket, ``/maintenance/NAME``, and what carries it out.

    ``run`` blocks; it raises ``InvalidRequest`` for what this robot does not have, and
    ``MotionFault``.
    """

    name: str
    summary: str
    request: type[Asked]
    answer: type[Found]
    run: Callable[[Bench, Asked], Found] | None
    method: Literal["GET", "POST"] = "POST"

    @property
    def path(self) -> str:
        """On the control socket."""
        return f"/maintenance/{self.name}"
