"""Shipped robots with other values, and calibrations as a daemon has them."""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from robot.api.calibrations import Calibration, Source
from robot.settings import RobotProfile, load_profile
from robot.settings.checks import check_profile
from solver.files import JsonMapping


def changed(robot: str, changes: dict[str, Any]) -> RobotProfile:
    """Return a shipped robot with other values, given by their dotted keys."""
    document: Any = load_profile(robot).model_dump(mode="json", exclude_unset=True)
    for key, value in changes.items():
        *path, last = key.split(".")
        place = document
        for step in path:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
        place[last] = copy.deepcopy(value)
    return RobotProfile.model_validate(document)


def findings(robot: str, changes: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the problems of such a robot, each a dotted key and a text."""
    return [
        (".".join(map(str, path)), text) for path, text in check_profile(changed(robot, changes))
    ]


SEEN = Source(how="person", at=datetime(2026, 5, 3, 12, 0, tzinfo=UTC))


def kept(robot: str, values: JsonMapping) -> Calibration:
    return Calibration(robot=robot).changed(values, dict.fromkeys(values, SEEN))


NOBODY = 65_534


@contextlib.contextmanager
def refusing(folder: Path) -> Iterator[None]:
    """Make a folder refuse this process, which gives up root meanwhile."""
    mode, user = folder.stat().st_mode, os.geteuid()
    folder.chmod(0)
    try:
        if user == 0:
            os.seteuid(NOBODY)
        yield
    finally:
        os.seteuid(user)
        folder.chmod(mode)
