"""A summary of a calibration: its date, maker, accuracy, and the steps still to be done."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pydantic import Field

from robot.calibration.step import steps_of
from robot.calibration.store import BadCalibration, CalibrationStore
from robot.calibration.versions import Maker
from robot.machine.confirmed_range import confirmable
from robot.records.documents import ApiDocument
from robot.settings import RobotProfile
from robot.text.notes import Note


class CalibrationReport(ApiDocument):
    """Summary of the calibration in force.

    ``version`` in force (0: nothing is calibrated), made ``at`` a time by ``by``; the number of its
    ``values``. ``uncertain``: by how much a value may be off, in its own unit, or why it is as it
    is. ``unconfirmed``: positions and directions that nobody has confirmed on this robot.
    ``missing``: steps of calibration that are still to be done. ``others``: where there is nothing
    of this robot, other robots of which a calibration is kept, and since when.
    """

    version: int = 0
    at: datetime | None = None
    by: Maker | None = None
    values: int = 0
    uncertain: dict[str, float | str] = Field(default_factory=dict)
    unconfirmed: list[str] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list)
    others: dict[str, datetime] = Field(default_factory=dict)

    def notes(self, robot: str) -> Iterator[Note]:
        """Yield what people should know, in plain words."""
        if self.others:
            other, at = max(self.others.items(), key=lambda one: one[1])
            yield Note.of("calibrated-as-another", robot=robot, other=other, since=at.date())


def report(profile: RobotProfile, store: CalibrationStore) -> CalibrationReport | None:
    """Report on what is in force; None where it cannot be read, which is a fault of its own."""
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
