"""What is told of a schedule while it is performed, and of its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from robot.link.protocol import Status
from robot.link.session import LinkSession

Progress = Callable[[float], None]


class Gate(Protocol):
    """Gate at which the links to several boards wait for each other before a common start."""

    async def all_uploaded(self) -> None:
        """Wait until every board has its part of the plan."""

    async def start_tick(self, session: LinkSession) -> int:
        """Wait until everybody is ready; the tick of the board's clock at which all start."""

    async def is_kept(self, session: LinkSession) -> bool:
        """Wait until every board was told its tick; whether the start is right, or taken back."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What the firmware did: microseconds from go to the end of the last turn, by its clock.

    ``events`` names what was out of the ordinary: ``held`` (the Pi was silent and motion paused),
    ``underrun`` (the queue ran dry), ``late`` (a turn started after its time). ``waited_s``: from
    the order to the go by this computer's clock, which sees it with the first status.
    """

    executed_us: int
    turns_done: int
    events: tuple[str, ...]
    waited_s: float = field(default=0.0, compare=False)


def events_between(before: Status, after: Status) -> tuple[str, ...]:
    """What the firmware counted meanwhile; its counters wrap at 256."""
    counters = {"held": "held", "underrun": "underruns", "late": "late"}
    return tuple(
        name for name, field in counters.items() if getattr(before, field) != getattr(after, field)
    )
