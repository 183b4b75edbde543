"""What the screens of the calibration do with the robot; knows nothing of terminals."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from robot.calibration.store import Calibration, apply
from robot.cli.positions import maintenance, move_to
from robot.cli.terminal_picture import Image, decode
from robot.client import ControlClient
from robot.settings import RobotProfile


@dataclass(frozen=True)
class Position:
    """A named position of an actuator, by its key in the calibration.

    ``value`` counts now, ``original`` is the profile's; ``low`` and ``high`` are limits, if any.
    ``unit`` is ``us`` of pulse or ``steps``. ``confirmed``: a person has kept it.
    """

    key: str
    actuator: str
    name: str
    unit: str
    value: int
    original: int
    low: int | None = None
    high: int | None = None
    confirmed: bool = True


class HasSession(Protocol):
    """The app, as its screens know it."""

    @property
    def session(self) -> CalibrationSession:
        """The robot that is calibrated."""


class CalibrationSession:
    """A robot in maintenance mode, and what was kept since then, so that it can be undone.

    All methods block; they raise what :class:`ControlClient` raises, and ``BadCalibration``.
    """

    def __init__(self, client: ControlClient, profile: RobotProfile) -> None:
        self.profile = profile
        self._client = client
        self._undo: list[dict[str, Any]] = []

    @property
    def calibrated(self) -> RobotProfile:
        """The profile with what is kept by now."""
        return apply(self.profile, self._calibration())

    @property
    def undoable(self) -> int:
        """How many changes can be undone."""
        return len(self._undo)

    def positions(self) -> list[Position]:
        """Every named position of every actuator."""
        kept = self._calibration().values
        return list(_positions(self.profile, self.calibrated, kept))

    def home(self) -> None:
        """Bring everything to its start position."""
        self._client.call("POST", "/maintenance/home", {})

    def move(
        self, actuator: str, target: int | None, begin_at: int | None = None
    ) -> dict[str, Any]:
        """Move slowly (None: stay, or wake up); where it is then (``position``), and from where to
        where it has been confirmed (``low``, ``high``). ``begin_at`` is the first pulse of a servo
        that has no confirmed position."""
        return move_to(self._client, actuator, target, begin_at)

    def picture(self, camera: str) -> Image:
        """What a camera sees now: uint8[H, W, 3], RGB."""
        answer = self._client.call("GET", f"/maintenance/picture?camera={quote(camera)}")
        return decode(base64.b64decode(answer["jpeg"]))

    def colours(self, facelets: str | None) -> dict[str, Any]:
        """Look at the cube (``facelets``; None: as it is read) and measure its colours."""
        return self._client.call("POST", "/maintenance/colours", {"facelets": facelets})

    def timing(self) -> dict[str, Any]:
        """Perform and time every operation."""
        return self._client.call("POST", "/maintenance/timing", {})

    def trial(self, what: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Try something on one actuator: ``turn``, ``steps``, ``speed``, ``play``, ``travel``."""
        return self._client.call("POST", f"/maintenance/{what}", dict(body))

    def keep(self, values: Mapping[str, Any]) -> None:
        """Keep calibrated values from now on."""
        before = self._calibration().values
        self._client.call("PUT", "/calibration", {"values": dict(values)})
        self._undo.append({key: before.get(key) for key in values})

    def undo(self) -> list[str]:
        """Take the last :meth:`keep` back; the keys that were changed."""
        if not self._undo:
            return []
        values = self._undo[-1]
        self._client.call("PUT", "/calibration", {"values": values})
        self._undo.pop()
        return list(values)

    def _calibration(self) -> Calibration:
        return Calibration.model_validate(self._client.call("GET", "/calibration"))


@contextlib.contextmanager
def in_maintenance(profile: RobotProfile) -> Iterator[CalibrationSession]:
    """The daemon's robot in maintenance mode, which ends with this context or this process."""
    with maintenance() as client:
        yield CalibrationSession(client, profile)


def _positions(
    original: RobotProfile, calibrated: RobotProfile, kept: Mapping[str, Any]
) -> Iterator[Position]:
    for name, actuator in calibrated.actuators.items():
        low, high = actuator.limits or (None, None)
        for position, value in actuator.places.items():
            key = f"actuators.{name}.{actuator.positions_key}.{position}"
            yield Position(
                key=key,
                actuator=name,
                name=position,
                unit=actuator.unit,
                value=value,
                original=original.actuators[name].places[position],
                low=low,
                high=high,
                confirmed=key in kept,
            )
