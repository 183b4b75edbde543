"""A robot with two boards: it solves, whatever their clocks do, and no fault of one hurts."""

from __future__ import annotations

import pytest
from mishaps import assert_solved, rehearsal

from robot.settings import load_profile
from robot.simulate.boards import FASTEST_TOGETHER, at_board, own_firmware, require_pace
from robot.simulate.processes import DemoFault

QUARTZ = 1e-4
"""As much as the clocks of two boards may part: 100 ppm."""
BROKEN = 0.1
"""No clock is so bad; the simulated robot sees that arms at two boards are not in step."""


@pytest.mark.parametrize("skew", [QUARTZ, pytest.param(-QUARTZ, marks=pytest.mark.long)])
def test_boards_whose_clocks_part_solve_together(skew: float) -> None:
    with rehearsal("soltvvo", skew=skew) as r:
        verdict = r.solve()
    assert_solved(verdict)
    assert verdict.faults == []


@pytest.mark.long
def test_the_simulated_robot_sees_boards_that_are_out_of_step() -> None:
    with rehearsal("soltvvo", skew=BROKEN) as r:
        kinds = {violation.kind for violation in r.solve().violations}
    assert "turn-while-jaws-move" in kinds


def test_several_boards_share_a_time_that_only_some_firmwares_can_be_given() -> None:
    profile = load_profile("soltvvo")
    assert own_firmware(profile) == "host"
    assert at_board("avr", profile) is profile
    with pytest.raises(DemoFault, match="several boards, which linux cannot simulate"):
        at_board("linux", profile)


def test_several_boards_cannot_be_hurried() -> None:
    require_pace(load_profile("soltvvo"), FASTEST_TOGETHER)
    require_pace(load_profile("six-motor"), 50)
    with pytest.raises(DemoFault, match="--speed 2 at most"):
        require_pace(load_profile("soltvvo"), FASTEST_TOGETHER + 1)
