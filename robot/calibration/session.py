"""A robot that is being calibrated, from the client's side: what it does, what is kept, undone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cached_property
from urllib.parse import urlencode

from robot.calibration.store import Calibration, apply
from robot.calibration.trial import Asked, Found, Trial
from robot.client import ControlClient
from robot.documents import JsonMapping, JsonObject
from robot.settings import RobotProfile, load_profile

LONGEST_TRIAL_S = 600.0
"""A scan by a slow robot takes a minute, timing its operations a few."""


class Session:
    """The daemon's robot, and what was kept since the start, so that it can be undone.

    ``profile``: where it is not the one of the daemon's robot's name. All methods block; they raise
    what :class:`ControlClient` raises, and ``BadCalibration``.
    """

    def __init__(
        self, client: ControlClient | None = None, profile: RobotProfile | None = None
    ) -> None:
        self._client = client or ControlClient(timeout_s=LONGEST_TRIAL_S)
        self._given = profile
        self._undo: list[JsonObject] = []

    @contextlib.contextmanager
    def maintenance(self) -> Iterator[None]:
        """The robot in maintenance, which ends with this context, or with this process."""
        with self._client.maintenance():
            yield

    @cached_property
    def profile(self) -> RobotProfile:
        """The robot without its calibration."""
        return self._given or load_profile(self.calibration.robot)

    @property
    def calibration(self) -> Calibration:
        """What is kept by now."""
        return Calibration.model_validate(self._client.call("GET", "/calibration"))

    @property
    def calibrated(self) -> RobotProfile:
        """The profile with what is kept by now."""
        return apply(self.profile, self.calibration)

    def perform(self, trial: Trial[Asked, Found], **asked: object) -> Found:
        """Have the robot do something; what came of it."""
        if trial.method == "GET":
            query = urlencode({key: value for key, value in asked.items() if value is not None})
            answer = self._client.call("GET", trial.path + (query and f"?{query}"))
        else:
            answer = self._client.call("POST", trial.path, asked)
        return trial.answer.model_validate(answer)

    def keep(self, values: JsonMapping) -> bool:
        """Keep calibrated values from now on, if there are any; whether there were."""
        if values:
            before = self.calibration.values
            self._client.call("PUT", "/calibration", {"values": dict(values)})
            self._undo.append({key: before.get(key) for key in values})
        return bool(values)

    def undo(self) -> list[str]:
        """Take the last :meth:`keep` back; the keys that were changed."""
        if not self._undo:
            return []
        values = self._undo[-1]
        self._client.call("PUT", "/calibration", {"values": values})
        self._undo.pop()
        return list(values)
