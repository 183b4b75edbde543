"""Every real set, as it is and with its pictures turned, exchanged and mirrored."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from tests.rig.scans import FOLDERS, known_sets, mistakes, outcome, photo_sets, reading_of, scans
from vision.decide.reader import read_cube

pytestmark = pytest.mark.skipif(len(FOLDERS) < 2, reason="no real scans beside the checkout")


def test_photographs_are_read_right() -> None:
    found = {real.name: reading_of(real) for real in photo_sets(2, 3)}
    assert len(found) == 24
    assert sum(result == "right" for result in found.values()) >= 23, found
    assert set(found.values()) <= {"right", "unsure"}, found


def test_scans_are_read_right_or_left_open() -> None:
    found = {real.name: reading_of(real) for real in scans(2, 3) if not real.corrupt}
    # In one of them red and orange cannot be told apart.
    assert Counter(found.values())["right"] >= len(found) - 4, found
    assert sum(result in ("right", "unsure") for result in found.values()) >= len(found) - 1, found
    assert "wrong" not in found.values(), found


def test_a_shadowed_sticker_is_one_to_look_at_again() -> None:
    (real,) = (real for real in scans(3) if "random-11-rcr" in real.name)
    reading = read_cube(real.colours)
    assert (reading.facelets, reading.confident) == (real.truth, False)
    assert (reading.doubtful, reading.look_again) == (("B3",), "B")


def test_altered_scans_are_never_surely_wrong() -> None:
    """Some mistakes for each scan, others for the next."""
    every = list(mistakes())
    counts: Counter[str] = Counter()
    for number, real in enumerate(real for real in scans(2, 3) if not real.corrupt):
        for mistake in islice(every, 7 * number % 37, None, 37):
            result = outcome(real.colours, real.truth, mistake)
            assert result != "wrong", (real.name, mistake.mistakes)
            counts[result] += 1
    assert counts["right"] > 0.7 * counts.total(), counts


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7])
def test_every_set_with_every_mistake(size: int) -> None:
    counts: Counter[str] = Counter()
    for real in known_sets(size):
        for mistake in mistakes():
            result = outcome(real.colours, real.truth, mistake)
            assert result != "wrong", (real.name, mistake.mistakes)
            counts[result] += 1
    assert counts["right"] > 0.5 * counts.total(), counts
