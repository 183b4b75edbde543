"""The link with the real firmware: home, run, stop, emergencies, and failures."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from robot.link import Link, ServoSetup, StepperSetup, TurnCheckSetup
from robot.link.plans import Capabilities
from robot.link.protocol import (
    HEARTBEAT_AT_REST_MS,
    VERSION,
    BoardState,
    ConfigEnd,
    Message,
    Ping,
    PlanBegin,
)
from robot.link.session import LOST_AFTER_S, LinkSession
from robot.link.wire import EMERGENCY_STOP, WireFrame
from robot.motion.schedule import Schedule, TimedTurn
from robot.motion.servo import servo_slew
from robot.motion.stepper import StepperLimits, stepper_move
from robot.settings.board_table import MAX_STEPS_PER_S
from robot.simulate.boards import nothing
from robot.text.faults import Fault, LinkError, RobotError, Stopped
from tests.rig.boards import (
    LIMITS,
    every_board,
    in_turn,
    is_fault,
    program,
    rig_of,
    running,
    to_and_fro,
)
from tests.rig.simulated_time import DAMAGES, silence

STEP_PIN, SERVO_PIN, LID_PIN = 6, 9, 10
BEYOND_US = 60
SETTLE_FRAMES = 5
BYTES_PER_S = 50_000
STACK_LEFT = 256
STARVING = 2_000_000 / 120
"""Steps/s of six motors that leave the main loop one instruction now and then."""


@pytest.mark.quick
@every_board
async def test_overlapping_motions_take_exactly_their_time(link, rig):
    """Let a servo overshoot its target, and a stepper take up its play twice."""
    slew = servo_slew("lid", 1500, 1000, 400_000, 100_001, overshoot=(BEYOND_US, 100_000))
    forth, back = (
        stepper_move("pusher", start, steps, LIMITS, overshoot_steps=6, backlash_steps=20)
        for start, steps in ((0, 100), (100, -100))
    )
    turner = stepper_move("turner", 0, 200, LIMITS, settle_us=3)
    starts_us = (0, 12_345, 12_345, 12_345 + max(forth.duration_us, turner.duration_us))
    turns = tuple(TimedTurn(start_us, number) for number, start_us in enumerate(starts_us))
    plan = Schedule((slew, forth, turner, back), turns, slew.duration_us)
    before, heard = len(rig.pins.pulses(LID_PIN)), list[float]()
    execution = await link.run(plan, heard.append)
    assert (execution.executed_us, execution.events) == (plan.duration_us, ())
    assert execution.turns_done == 4
    assert heard == sorted(heard) and heard[-1] == 1.0
    assert rig.pins.moves() == [106, -26, 20, -126, 26]
    assert link.ledger.position("pusher") == 0
    beyond = [1000 - ticks / 2 for _, ticks in rig.pins.pulses(LID_PIN)[before:]]
    a_frame_us = (500 + BEYOND_US) / 20
    assert BEYOND_US - a_frame_us <= max(beyond) <= BEYOND_US + 1
    peak = beyond.index(max(beyond))
    assert all(after >= before - 1 for before, after in pairwise(beyond[:peak]))
    assert all(after <= before + 1 for before, after in pairwise(beyond[peak:]))
    assert max(map(abs, beyond[-SETTLE_FRAMES + 1 :])) <= 1


@pytest.mark.parametrize("active_high", [False, True])
async def test_an_index_sensor_is_looked_at_without_homing_too(rig, active_high):
    """Activate the sensor at every hundredth step: turns may end only there."""
    rig.pins.active_high, rig.pins.turner_steps = active_high, 0
    rig.pins.pressed = lambda steps: steps % 100 == 0
    check = TurnCheckSetup(pin=5, every_steps=100, active_high=active_high)
    setups = tuple(
        replace(one, homing=None, check=check) if isinstance(one, StepperSetup) else one
        for one in rig.link().actuators
        if one.name != "pusher"
    )
    link = await rig.homed_link("turner", setups=setups)
    await link.run(in_turn(stepper_move("turner", 0, 100, LIMITS)))
    assert link.ledger.position("turner") == rig.pins.turner_steps == 100
    rig.pins.turner_steps -= 7
    with pytest.raises(RobotError, check=is_fault("not-in-place", "turner")):
        await link.run(in_turn(stepper_move("turner", 100, 100, LIMITS)))


async def test_homing_backwards_ends_ahead_of_the_load_by_its_play(host_rig):
    turner = next(one for one in host_rig.link().actuators if one.name == "turner")
    link = await host_rig.homed_link(setups=(replace(turner, backlash_steps=20),))
    assert link.ledger.homed == {"turner": 0}
    assert 56 <= host_rig.pins.turner_steps <= 60


async def test_stop_finishes_the_turn(link, rig):
    run = await running(link, to_and_fro(200))
    await link.stop()
    with pytest.raises(Stopped):
        await run
    status = await link.status()
    assert status.state == BoardState.IDLE and 0 < status.turns_done < 400
    assert len(rig.pins.rises(STEP_PIN)) == 100 * status.turns_done


def stop_at(kind: type[Message], link: Link, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stop once a message of that kind is queued, before all of it is sent. Return the stop."""
    stops, put = list[Any](), LinkSession.put

    def put_and_stop(session: LinkSession, messages: Iterable[Message]) -> None:
        queued = list(messages)
        put(session, queued)
        if not stops and any(isinstance(one, kind) for one in queued):
            stops.append(asyncio.create_task(link.stop()))

    monkeypatch.setattr(LinkSession, "put", put_and_stop)
    return stops


async def test_a_stop_ends_a_plan_that_has_not_reached_the_board(rig, monkeypatch):
    """Let an earlier link run one plan, too. Afterwards nothing of the new plan is at the board."""
    link = await rig.homed_link("pusher")
    await link.run(to_and_fro(1))
    await link.close()
    link = await rig.homed_link("pusher")
    plan = in_turn(*(stepper_move("pusher", by * (by - 1) // 2, by, LIMITS) for by in range(1, 9)))
    stops = stop_at(PlanBegin, link, monkeypatch)
    with pytest.raises(Stopped, match="before it began"):
        await asyncio.wait_for(link.run(plan), 5)
    await stops[0]
    assert (await link.run(plan)).turns_done == 8
    assert rig.pins.moves() == [100, -100, 36]


async def test_a_stop_lets_a_configuration_arrive_as_a_whole(rig, monkeypatch):
    link = await rig.homed_link("pusher")
    stops = stop_at(ConfigEnd, link, monkeypatch)
    await link.configure(anew=True)
    await stops[0]
    await link.home(["pusher"])


@every_board
async def test_emergency_stop_is_immediate_and_latched(rig):
    link = await rig.homed_link("pusher")
    run = await running(link, to_and_fro(200))
    await link.emergency_stop()
    with pytest.raises(RobotError, check=is_fault("emergency-stop")):
        await run
    steps = len(rig.pins.rises(STEP_PIN))
    with pytest.raises(RobotError):
        await link.run(to_and_fro(1))
    await link.clear()
    with pytest.raises(RobotError, check=is_fault("not-homed")):
        await link.run(to_and_fro(1))
    assert len(rig.pins.rises(STEP_PIN)) == steps
    await link.clear()
    await link.home(["pusher"])
    await link.run(to_and_fro(1))
    assert len(rig.pins.rises(STEP_PIN)) == steps + 200


@pytest.mark.parametrize("elsewhere", [False, True])
@every_board
async def test_a_clear_sent_before_an_emergency_stop_does_not_end_it(rig, elsewhere):
    """The host sends the clear again, even if the stop came from another program or port."""
    link = await rig.homed_link("pusher")
    await link.emergency_stop()
    rig.port.outwards.damage = silence
    clearing = asyncio.create_task(link.clear())
    await asyncio.sleep(0)
    rig.port.outwards.damage = nothing
    if elsewhere:
        rig.port.write(EMERGENCY_STOP)
    else:
        await link.emergency_stop()
    with pytest.raises(RobotError, match="mergency"):
        await clearing
    assert (await link.status()).fault == Fault.EMERGENCY_STOP
    await link.clear()
    await link.home(["pusher"])


async def test_a_stop_while_a_board_is_set_up_is_not_cleared_as_an_old_fault(host_rig):
    link = await host_rig.homed_link("pusher")
    run = await running(link, to_and_fro(200))
    configuring = asyncio.create_task(link.configure())
    await asyncio.sleep(0)
    host_rig.port.write(EMERGENCY_STOP)
    with pytest.raises(RobotError, match="mergency"):
        await configuring
    with pytest.raises(RobotError, match="mergency"):
        await run
    assert (await link.status()).fault == Fault.EMERGENCY_STOP


@pytest.mark.parametrize(
    ("rig", "action", "code"),
    [
        ("host_rig", "reset", "reset"),
        ("linux_rig", "reset", "reset"),
        ("uno", "reset", "reset"),
        ("uno", "hang", "hung"),
        pytest.param("pico", "reset", "reset", marks=pytest.mark.long),
        pytest.param("pico", "hang", "hung", marks=pytest.mark.long),
    ],
    indirect=["rig"],
)
async def test_a_reset_is_noticed(rig, action, code):
    """Press reset, or stop the main loop until the watchdog resets the chip."""
    link = await rig.homed_link("pusher")
    run = await running(link, to_and_fro(2000))
    getattr(rig.board, action)()
    if action == "hang":
        rig.board.hang()  # a second order changes nothing, and the loop can be repaired
    with pytest.raises(LinkError, check=is_fault(code)):
        await run
    await link.open()
    await link.configure()
    await link.home(["pusher"])
    plan = to_and_fro(1)
    assert (await link.run(plan)).executed_us == plan.duration_us
    assert rig.pins.resets == 2


async def test_a_dead_board_is_noticed_and_found_again(link, rig):
    run = await running(link, to_and_fro(2000))
    rig.board.running = False
    with pytest.raises(LinkError, check=is_fault("link-lost")):
        await run
    with pytest.raises(LinkError, check=is_fault("no-answer")):
        await link.open(patience_s=0.3)
    assert link.ledger.last_positions is None
    with pytest.raises(RobotError, match="not connected"):
        await link.status()
    rig.board.running = True
    await link.open()


async def test_at_rest_a_slow_heartbeat_keeps_everything(link, rig):
    await asyncio.sleep(2)
    heard, pulses = link.statistics.received, len(rig.pins.pulses(SERVO_PIN))
    await asyncio.sleep(10)
    assert link.statistics.received - heard == 20
    assert len(rig.pins.pulses(SERVO_PIN)) - pulses == pytest.approx(500, abs=1)
    execution = await link.run(to_and_fro(5))
    assert execution.turns_done == 10 and execution.events == ()
    await asyncio.sleep(10)
    rig.board.running = False
    await asyncio.sleep(LOST_AFTER_S + HEARTBEAT_AT_REST_MS / 1000)
    with pytest.raises(LinkError, check=is_fault("link-lost")):
        await link.status()


async def test_silence_of_the_host_holds_and_the_plan_goes_on(link, rig):
    schedule = to_and_fro(25)
    run = await running(link, schedule)
    rig.loop.pass_time(0.6)
    execution = await run
    assert execution.events[:1] == ("held",)
    assert execution.turns_done == 50
    assert execution.executed_us > schedule.duration_us
    assert len(rig.pins.rises(STEP_PIN)) == 5000


async def test_a_host_that_slept_too_long_gets_a_fault(link, rig):
    """Check that the board made itself safe meanwhile and the line is as good as ever."""
    run = await running(link, to_and_fro(200))
    rig.loop.pass_time(3.5)
    with pytest.raises(RobotError, check=is_fault("host-lost")):
        await run
    steps = len(rig.pins.rises(STEP_PIN))
    assert steps % 100 == 0
    await link.clear()
    await link.home()
    assert len(rig.pins.rises(STEP_PIN)) == steps + steps % 200
    await link.run(to_and_fro(1))
    assert len(rig.pins.rises(STEP_PIN)) == steps + steps % 200 + 200


async def test_a_board_of_another_protocol_is_named_with_both(host_rig, monkeypatch):
    of = Capabilities.of
    newer = {"protocol_version": VERSION + 1}
    monkeypatch.setattr(Capabilities, "of", lambda welcome: replace(of(welcome), **newer))
    text = f"{VERSION + 1}, expected {VERSION}"
    with pytest.raises(LinkError, match=text, check=is_fault("wrong-protocol")):
        await host_rig.link().open(1.0)


@pytest.mark.long
async def test_a_full_line_beside_steps_that_leave_no_time_takes_no_more_stack(uno, monkeypatch):
    """Send bytes faster than the receive interrupt ends, between steps without a pause."""
    monkeypatch.setattr("robot.link.link.check_plan", lambda *_, **__: None)
    limits = StepperLimits(start_speed=STARVING, max_speed=STARVING, acceleration=1e6)
    setups = tuple(
        StepperSetup(f"motor{pin}", step_pin=pin, direction_pin=8, limits=limits)
        for pin in range(2, 8)
    )
    moves = tuple(stepper_move(motor.name, 0, 2_000, limits) for motor in setups)
    turns = tuple(TimedTurn(0, number) for number in range(len(moves)))
    noise = WireFrame(254, 0, 0, Ping.TYPE).encode() * 100  # of another session

    async def flood() -> None:
        while True:
            uno.port.write(noise)
            await asyncio.sleep(len(noise) / BYTES_PER_S)

    flooding = asyncio.create_task(flood())
    with contextlib.suppress(RobotError):
        link = await uno.homed_link(setups=setups)
        await link.run(Schedule(moves, turns, moves[0].duration_us))
    flooding.cancel()
    assert uno.pins.stack_left >= STACK_LEFT


@pytest.mark.parametrize("target", ["atmega328p", "rp2040"])
def test_a_process_makes_the_steps_of_the_board_that_it_stands_for(target):
    fastest = MAX_STEPS_PER_S[target]
    limits = StepperLimits(start_speed=fastest, max_speed=fastest, acceleration=1e9)
    setup = StepperSetup("motor", step_pin=STEP_PIN, direction_pin=7, limits=limits)
    plan = in_turn(stepper_move("motor", 0, 1_000, limits))
    with rig_of(program("cubist-firmware-host"), "--stands-for", target) as rig:
        link = rig.loop.run_until_complete(rig.homed_link(setups=(setup,)))
        rig.loop.run_until_complete(link.run(plan))
        rises = rig.pins.rises(STEP_PIN)
    assert [later - rise for rise, later in pairwise(rises)] == [-(-2_000_000 // fastest)] * 999


async def test_actuators_without_room_at_the_board_are_named(linux_rig):
    setups = tuple(
        ServoSetup(f"servo{pin}", pin, minimum_us=500, maximum_us=2500, start_us=1500)
        for pin in range(2, 12)
    )
    with pytest.raises(RobotError, check=is_fault("bad-config")) as caught:
        await linux_rig.homed_link(setups=setups)
    assert caught.value.detail.endswith("drives 8 actuators: no room for servo10, servo11")


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_bad_line_costs_time_but_no_turn(host_rig, damage):
    """Wait for the report that is due; a status from before it is no substitute."""
    lengths = [5, 9, 14, 5, 7, 9, 11, 5, 14, 7]  # they identify the turns
    moves = [move for length in lengths for move in ((0, length), (length, -length))]
    plan = in_turn(*(stepper_move("pusher", *move, LIMITS) for move in moves), times=6)
    link = await host_rig.homed_link("pusher")
    for line in (host_rig.port.outwards, host_rig.port.inwards):
        line.damage = DAMAGES[damage](0.05)
    execution = await link.run(plan)
    assert host_rig.pins.moves() == [steps for _, steps in moves] * 6
    assert execution.turns_done == len(plan.turns)
    if not execution.events:
        assert execution.executed_us == plan.duration_us
    assert link.statistics.resent > 0
    for _ in range(3):
        await link.home()
        assert link.ledger.position("turner") == 0
        assert 36 <= host_rig.pins.turner_steps <= 40
