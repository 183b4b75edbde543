"""What a demo ends with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robot.outcomes import is_success
from robot.runs import RunRecord
from robot.twin.incidents import Violation


@dataclass(frozen=True)
class DemoOutcome:
    """The simulated robot's verdict beside the daemon's own record of the run."""

    solved: bool
    violations: tuple[Violation, ...]
    record: RunRecord
    scan_s: float
    turn_s: float
    facelets: str

    @property
    def good(self) -> bool:
        """Whether the robot did what it is for and knows it, and nothing it must not do."""
        return self.solved and not self.violations and is_success(self.record.outcome)

    @property
    def troubles(self) -> list[str]:
        """What went wrong on the way and did not matter in the end."""
        link = self.record.link
        again = [f"{link.resent} messages were sent again"] if link.resent else []
        return [*self.record.recoveries, *(self.record.warnings or again)]

    def as_dict(self) -> dict[str, Any]:
        """The last line of ``cubist demo``; times of the robot are in its own seconds."""
        record = self.record
        return {
            "solved": self.solved,
            "violations": [violation.as_dict() for violation in self.violations],
            "moves": record.moves,
            "length": record.move_count,
            "scan_s": round(self.scan_s, 3),
            "solve_s": round(record.timings_s.get("search", 0.0), 3),
            "turn_s": round(self.turn_s, 3),
            "planned_us": record.planned_us,
            "executed_us": record.executed_us,
            "outcome": record.outcome,
            "reason": record.reason,
            "recoveries": self.troubles,
            "robot": record.robot,
            "facelets": self.facelets,
        }
