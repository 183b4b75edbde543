"""Many robots that were not built as drawn: what they find by themselves, and that they need to."""

from __future__ import annotations

import math
from statistics import quantiles

import pytest

from robot.settings import load_profile
from robot.twin.cube import scrambled
from robot.twin.misadjustment import Misadjustment
from tests.calibration.found import calibrated
from tests.virtual.rehearsal import Rehearsal

SEEDS = range(1, 51)
UNCALIBRATED = range(1, 21)


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
def test_every_robot_finds_its_positions_times_and_colours() -> None:
    outcomes = {seed: calibrated("cubotino", str(seed)) for seed in SEEDS}
    assert {seed: one.because for seed, one in outcomes.items() if one.solved < 2} == {}
    assert {seed: one.violations for seed, one in outcomes.items() if one.violations} == {}
    off = [abs(degrees) for one in outcomes.values() for degrees in one.off_degrees.values()]
    assert len(off) == 6 * len(SEEDS)
    assert quantiles(off, n=20)[-1] <= 2.0
    assert max(off) <= 4.0
    parts = [part for one in outcomes.values() for part in one.travel_parts]
    assert len(parts) == 3 * len(SEEDS)
    assert 1.0 <= min(parts) <= max(parts) <= 1.1
    assert max(one.took_s for one in outcomes.values()) <= 360


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 21))
def test_a_robot_built_twice_as_badly_is_calibrated_or_says_why_not(seed: int) -> None:
    outcome = calibrated("cubotino", f"{seed}:2")
    if outcome.because:
        assert outcome.kept_before_the_end == {}
        return
    assert outcome.solved == 2
    assert max(abs(off) for off in outcome.off_degrees.values()) <= 4.0


def solves_as_it_is(seed: int) -> bool:
    """Whether a robot solves a cube, and breaks nothing, with what its profile says."""
    profile = load_profile("cubotino")
    with Rehearsal(profile, scrambled(3, seed), misadjusted=Misadjustment(seed)) as rehearsal:
        verdict = rehearsal.solve()
    return verdict.solved and not verdict.violations


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_uncalibrated_at_most_a_fifth_of_them_solves_a_cube() -> None:
    solved = [seed for seed in UNCALIBRATED if solves_as_it_is(seed)]
    assert len(solved) <= math.floor(len(UNCALIBRATED) / 5), solved


def test_an_uncalibrated_robot_does_not_solve_its_cube() -> None:
    assert not solves_as_it_is(2)
