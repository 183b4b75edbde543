"""Calibrations as a daemon has them: values beside where they come from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from robot.calibration.store import Calibration
from robot.calibration.versions import Source
from solver.files import JsonMapping

SEEN = Source(how="person", at=datetime(2026, 5, 3, 12, 0, tzinfo=UTC))


def kept(robot: str, values: JsonMapping) -> Calibration:
    """What a person has kept on a robot."""
    return Calibration(robot=robot).changed(values, dict.fromkeys(values, SEEN))


def answered(robot: str, values: JsonMapping) -> dict[str, Any]:
    """The same as the daemon answers it."""
    return kept(robot, values).model_dump(mode="json")
