"""The fault campaign: whatever breaks, each turn is made once and in order, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from robot.link import Link
from robot.motion.schedule import MotionProfile, Schedule, TimedTurn
from robot.motion.stepper import stepper_move
from robot.text.faults import LinkError, RobotError
from tests.rig import simulated_time
from tests.rig.boards import LIMITS, Rig, running

DAMAGES = ("drop", "repeat", "insert", "flip", "reorder")


def staircase(lengths: list[int]) -> Schedule:
    """The pusher goes forth and back by lengths that tell the turns apart."""
    profiles: list[MotionProfile] = []
    turns: list[TimedTurn] = []
    clock = 0
    for length in lengths:
        for start, steps in ((0, length), (length, -length)):
            profile = stepper_move("pusher", start, steps, LIMITS)
            if profile not in profiles:
                profiles.append(profile)
            turns.append(TimedTurn(clock, profiles.index(profile)))
            clock += profile.duration_us
    return Schedule(tuple(profiles), tuple(turns), clock)


LENGTHS = [5, 9, 14, 5, 7, 9, 11, 5, 14, 7] * 6
PLAN = staircase(LENGTHS)
EXPECTED = [steps for length in LENGTHS for steps in (length, -length)]
LONG_PLAN = staircase([200] * 200)


@pytest.fixture
def link(rig: Rig) -> Link:
    """A link on which only the pusher is homed."""
    link: Link = rig.loop.run_until_complete(rig.homed_link("pusher"))
    return link


def disturb(rig: Rig, damage: str, rate: float) -> None:
    """Make the line a bad one, both ways."""
    rig.port.outwards.damage = getattr(simulated_time, damage)(rate)
    rig.port.inwards.damage = getattr(simulated_time, damage)(rate)


@pytest.mark.parametrize("rate", [0.01, 0.05])
@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_bad_line_costs_time_but_no_turn(
    link: Link, rig: Rig, damage: str, rate: float
) -> None:
    disturb(rig, damage, rate)
    execution = await link.run(PLAN)
    assert rig.pins.moves() == EXPECTED
    assert execution.turns_done == len(EXPECTED)
    if not execution.events:
        assert execution.executed_us == PLAN.duration_us
    assert link.statistics.resent > 0


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_bad_line_costs_homing_time_only(rig: Rig, damage: str) -> None:
    """What is told is waited for, though its frame is lost: a status before it says nothing."""
    link = rig.link()
    await link.open()
    await link.configure()
    disturb(rig, damage, 0.03)
    for _ in range(5):
        await link.home()
        assert link.ledger.position("turner") == 0
        assert 36 <= rig.pins.turner_steps <= 40


@pytest.mark.parametrize("rig", ["host_rig", "linux_rig", "uno"], indirect=True)
async def test_a_dead_host_leaves_the_robot_at_rest(link: Link, rig: Rig) -> None:
    """Nothing more is heard of the host: hold, then the safe state, latched."""
    run = await running(link, LONG_PLAN)
    rig.port.outwards.damage = simulated_time.silence
    with pytest.raises(RobotError) as caught:
        await run
    assert caught.value.code in ("link-lost", "host-lost")
    made = rig.pins.moves()
    assert all(abs(move) == 200 for move in made)
    rig.port.outwards.damage = simulated_time.nothing
    await link.open()
    await link.configure()
    assert rig.pins.moves() == made


async def test_an_emergency_stop_gets_through_a_bad_line(link: Link, rig: Rig) -> None:
    run = await running(link, LONG_PLAN)
    rig.port.outwards.damage = simulated_time.flip(0.05)
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


@pytest.mark.parametrize(
    ("pressed", "fault"),
    [
        (lambda _: False, "home-missing"),
        (lambda _: True, "home-stuck"),
    ],
)
async def test_a_broken_end_stop_is_named(rig: Rig, pressed: Any, fault: str) -> None:
    works = rig.pins.pressed
    rig.pins.pressed = pressed
    link = rig.link()
    await link.open()
    await link.configure()
    with pytest.raises(RobotError) as caught:
        await link.home(["turner"])
    assert (caught.value.code, caught.value.detail) == (fault, "turner")
    rig.pins.pressed = works
    rig.pins.turner_steps = 100
    await link.clear()
    await link.home()
