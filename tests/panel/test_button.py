"""Presses, and hands on the pads, through bounce, mains pick-up and any polls and edges."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.panel.button import Button, Hands, Pads, Press

POLL_US, SETTLING_POLL_US, SECOND = 5_000, 1_000, 1_000_000


class Contact:
    """A contact's level over time: changes at given microseconds, open at the start."""

    def __init__(self, changes: list[int]) -> None:
        self.changes = sorted(changes)

    def level(self, time_us: int) -> bool:
        return sum(change <= time_us for change in self.changes) % 2 == 1


def presses(contact: Contact, *, edges: bool = False) -> list[Press]:
    """Return the button's presses, polled as the panel does, with or without edges in between."""
    button, told, previous, time_us = Button(), [], -1, 0
    while time_us < contact.changes[-1] + 200_000:
        if edges:
            for change in (c for c in contact.changes if previous < c <= time_us):
                button.edge(change)
        press = button.sample(contact.level(time_us), time_us)
        told += [press] if press else []
        previous = time_us
        time_us += SETTLING_POLL_US if button.settling else POLL_US
    return told


def bouncing(start: int, end: int, seed: int) -> list[int]:
    """Return changes of a press whose contact bounces for up to 20 ms at both ends."""
    rng = random.Random(seed)

    def burst(at: int) -> list[int]:
        count = 2 * rng.randrange(0, 12)
        return sorted([at, *(at + rng.randrange(1, 20_000) for _ in range(count))])

    return burst(start) + burst(end)


@pytest.mark.parametrize("edges", [False, True])
@given(
    seed=st.integers(0, 10**6),
    press=st.one_of(
        st.tuples(st.just(Press.SHORT), st.integers(60, 1450)),
        st.tuples(st.just(Press.LONG), st.integers(1550, 4900)),
        st.tuples(st.just(Press.VERY_LONG), st.integers(5100, 8000)),
    ),
)
def test_a_bouncing_press_is_one_press(edges, seed, press):
    kind, held_ms = press
    contact = Contact(bouncing(100_000, 100_000 + held_ms * 1000, seed))
    assert presses(contact, edges=edges) == [kind]


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("mains_hz", [50, 60])
@pytest.mark.parametrize("duty", [0.1, 0.5, 0.9])
def test_mains_pick_up_is_no_press(mains_hz, duty, edges):
    period = SECOND // mains_hz
    starts = range(50_000, 3 * SECOND, period)
    contact = Contact([c for start in starts for c in (start, start + int(period * duty))])
    assert presses(contact, edges=edges) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([100_000, 115_000], []),  # shorter than bounce
        ([100_000, 200_000, 300_000, 400_000], [Press.SHORT, Press.SHORT]),
        # Pressed at the start, or for too long: it must rest first.
        ([0, 8 * SECOND], []),
        ([0, 8 * SECOND, 9 * SECOND, 15 * SECOND], []),
        ([0, 8 * SECOND, 30 * SECOND, 30 * SECOND + 100_000], [Press.SHORT]),
        ([SECOND, 17 * SECOND], []),
        ([SECOND, 17 * SECOND, 18 * SECOND, 24 * SECOND], []),
        ([SECOND, 17 * SECOND, 40 * SECOND, 46 * SECOND], [Press.VERY_LONG]),
    ],
)
def test_which_changes_are_presses(changes, expected):
    assert presses(Contact(changes)) == expected


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(50, 9_000), st.integers(50, 2_900)), min_size=1, max_size=5))
def test_one_of_the_other_polarity_does_nothing_however_it_is_touched(touches):
    """Invert the level: the button is pressed except while it is touched."""
    changes, time_us = [0], 0
    for untouched_ms, touched_ms in touches:
        changes += [time_us + untouched_ms * 1000, time_us + (untouched_ms + touched_ms) * 1000]
        time_us = changes[-1]
    assert presses(Contact(changes)) == []


@pytest.mark.parametrize(
    ("name", "pressed", "changes"),
    [
        ("held_very_long", [(SECOND, 7 * SECOND)], [6, 7]),
        ("stuck", [(0, SECOND), (2 * SECOND, 3 * SECOND)], [0, 1, 2, 3]),
    ],
)
def test_when_to_let_go_and_that_it_is_stuck_is_known_at_once(name, pressed, changes):
    button, seen = Button(), []
    for time_us in range(0, 10 * SECOND, POLL_US):
        button.sample(any(start <= time_us < end for start, end in pressed), time_us)
        seen.append(getattr(button, name))
    found = [POLL_US * at / SECOND for at in range(1, len(seen)) if seen[at] != seen[at - 1]]
    assert found == pytest.approx(changes, abs=0.05)


OFF, ONE, BOTH = (False, False), (True, False), (True, True)
LIFTED = [Hands.LAID, Hands.READY, Hands.LIFTED]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([(100, OFF), (200, ONE), (800, BOTH), (100, ONE), (100, OFF)], LIFTED),
        ([(100, OFF), (800, BOTH), (100, OFF), (800, BOTH), (100, OFF)], LIFTED * 2),
        ([(100, OFF), (700, BOTH), (15, OFF), (100, BOTH)], LIFTED[:2]),  # too short a gap
        ([(100, OFF), (400, BOTH), (500, OFF)], [Hands.LAID]),  # too short
        ([(100, OFF), (2000, ONE), (500, OFF)], []),  # one hand only
        ([(2000, BOTH), (500, OFF)], []),  # they lay there from the beginning
        ([(2000, BOTH), (500, OFF), (2000, BOTH), (500, OFF)], []),  # the other polarity
        ([(2000, ONE), (500, OFF), (2000, BOTH), (500, OFF)], []),  # a broken pad
        ([(100, OFF), *[(10, BOTH), (10, OFF)] * 100], []),  # mains pick-up
    ],
)
def test_hands_on_the_pads(samples, expected):
    """Hold each level for its milliseconds and sample it every 5 ms."""
    pads, now_us, told = Pads(2), 0, []
    for milliseconds, covered in samples:
        for _ in range(0, milliseconds, 5):
            now_us += 5_000
            told.append(pads.sample(covered, now_us))
    assert [hands for hands in told if hands] == expected


def test_a_pad_that_is_covered_for_too_long_is_stuck():
    pads = Pads(2)
    for now_us in range(0, 70 * SECOND, POLL_US):
        pads.sample((now_us > 5 * SECOND, False), now_us)
    assert pads.stuck == (True, False)
