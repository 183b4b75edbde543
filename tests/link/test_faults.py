"""The fault campaign: whatever breaks, each turn is made once and in order, or not at all."""

from __future__ import annotations

import pytest

from robot.link import Link
from robot.motion.schedule import Schedule
from robot.motion.stepper import stepper_move
from robot.simulate.boards import nothing
from robot.text.faults import LinkError, RobotError
from tests.rig.boards import LIMITS, Rig, in_turn, running, to_and_fro
from tests.rig.simulated_time import DAMAGES, silence

LENGTHS = [5, 9, 14, 5, 7, 9, 11, 5, 14, 7]
"""By which the turns of a plan are told apart."""
PLAN: Schedule = in_turn(
    *(
        stepper_move("pusher", start, steps, LIMITS)
        for length in LENGTHS
        for start, steps in ((0, length), (length, -length))
    ),
    times=6,
)
EXPECTED = [steps for length in LENGTHS for steps in (length, -length)] * 6
LONG_PLAN = to_and_fro(200, steps=200)


@pytest.fixture
def link(rig: Rig) -> Link:
    """A link on which only the pusher is homed."""
    link: Link = rig.loop.run_until_complete(rig.homed_link("pusher"))
    return link


@pytest.mark.parametrize("rig", ["host_rig"], indirect=True)
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_bad_line_costs_time_but_no_turn(link: Link, rig: Rig, damage: str) -> None:
    """What is told is waited for, though its frame is lost: a status before it says nothing."""
    for line in (rig.port.outwards, rig.port.inwards):
        line.damage = DAMAGES[damage](0.05)
    execution = await link.run(PLAN)
    assert rig.pins.moves() == EXPECTED
    assert execution.turns_done == len(EXPECTED)
    if not execution.events:
        assert execution.executed_us == PLAN.duration_us
    assert link.statistics.resent > 0
    for _ in range(3):
        await link.home()
        assert link.ledger.position("turner") == 0
        assert 36 <= rig.pins.turner_steps <= 40


async def test_a_dead_host_leaves_the_robot_at_rest(link: Link, rig: Rig) -> None:
    """Nothing more is heard of the host: hold, then the safe state, latched."""
    run = await running(link, LONG_PLAN)
    rig.port.outwards.damage = silence
    with pytest.raises(RobotError) as caught:
        await run
    assert caught.value.code in ("link-lost", "host-lost")
    made = rig.pins.moves()
    assert all(abs(move) == 200 for move in made)
    rig.port.outwards.damage = nothing
    await link.open()
    await link.configure()
    assert rig.pins.moves() == made


async def test_an_emergency_stop_gets_through_a_bad_line(link: Link, rig: Rig) -> None:
    run = await running(link, LONG_PLAN)
    rig.port.outwards.damage = DAMAGES["flip"](0.05)
    rig.port.write(bytes(3000))
    await link.emergency_stop()
    with pytest.raises(RobotError) as caught:
        await run
    assert caught.value.code == "emergency-stop"


async def test_a_pulled_cable_is_noticed_and_found_again(link: Link, rig: Rig) -> None:
    run = await running(link, LONG_PLAN)
    rig.port.unplug()
    with pytest.raises(LinkError) as caught:
        await run
    assert caught.value.code == "link-lost"
    with pytest.raises(LinkError) as caught:
        await link.open()
    assert caught.value.code == "port-missing"
    rig.port.plug()
    await link.open()
    await link.configure()
    made = rig.pins.moves()
    assert made and all(abs(move) == 200 for move in made)
    await link.home(["pusher"])
    await link.run(PLAN)
    assert rig.pins.moves()[-len(EXPECTED) + 1 :] == EXPECTED[1:]
