"""An owner's part of a daemon whose robot is a fake."""

from __future__ import annotations

import sys
from pathlib import Path

from robot.calibration.store import CalibrationStore
from robot.daemon.job_control import JobController
from robot.daemon.log_keeper import LogKeeper
from robot.daemon.management import Management, Surroundings
from robot.records.profile_versions import ProfileVersions

FINDING = '{"about": "disk", "verdict": "ok", "text": "plenty", "remedy": ""}'
DOCTOR = (sys.executable, "-c", f"print({FINDING!r})")


def management_of(
    controller: JobController,
    folder: Path,
    *,
    profile: str = "cubotino",
    doctor: tuple[str, ...] = DOCTOR,
    is_supervised: bool = False,
) -> Management:
    """Return the management of a controller, with its files in a folder."""
    folder.mkdir(exist_ok=True)
    return Management(
        controller,
        LogKeeper(folder),
        ProfileVersions(folder, profile),
        CalibrationStore(folder),
        Surroundings(is_supervised=is_supervised, doctor=doctor),
    )
