"""Quality of the line to the boards: traffic counters, and notes on what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from robot.link.group import LinkGroup
from robot.link.session import SessionStatistics
from robot.records.runs import LinkRecord
from robot.text.faults import RobotError
from robot.text.notes import Note

BAD_SHARE = 0.002
"""Share of damaged messages from which a cable is called bad; a good one damages none."""

FEWEST = 3
"""Single accidents happen."""

RECENT_MESSAGES = 2000
"""Messages either way, of two or three solves, by which a line is judged at least."""


class LinkStatistics:
    """Traffic counters that survive reconnecting."""

    def __init__(self) -> None:
        self._past = LinkRecord()
        self._link: LinkGroup | None = None
        self._base: SessionStatistics | None = None

    def note_opened(self, link: LinkGroup) -> None:
        """Count this link from now on; what the board counted before was not ours."""
        self._link, self._base = link, _statistics(link)

    def note_closing(self) -> None:
        """The link is about to be closed: keep its figures."""
        self._past = self.total
        self._link = self._base = None

    def note_events(self, events: Sequence[str]) -> None:
        """Something out of the ordinary happened while a schedule was performed."""
        fields = {"held": "held", "underrun": "underruns", "late": "late"}
        counts = {fields[event]: getattr(self._past, fields[event]) + 1 for event in events}
        self._past = self._past.model_copy(update=counts)

    @property
    def total(self) -> LinkRecord:
        """Everything since the start."""
        now = _statistics(self._link) if self._link is not None else None
        if now is None or self._base is None:
            return self._past
        base = self._base
        return self._past + LinkRecord(
            sent=_more(now.sent, base.sent),
            resent=_more(now.resent, base.resent),
            received=_more(now.received, base.received),
            damaged=_more(now.damaged_here, base.damaged_here)
            + _more(now.damaged_there, base.damaged_there),
            lost_bytes=_more(now.bytes_lost_there, base.bytes_lost_there),
        )


class RecentTraffic:
    """Recent traffic only, so that a repaired line stops being reported."""

    def __init__(self) -> None:
        self._marks = [LinkRecord()]

    def of(self, total: LinkRecord) -> LinkRecord:
        """Return the traffic of the last one to two :data:`RECENT_MESSAGES` until ``total``."""
        since = total - self._marks[-1]
        if since.sent + since.received >= RECENT_MESSAGES:
            self._marks = [self._marks[-1], total]
        return total - self._marks[0]


def complaints(link: LinkRecord) -> Iterator[Note]:
    """Return notes on what is wrong with the line, for a person."""
    total = max(1, link.sent + link.received)
    if link.damaged >= FEWEST and link.damaged >= BAD_SHARE * total:
        share = f"{link.damaged / total:.1%}"
        yield Note.of("line-damaged", damaged=link.damaged, total=total, share=share)
    if link.lost_bytes >= FEWEST:
        yield Note.of("bytes-lost", count=link.lost_bytes)
    for code, count in (("paused", link.held), ("underrun", link.underruns), ("late", link.late)):
        if count:
            yield Note.of(code if count > 1 else f"{code}-once", count=count)


def _statistics(link: LinkGroup) -> SessionStatistics | None:
    with suppress(RobotError):
        return link.statistics
    return None


def _more(now: int, before: int) -> int:
    """Growth of a counter that begins anew when the board does."""
    return now - before if now >= before else now
