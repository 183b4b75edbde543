"""Documents of calibrations: the values in force, their versions, and requests about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from robot.api.endpoints import Place
from robot.records.documents import ApiDocument, ApiRequest
from robot.text.messages import Note
from solver.files import JsonMapping, JsonObject

FORMAT = 3
"""Version of the file format. Format 1 holds only the differences from the profile; the robot also
ran with the profile's other values, so all of them count as confirmed. Format 2 confirms the values
that it has. Format 3 has each value's source, and whether it is confirmed."""

MOST_CALIBRATED = 500
"""Most values of one robot."""


Means = Literal["auto", "person", "import", "drift", "learned", "earlier"]
"""The means by which a value was found: measured by ``calibrate auto``, kept by a person at the
robot, taken from a file, corrected by the robot itself, learned from solved cubes, or kept by a
release that did not record it."""

Maker = Literal["auto", "person", "import", "drift", "learned", "restore", "earlier"]
"""Makers of a version."""


class Source(BaseModel):
    """The origin of a calibrated value.

    ``confirmed``: somebody has seen this robot with it. ``uncertain``: its uncertainty in its own
    unit, or the reason for the value. ``robot``: the other robot that it was imported from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    how: Means
    at: datetime
    confirmed: bool = True
    uncertain: float | str | None = None
    robot: str | None = None


class Calibration(BaseModel):
    """The values of one robot. ``values``: dotted key of the profile -> number or numbers.

    ``sources``: the source of each value; a value without one is not confirmed. ``size``: layers of
    the cube that the values are for; None if unknown. ``version``: number of the version kept (0:
    none), made ``at`` a time by ``by``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = Field(default=FORMAT, ge=1, le=FORMAT)
    robot: str
    size: int | None = None
    version: int = 0
    at: datetime | None = None
    by: Maker | None = None
    values: JsonObject = Field(default_factory=dict)
    sources: dict[str, Source] = Field(default_factory=dict)

    @property
    def confirmed(self) -> JsonObject:
        """Return the values that somebody has confirmed on this robot."""
        return {
            key: value
            for key, value in self.values.items()
            if key in self.sources and self.sources[key].confirmed
        }

    def changed(
        self, values: JsonMapping, sources: Mapping[str, Source] | None = None
    ) -> Calibration:
        """Return a copy with some values set, which come from ``sources``. A value of None restores
        the profile's."""
        known = {key: one for key, one in self.sources.items() if key not in values}
        known |= sources or {}
        merged = self.values | dict(values)
        kept = {key: value for key, value in merged.items() if value is not None}
        sources = {key: one for key, one in known.items() if key in kept}
        return self.model_copy(update={"values": kept, "sources": sources})


class VersionSummary(BaseModel):
    """One version in a list.

    ``changed``: number of values that differ from the version before; ``differing``: from the one
    in force. Both are None if it cannot be read (``why``: the reason). ``restored``: the version
    that it is a copy of.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int
    at: datetime | None = None
    by: Maker | None = None
    restored: int | None = None
    in_force: bool = False
    values: int = 0
    changed: int | None = None
    differing: int | None = None
    why: str | None = None


class CalibrationReport(ApiDocument):
    """Summary of the calibration in force.

    ``version`` in force (0: nothing is calibrated), made ``at`` a time by ``by``; the number of its
    ``values``. ``uncertain``: a value's uncertainty in its own unit, or the reason for the value.
    ``unconfirmed``: positions and directions that nobody has confirmed on this robot. ``missing``:
    steps of calibration still to do. ``others``: if this robot has no calibration, other robots
    that have one, with its time.
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
        """Yield notes for people, in plain words."""
        if self.others:
            other, at = max(self.others.items(), key=lambda one: one[1])
            yield Note.of("calibrated-as-another", robot=robot, other=other, since=at.date())


class MaintenanceRequest(ApiRequest):
    """Begin to calibrate.

    ``place`` and ``at`` (a terminal or address): where the person is, shown to others who have to
    wait. ``take_over``: end another person's session.
    """

    place: Place = "terminal"
    at: str = Field(default="", max_length=64, pattern=r"^[!-~][ -~]*$|^$")
    take_over: bool = False


class CalibrationRequest(ApiRequest):
    """Values by dotted key of the profile; null restores the profile's own.

    They count as confirmed: the client has seen them on this robot. ``how``: a person set them at
    the robot, or the robot found and proved them by itself. ``uncertain``: a value's uncertainty in
    its unit, or the reason for the value. ``provisional``: only try them out, replacing earlier
    provisional values, until maintenance ends.
    """

    values: JsonObject = Field(max_length=MOST_CALIBRATED)
    how: Literal["person", "auto"] = "person"
    uncertain: dict[str, float | str] = Field(default_factory=dict, max_length=MOST_CALIBRATED)
    provisional: bool = False


class ImportRequest(ApiRequest):
    """Replace all calibrated values with those of an exported calibration of ``robot``.

    ``from_another``: the other robot whose values to use on purpose; without ``values``, those that
    the daemon has kept for it. Values that nobody has confirmed on this robot stay unconfirmed.
    """

    robot: str | None = Field(default=None, max_length=64)
    from_another: str | None = Field(default=None, max_length=64)
    values: JsonObject | None = Field(default=None, max_length=MOST_CALIBRATED)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.values is not None and self.robot is None:
            raise ValueError("robot: name the robot that the values belong to")
        if self.values is None and self.from_another is None:
            raise ValueError("give values, or from_another to use the values kept for that robot")
        return self


class RestoreRequest(ApiRequest):
    """The version to restore (default: the one before the present one)."""

    version: int | None = Field(default=None, ge=0, lt=10**9)


class ChangedValue(ApiDocument):
    """A calibrated value that has changed. Null means the profile's value."""

    key: str
    before: JsonValue
    after: JsonValue


class Restored(Calibration):
    """The calibration now in force, and its changes: none are listed if the calibration before
    could not be read."""

    changes: list[ChangedValue] = Field(default_factory=list)


class VersionList(ApiDocument):
    """All versions of a robot's calibration, the oldest first.

    ``others``: other robots that have a calibration, with its time.
    """

    robot: str
    versions: list[VersionSummary]
    others: dict[str, datetime] = Field(default_factory=dict)
