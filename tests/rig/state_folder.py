"""Calibrations as a daemon has them: values beside where they come from."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from robot.api.calibrations import Calibration, Source
from solver.files import JsonMapping

SEEN = Source(how="person", at=datetime(2026, 5, 3, 12, 0, tzinfo=UTC))


def kept(robot: str, values: JsonMapping) -> Calibration:
    """Return a calibration with values that a person has kept."""
    return Calibration(robot=robot).changed(values, dict.fromkeys(values, SEEN))


def answered(robot: str, values: JsonMapping) -> dict[str, Any]:
    """The same as the daemon answers it."""
    return kept(robot, values).model_dump(mode="json")


NOBODY = 65_534


@contextlib.contextmanager
def refusing(folder: Path) -> Iterator[None]:
    """Make a folder refuse this process, which is not root meanwhile."""
    mode, user = folder.stat().st_mode, os.geteuid()
    folder.chmod(0)
    try:
        if user == 0:
            os.seteuid(NOBODY)
        yield
    finally:
        os.seteuid(user)
        folder.chmod(mode)
