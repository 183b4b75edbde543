"""What makes up for play and springy layers reaches the pins, this computer's and the AVR's."""

from __future__ import annotations

from itertools import pairwise

import pytest

from robot.motion.servo import servo_slew
from robot.motion.stepper import stepper_move
from tests.rig.boards import LIMITS, Rig, in_turn

LID_PIN = 10
TICKS_PER_US = 2
FRAME_US = 20_000
BEYOND_US = 60
TRAVEL_US, BACK_US, SETTLE_US = 400_000, 100_000, 100_000


@pytest.fixture(params=["host_rig", "linux_rig", "uno"])
def board(request: pytest.FixtureRequest) -> Rig:
    """The firmware of this computer, and the Uno's."""
    return request.getfixturevalue(request.param)


def pulses_us(board: Rig, pin: int) -> list[float]:
    """Widths of the pulses at a pin, in their order."""
    edges = [(ticks, level) for ticks, at, level in board.pins.records if at == pin]
    return [(fall - rise) / TICKS_PER_US for (rise, level), (fall, _) in pairwise(edges) if level]


@pytest.mark.parametrize("target", [2000, 1000])
async def test_a_servo_goes_beyond_its_target_and_back(board: Rig, target: int) -> None:
    link = await board.homed_link("lid")
    before = len(pulses_us(board, LID_PIN))
    way = 1 if target > 1500 else -1
    slew = servo_slew("lid", 1500, target, TRAVEL_US, SETTLE_US, overshoot=(BEYOND_US, BACK_US))
    execution = await link.run(in_turn(slew))
    assert execution.executed_us == TRAVEL_US + BACK_US + SETTLE_US
    beyond = [way * (width - target) for width in pulses_us(board, LID_PIN)[before:]]
    a_frame_us = (500 + BEYOND_US) * FRAME_US / TRAVEL_US
    assert BEYOND_US - a_frame_us <= max(beyond) <= BEYOND_US + 1
    peak = beyond.index(max(beyond))
    assert all(after >= before - 1 for before, after in pairwise(beyond[:peak]))
    assert all(after <= before + 1 for before, after in pairwise(beyond[peak:]))
    settled = beyond[-SETTLE_US // FRAME_US :]
    assert max(map(abs, settled[1:])) <= 1


async def test_a_stepper_takes_up_its_play_and_springs_back(board: Rig) -> None:
    link = await board.homed_link("pusher")
    forth, back = (
        stepper_move("pusher", start, steps, LIMITS, overshoot_steps=6, backlash_steps=20)
        for start, steps in ((0, 100), (100, -100))
    )
    plan = in_turn(forth, back)
    execution = await link.run(plan)
    assert execution.executed_us == plan.duration_us
    assert board.pins.moves() == [106, -26, 20, -126, 26]
    assert link.ledger.position("pusher") == 0
