"""Shipped robots with other values."""

from __future__ import annotations

import copy
from typing import Any

from robot.settings import RobotProfile, load_profile
from robot.settings.checks import check_profile


def changed(robot: str, changes: dict[str, Any]) -> RobotProfile:
    """A shipped robot with other values, by their dotted keys."""
    document: Any = load_profile(robot).model_dump(mode="json", exclude_unset=True)
    for key, value in changes.items():
        *path, last = key.split(".")
        place = document
        for step in path:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
        place[last] = copy.deepcopy(value)
    return RobotProfile.model_validate(document)


def findings(robot: str, changes: dict[str, Any]) -> list[tuple[str, str]]:
    """The complaints about such a robot, each a dotted key and a text."""
    return [
        (".".join(map(str, path)), text) for path, text in check_profile(changed(robot, changes))
    ]
