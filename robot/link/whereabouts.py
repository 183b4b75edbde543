"""Where a robot's actuators rest, as far as can be told when its motion broke off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from robot.link.protocol import Status
from robot.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """What one link leaves to the next: positions in steps or microseconds of pulse, by actuator,
    before the schedule under way if there was one, and how the microcontroller will know it.
    """

    boot_id: int
    positions: Mapping[str, int]
    plan: int
    schedule: Schedule | None

    def now(self, boot_id: int, status: Status) -> dict[str, int]:
        """Positions at rest, by a status of a microcontroller at rest.

        It finishes the turns that it has started. One that was reset knows of none of this.
        """
        if boot_id != self.boot_id:
            return {}
        if self.schedule is None or status.plan != self.plan:
            return dict(self.positions)
        return after_turns(self.positions, self.schedule, status.turns_done)


def after_turns(positions: Mapping[str, int], schedule: Schedule, count: int) -> dict[str, int]:
    """Positions after the first ``count`` turns of a schedule."""
    reached = dict(positions)
    for turn in schedule.turns[:count]:
        profile = schedule.profiles[turn.profile]
        reached[profile.actuator] = profile.end
    return reached
