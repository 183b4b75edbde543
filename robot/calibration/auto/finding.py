"""A finding with its uncertainty, and the error if something could not be found."""

from __future__ import annotations

from dataclasses import dataclass, field

from robot.calibration.step import Row
from solver.files import JsonMapping, JsonObject


@dataclass(frozen=True)
class Finding:
    """Something found in a ``stage``.

    ``values`` are calibrated values by their keys. ``uncertain``: by how much each may be off, in
    the unit of its value, or why it is as it was. ``evidence``: measured figures by their names.
    """

    stage: str
    text: str
    values: JsonMapping = field(default_factory=dict)
    uncertain: JsonMapping = field(default_factory=dict)
    evidence: JsonMapping = field(default_factory=dict)

    @property
    def row(self) -> Row:
        """Return the finding as a line of the result."""
        document: JsonObject = {
            "stage": self.stage,
            "text": self.text,
            "values": dict(self.values),
            "uncertain": dict(self.uncertain),
            "evidence": dict(self.evidence),
        }
        return Row((self.stage, self.text), document)
