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
"""Format 1 holds what differs from the profile: the robot was driven by the rest of it, so all of
it counts as confirmed. Format 2 confirms the values that it has. Format 3 says of each value where
it comes from and whether it is confirmed."""

MOST_CALIBRATED = 500
"""Values of one robot."""


Means = Literal["auto", "person", "import", "drift", "learned", "earlier"]
"""Ways in which a value was found: measured by ``calibrate auto``, kept by a person at the robot,
taken from a file, corrected by the robot itself, learned from solved cubes, or kept by a release
that did not note it."""

Maker = Literal["auto", "person", "import", "drift", "learned", "restore", "earlier"]
"""Makers of a version."""


class Source(BaseModel):
    """The origin of a calibrated value.

    ``confirmed``: somebody has seen this robot with it. ``uncertain``: by how much it may be off,
    in its own unit, or why it is as it is. ``robot``: the other robot that it was imported from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    how: Means
    at: datetime
    confirmed: bool = True
    uncertain: float | str | None = None
    robot: str | None = None


class Calibration(BaseModel):
    """The values of one robot. ``values``: dotted key of the profile -> number or numbers.

    ``sources``: where a value comes from; without one it is not confirmed. ``size``: layers of the
    cube that they are for; None where nobody has asked a robot yet. ``version``: which one of those
    kept (0: none), made ``at`` a time by ``by``.
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
        """Return a copy with some values set, which come from ``sources``; None removes one, back
        to the profile's."""
        known = {key: one for key, one in self.sources.items() if key not in values}
        known |= sources or {}
        merged = self.values | dict(values)
        kept = {key: value for key, value in merged.items() if value is not None}
        sources = {key: one for key, one in known.items() if key in kept}
        return self.model_copy(update={"values": kept, "sources": sources})


class VersionSummary(BaseModel):
    """One version in a list. ``changed``: how many values are not as in the version before;
    ``differing``: not as in the one in force; both None where it cannot be read (``why``).
    ``restored``: the version that it is a copy of."""

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


class MaintenanceRequest(ApiRequest):
    """Calibrate; ``place``: where the person is who does, for others who have to wait, and ``at``
    which terminal or address. ``take_over``: end the session of whoever calibrates."""

    place: Place = "terminal"
    at: str = Field(default="", max_length=64, pattern=r"^[!-~][ -~]*$|^$")
    take_over: bool = False


class CalibrationRequest(ApiRequest):
    """Values by dotted key of the profile; null goes back to the profile's own.

    Whoever asks for it has seen them on this robot: it counts as confirmed. ``how``: a person set
    them at the robot, or it has found and proven them by itself. ``uncertain``: by how much a value
    may be off, in its unit, or why it is as it was. ``provisional``: they are only tried out, in
    place of those tried out before, and forgotten when maintenance ends.
    """

    values: JsonObject = Field(max_length=MOST_CALIBRATED)
    how: Literal["person", "auto"] = "person"
    uncertain: dict[str, float | str] = Field(default_factory=dict, max_length=MOST_CALIBRATED)
    provisional: bool = False


class ImportRequest(ApiRequest):
    """Replace all calibrated values with those of an exported calibration, of ``robot``.

    ``from_another``: the other robot whose values are taken over on purpose; without ``values``
    those that the daemon has kept of it. What nobody has confirmed on this robot stays unconfirmed.
    """

    robot: str | None = Field(default=None, max_length=64)
    from_another: str | None = Field(default=None, max_length=64)
    values: JsonObject | None = Field(default=None, max_length=MOST_CALIBRATED)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.values is not None and self.robot is None:
            raise ValueError("robot: values need the name of the robot that they are of")
        if self.values is None and self.from_another is None:
            raise ValueError("give values, or from_another, whose kept values are taken")
        return self


class RestoreRequest(ApiRequest):
    """Which version to go back to; the one before the present one, where none is given."""

    version: int | None = Field(default=None, ge=0, lt=10**9)


class ChangedValue(ApiDocument):
    """A calibrated value that has changed; null: as in the profile."""

    key: str
    before: JsonValue
    after: JsonValue


class Restored(Calibration):
    """The calibration that is in force now, and what has changed by that: nothing is listed where
    the one before could not be read."""

    changes: list[ChangedValue] = Field(default_factory=list)


class VersionList(ApiDocument):
    """All versions of a robot's calibration, the oldest first. ``others``: other robots of which
    there is one, and since when."""

    robot: str
    versions: list[VersionSummary]
    others: dict[str, datetime] = Field(default_factory=dict)
