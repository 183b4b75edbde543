"""A line is judged by what went over it lately."""

from __future__ import annotations

from robot.link.group import RECENT_MESSAGES, RecentTraffic, complaints
from robot.records.runs import LinkRecord

GOOD = LinkRecord(sent=RECENT_MESSAGES // 4, received=RECENT_MESSAGES // 4)
BAD = GOOD + LinkRecord(damaged=60, late=1)


def test_a_mended_line_is_good_again_after_some_good_traffic() -> None:
    recent, total = RecentTraffic(), LinkRecord()
    for part in (GOOD, BAD, GOOD):
        total += part
        codes = [note.code for note in complaints(recent.of(total))]
        assert codes == ([] if total == GOOD else ["line-damaged", "late-once"])
    for _ in range(2 * RECENT_MESSAGES // (GOOD.sent + GOOD.received) + 1):
        total += GOOD
        told = list(complaints(recent.of(total)))
    assert told == []
    total += BAD
    assert list(complaints(recent.of(total))), "what is damaged anew is told at once"


def test_asking_often_loses_nothing() -> None:
    recent, total = RecentTraffic(), BAD
    for _ in range(10):
        assert recent.of(total).damaged == 60
