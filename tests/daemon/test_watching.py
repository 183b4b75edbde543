"""Finding a motion in a series of pictures."""

from __future__ import annotations

import numpy as np
import pytest

from robot.calibration.travel import Grey, motion_in

NOISE = 0.8


def pictures(positions: list[float], every_us: int = 10_000) -> list[tuple[int, Grey]]:
    """A bright bar at these places of a dark, noisy picture."""
    rng = np.random.default_rng(1)
    columns = np.arange(80)
    return [
        (
            number * every_us,
            (100 * np.clip(4 - np.abs(columns - at), 0, 1) + rng.normal(0, NOISE, (60, 80))).astype(
                np.float32
            ),
        )
        for number, at in enumerate(positions)
    ]


def test_a_motion_is_found_between_its_pictures() -> None:
    seen = motion_in(pictures([20.0] * 10 + [20.0 + step for step in range(1, 31)] + [50.0] * 10))
    assert seen is not None
    assert seen.ended_us - seen.began_us == pytest.approx(300_000, abs=seen.within_us)
    assert seen.within_us == 10_000


@pytest.mark.parametrize(
    "positions",
    [
        [20.0] * 40,
        [20.0] * 10 + [20.0 + step for step in range(30)],
        [20.0] * 10 + [60.0] + [20.0] * 20,
        [20.0] * 10 + [21.0, 22.0, 23.0] + [23.0] * 9 + [24.0, 25.0, 26.0] + [26.0] * 10,
    ],
    ids=["still", "no end", "a glimpse", "out of sight on the way"],
)
def test_what_is_not_a_motion_from_beginning_to_end(positions: list[float]) -> None:
    assert motion_in(pictures(positions)) is None
