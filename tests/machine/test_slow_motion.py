"""One actuator on its own: how slowly it goes, and how a motor gets back to its start."""

from __future__ import annotations

from typing import Any

import pytest

from robot.link import ServoSetup
from robot.machine.board_configuration import actuator_setups
from robot.machine.slow_motion import jog_profile, paths_to_start, require_within
from robot.motion.servo import servo_slew
from robot.settings import load_profile
from solver.errors import InvalidRequest

LID = next(one for one in actuator_setups(load_profile("cubotino")) if one.name == "lid")
TABLE: Any = next(one for one in actuator_setups(load_profile("mindcuber")) if one.name == "table")


def test_a_servo_takes_a_millisecond_for_each_microsecond() -> None:
    assert isinstance(LID, ServoSetup)
    assert jog_profile(LID, 1500, 1400) == servo_slew("lid", 1500, 1400, 100_000)
    assert jog_profile(LID, 1500, 1501) == servo_slew("lid", 1500, 1501, 1_000)
    assert jog_profile(LID, 1500, 1500) is None


@pytest.mark.parametrize(
    ("target", "is_within"), [(900, True), (2100, True), (899, False), (2101, False)]
)
def test_limits_are_kept(target: int, is_within: bool) -> None:
    if is_within:
        require_within("lid", target, 900, 2100, "us")
        assert jog_profile(LID, 1500, target) is not None
        return
    with pytest.raises(InvalidRequest, match=f"lid cannot go to {target} us: its limits are"):
        jog_profile(LID, 1500, target)
    with pytest.raises(InvalidRequest, match="table cannot go to"):
        jog_profile(TABLE, 0, 2**31)


@pytest.mark.parametrize(
    ("at", "turn", "exactly", "ways"),
    [
        (None, 1600, True, []),
        (100, None, True, []),
        (0, 1600, True, []),
        (-800, 1600, True, [0]),
        (-801, 1600, True, []),
        (800, 1600, True, [-17, 0]),
        (801, 1600, True, []),
        (-200, 1600, False, [-417, -400]),
        (-199, 1600, False, [0]),
        (199, 1592, False, [-17, 0]),
        (-200, 1592, False, []),
        (400, 1600, False, []),
        (399, 1600, False, [400]),
        (401, 1600, False, [383, 400]),
    ],
)
def test_the_way_back_ends_forwards(
    at: int | None, turn: int | None, exactly: bool, ways: list[int]
) -> None:
    assert TABLE.start == 0
    assert list(paths_to_start(TABLE, at, turn, exactly)) == ways
