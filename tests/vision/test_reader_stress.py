"""Many synthetic scans: right at the first look, and never sure of a wrong cube."""

from __future__ import annotations

import numpy as np
import pytest

from tests.rig.scans import synthetic_scan
from vision.decide.reader import Unreadable, read_cube


def campaign(seeds, size, harsh=1.0):
    """Share read right and surely, seeds read wrong but surely."""
    right, wrong = 0, []
    for seed in seeds:
        scan = synthetic_scan(seed, size, harsh)
        try:
            reading = read_cube(scan.colours)
        except Unreadable:
            continue
        same = reading.facelets == scan.facelets
        right += same and reading.confident
        if reading.confident and not same:
            wrong.append(scan.about)
    return right / len(seeds), wrong


@pytest.mark.parametrize("size", [2, 3])
def test_first_looks(size):
    right, wrong = campaign(range(120), size)
    assert wrong == []
    assert right >= 0.98


@pytest.mark.parametrize("size", [5, 7])
def test_first_looks_at_large_cubes(size):
    right, wrong = campaign(range(12), size)
    assert wrong == []
    assert right >= 0.75


def test_stated_confidence_matches_how_often_it_is_right():
    """In harsh light, where many readings are unsure."""
    stated, right = [], []
    for seed in range(70):
        scan = synthetic_scan(seed, 3, harsh=3.0)
        try:
            reading = read_cube(scan.colours)
        except Unreadable:
            continue
        stated.append(1 / (1 + np.exp(-reading.margin)))
        right.append(reading.facelets == scan.facelets)
    assert len(right) > 50
    assert np.mean(right) == pytest.approx(np.mean(stated), abs=0.06)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_ten_thousand_first_looks():
    right, wrong = campaign(range(10_000), 3)
    assert wrong == []
    assert right >= 0.98
