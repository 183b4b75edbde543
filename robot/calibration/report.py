"""A summary of a calibration: its date, maker, accuracy, and the steps still to be done."""

from __future__ import annotations

from robot.api.calibrations import CalibrationReport
from robot.calibration.step import steps_of
from robot.calibration.store import CalibrationStore
from robot.calibration.values import BadCalibration
from robot.machine.confirmed_range import confirmable
from robot.settings import RobotProfile


def report_calibration(profile: RobotProfile, store: CalibrationStore) -> CalibrationReport | None:
    """Report on the calibration in force; None if it cannot be read, which is a separate fault."""
    try:
        found = store.load(profile)
    except BadCalibration:
        return None
    confirmed = found.confirmed
    unsure = {key: one.uncertain for key, one in found.sources.items()}
    return CalibrationReport(
        version=found.version,
        at=found.at,
        by=found.by,
        values=len(found.values),
        uncertain={key: one for key, one in unsure.items() if one is not None},
        unconfirmed=[key for key in confirmable(profile) if key not in confirmed],
        missing=[step.name for step in steps_of(profile) if not step.is_done(profile, found)],
        others={} if found.version else store.others(profile.name),
    )
