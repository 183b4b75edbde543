"""Operations: what a robot does, as costed, planned, shown to people and sent to the firmware."""

from __future__ import annotations

from dataclasses import dataclass, field

from robot.documents import JsonMapping, JsonObject


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing the robot does, at a time.

    ``op`` is ``turn`` (``site``, ``quarter_turns``), ``rotate`` (``axis``, ``quarter_turns``),
    ``look`` (``site``) or a mechanism's own (``lid``, ``grip``, ``release``, ``home``, ...) with
    its ``fields``. ``quarter_turns`` is 1, 2 or -1, clockwise seen from outside the site, or as the
    R (x), U (y), F (z) turn for an axis. Times in microseconds from the start of the plan.
    """

    op: str
    start_us: int
    duration_us: int
    site: str | None = None
    axis: str | None = None
    quarter_turns: int | None = None
    fields: JsonMapping = field(default_factory=dict)

    @property
    def end_us(self) -> int:
        """When the operation is over."""
        return self.start_us + self.duration_us

    def as_dict(self) -> JsonObject:
        """The operation as in the JSON of ``cubist solve --robot``."""
        named = {"op": self.op, "site": self.site, "axis": self.axis}
        out: JsonObject = {key: value for key, value in named.items() if value is not None}
        if self.quarter_turns is not None:
            out["quarter_turns"] = self.quarter_turns
        return (
            out | dict(self.fields) | {"start_us": self.start_us, "duration_us": self.duration_us}
        )
