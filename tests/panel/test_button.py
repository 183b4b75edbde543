"""Presses through bounce, mains pick-up, and whatever mixture of polls and edges."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.panel.button import Button, Press

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
def test_a_very_long_press_is_told_while_it_is_held_and_only_once(edges: bool) -> None:
    contact = Contact([100_000, 9_000_000])
    assert presses(contact, edges=edges, end=5_100_000) == []
    assert presses(contact, edges=edges, end=5_200_000) == [Press.VERY_LONG]
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


def test_a_button_held_at_the_start_is_ignored_until_it_was_let_go() -> None:
    assert presses(Contact([0, 8_000_000]), edges=False) == []
    assert presses(Contact([0, 100_000, 300_000, 400_000]), edges=False) == [Press.SHORT]
