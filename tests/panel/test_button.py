"""Presses, and hands on the pads, through bounce, mains pick-up and any polls and edges."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.panel.button import Button, Hands, Pads, Press

POLL_US, SETTLING_POLL_US = 5_000, 1_000


class Contact:
    """A contact's level over time: changes at given microseconds, open at the start."""

    def __init__(self, changes: list[int]) -> None:
        self.changes = sorted(changes)

    def level(self, time_us: int) -> bool:
        return sum(change <= time_us for change in self.changes) % 2 == 1

    @property
    def end(self) -> int:
        return (self.changes[-1] if self.changes else 0) + 200_000


def presses(contact: Contact, *, edges: bool, end: int | None = None) -> list[Press]:
    """What the button tells, polled as the panel does, with or without edges in between."""
    button, told, previous, time_us = Button(), [], -1, 0
    while time_us < (end or contact.end):
        if edges:
            for change in (c for c in contact.changes if previous < c <= time_us):
                button.edge(change)
        press = button.sample(contact.level(time_us), time_us)
        told += [press] if press else []
        previous = time_us
        time_us += SETTLING_POLL_US if button.settling else POLL_US
    return told


def bouncing(start: int, end: int, seed: int) -> list[int]:
    """Changes of a press from start to end whose contact bounces for up to 20 ms at both."""
    rng = random.Random(seed)

    def burst(at: int) -> list[int]:
        count = 2 * rng.randrange(0, 12)
        return sorted([at, *(at + rng.randrange(1, 20_000) for _ in range(count))])

    return burst(start) + burst(end)


@pytest.mark.parametrize("edges", [False, True])
@given(seed=st.integers(0, 10**6), held_ms=st.integers(60, 1450))
def test_a_bouncing_press_is_one_short_press(edges: bool, seed: int, held_ms: int) -> None:
    contact = Contact(bouncing(100_000, 100_000 + held_ms * 1000, seed))
    assert presses(contact, edges=edges) == [Press.SHORT]


@pytest.mark.parametrize("edges", [False, True])
@given(seed=st.integers(0, 10**6), held_ms=st.integers(1550, 4900))
def test_a_long_press(edges: bool, seed: int, held_ms: int) -> None:
    contact = Contact(bouncing(100_000, 100_000 + held_ms * 1000, seed))
    assert presses(contact, edges=edges) == [Press.LONG]


@pytest.mark.parametrize("edges", [False, True])
def test_a_very_long_press_is_told_when_it_ends(edges: bool) -> None:
    contact = Contact([100_000, 9_000_000])
    assert presses(contact, edges=edges, end=9_000_000) == []
    assert presses(contact, edges=edges) == [Press.VERY_LONG]


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("mains_hz", [50, 60])
@pytest.mark.parametrize("duty", [0.1, 0.5, 0.9])
def test_mains_pick_up_is_no_press(mains_hz: int, duty: float, edges: bool) -> None:
    period = 1_000_000 // mains_hz
    starts = range(50_000, 3_000_000, period)
    contact = Contact([c for start in starts for c in (start, start + int(period * duty))])
    assert presses(contact, edges=edges) == []


def test_a_click_shorter_than_bounce_is_no_press() -> None:
    assert presses(Contact([100_000, 115_000]), edges=False) == []


def test_two_presses_are_two() -> None:
    contact = Contact([100_000, 200_000, 300_000, 400_000])
    assert presses(contact, edges=True) == [Press.SHORT, Press.SHORT]


SECOND = 1_000_000


def test_when_to_let_go_is_known_after_five_seconds() -> None:
    button = Button()
    held = [
        (time_us, button.held_very_long)
        for time_us in range(0, 8 * SECOND, POLL_US)
        if button.sample(SECOND <= time_us < 7 * SECOND, time_us) or True
    ]
    told = [time_us for time_us, very_long in held if very_long]
    assert told[0] == pytest.approx(6 * SECOND, abs=50_000)
    assert told[-1] == pytest.approx(7 * SECOND, abs=50_000)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([0, 8 * SECOND], []),
        ([0, 8 * SECOND, 9 * SECOND, 15 * SECOND], []),
        ([0, 8 * SECOND, 30 * SECOND, 30 * SECOND + 100_000], [Press.SHORT]),
        ([SECOND, 17 * SECOND], []),
        ([SECOND, 17 * SECOND, 18 * SECOND, 24 * SECOND], []),
        ([SECOND, 17 * SECOND, 40 * SECOND, 46 * SECOND], [Press.VERY_LONG]),
    ],
)
def test_one_that_is_pressed_at_the_start_or_for_too_long_must_rest_first(
    changes: list[int], expected: list[Press]
) -> None:
    assert presses(Contact(changes), edges=False) == expected


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(50, 9_000), st.integers(50, 2_900)), min_size=1, max_size=5))
def test_one_of_the_other_polarity_does_nothing_however_it_is_touched(
    touches: list[tuple[int, int]],
) -> None:
    """It is pressed except while it is touched."""
    changes, time_us = [0], 0
    for untouched_ms, touched_ms in touches:
        changes += [time_us + untouched_ms * 1000, time_us + (untouched_ms + touched_ms) * 1000]
        time_us = changes[-1]
    assert presses(Contact(changes), edges=False) == []


def test_it_is_stuck_until_it_is_let_go() -> None:
    button, seen = Button(), []
    for time_us in range(0, 10 * SECOND, POLL_US):
        button.sample(time_us < SECOND or 2 * SECOND <= time_us < 3 * SECOND, time_us)
        seen.append(button.stuck)
    stuck = [POLL_US * at for at in range(1, len(seen)) if seen[at] != seen[at - 1]]
    assert stuck == pytest.approx([0, SECOND, 2 * SECOND, 3 * SECOND], abs=50_000)


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
