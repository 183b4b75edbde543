"""What drives have in common, and drives whose times are only stated."""

from __future__ import annotations

import pytest

from robot.motion.drive import Drive, drive_of
from robot.settings.actuators import Timed

TIMES = {"quarter_ms": 100, "half_ms": 160}
SLOWER = {"quarter_ms": 200, "half_ms": 300}


def timed(**more: object) -> Drive:
    return drive_of("jaw", Timed.model_validate({"kind": "timed"} | more))


@pytest.mark.parametrize(
    ("quarters", "held", "takes_ms"),
    [
        (1, False, 100),
        (-1, False, 100),
        (2, False, 160),
        (-3, False, 220),
        (1, True, 212),
        (2, True, 312),
        (3, True, 412),
    ],
)
def test_longer_rotations_go_on_as_from_a_quarter_to_a_half(
    quarters: int, held: bool, takes_ms: int
) -> None:
    drive = timed(free=TIMES, held=SLOWER, held_settle_ms=12)
    assert drive.rotation_us(quarters, held) == 1_000 * takes_ms


def test_a_load_that_makes_no_difference_is_not_stated() -> None:
    assert timed(free=TIMES, held_settle_ms=0).rotation_us(2, held=True) == 160_000


def test_what_is_left_of_a_turn_takes_its_share() -> None:
    drive = timed(free=TIMES, held_settle_ms=0)
    assert drive.angle_left_us(2, 45.0) == 40_000
    assert drive.angle_left_us(-1, 45.0) == 50_000


def test_what_a_drive_cannot_do_is_said_with_its_name() -> None:
    with pytest.raises(ValueError, match="jaw does not rotate"):
        timed().rotation_us(1, held=False)
    with pytest.raises(ValueError, match="jaw has no named positions"):
        timed().travel("open", "closed", held=False)


def test_a_way_takes_its_travel_and_its_rest() -> None:
    drive = timed(
        positions=("open", "hold", "closed"),
        travel=[
            {"between": ["open", "closed"], "ms": 100, "held_ms": 150},
            {"between": ["closed", "hold"], "ms": 40, "one_way": True},
        ],
        settle_ms={"closed": 20},
        held_settle_ms=5,
    )
    assert drive.travel_us("open", "closed", held=False) == 120_000
    assert drive.travel_us("closed", "open", held=False) == 100_000
    assert drive.travel_us("open", "closed", held=True) == 175_000
    assert drive.travel_us("closed", "hold", held=True) == 45_000
    assert drive.travel_us("hold", "closed", held=False) is None
