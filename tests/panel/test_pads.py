"""Two touch pads: hands that lie there long enough and are lifted start; nothing else does."""

from __future__ import annotations

import pytest

from robot.panel.button import Hands, Pads

Samples = list[tuple[int, tuple[bool, bool]]]
OFF, ONE, BOTH = (False, False), (True, False), (True, True)


def told(samples: Samples) -> list[Hands]:
    """What is told when each level is held for its milliseconds, looked at every 5 ms."""
    pads, now_us, found = Pads(2), 0, []
    for milliseconds, covered in samples:
        for _ in range(0, milliseconds, 5):
            now_us += 5_000
            hands = pads.sample(covered, now_us)
            if hands is not None:
                found.append(hands)
    return found


def test_hands_laid_on_and_lifted() -> None:
    samples = [(100, OFF), (200, ONE), (800, BOTH), (100, ONE), (100, OFF)]
    assert told(samples) == [Hands.LAID, Hands.READY, Hands.LIFTED]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([(100, OFF), (400, BOTH), (500, OFF)], [Hands.LAID]),  # too short
        ([(100, OFF), (2000, ONE), (500, OFF)], []),  # one hand only
        ([(2000, BOTH), (500, OFF)], []),  # they lay there from the beginning
        ([(2000, BOTH), (500, OFF), (2000, BOTH), (500, OFF)], []),  # the other polarity
        ([(2000, ONE), (500, OFF), (2000, BOTH), (500, OFF)], []),  # a broken pad
        ([(100, OFF), *[(10, BOTH), (10, OFF)] * 100], []),  # mains pick-up
    ],
)
def test_what_does_not_start(samples: Samples, expected: list[Hands]) -> None:
    assert told(samples) == expected


def test_a_short_gap_is_no_lifting() -> None:
    samples = [(100, OFF), (700, BOTH), (15, OFF), (100, BOTH)]
    assert told(samples) == [Hands.LAID, Hands.READY]


def test_they_can_be_used_again() -> None:
    once = [(100, OFF), (800, BOTH)]
    expected = [Hands.LAID, Hands.READY, Hands.LIFTED]
    assert told([*once, *once, (100, OFF)]) == expected * 2


def test_a_pad_that_is_covered_for_too_long_is_stuck() -> None:
    pads = Pads(2)
    for now_us in range(0, 70_000_000, 5_000):
        pads.sample((now_us > 5_000_000, False), now_us)
    assert pads.stuck == (True, False)
