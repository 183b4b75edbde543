"""The fault campaign, by the simulated robot's verdict: nothing unsafe ever happens, the daemon
says what is wrong, and after the remedy the same cube is solved by looking at it again.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from robot.api.endpoints import RobotState
from robot.link import Link
from robot.link.plans import WirePlan
from robot.link.protocol import Go, Message
from robot.link.session import LinkSession
from robot.motion.schedule import Schedule
from robot.settings import RobotProfile, load_profile
from robot.twin.cube import scrambled
from tests.rig import simulated_time
from tests.rig.fault_campaign import (
    EARLY_S,
    STOPPED_DEAD,
    assert_solved,
    corrupted_emergency_stops,
    cut_all_power,
    cut_the_power_of_the_board,
    flip_every_bit,
    hang,
    jam,
    jam_for_a_moment,
    leave_the_record_open,
    lose_all_acknowledgements,
    lose_steps,
    mend_the_line,
    pull_the_plug_for_good,
    reset,
    simulated_run,
    speak_for_an_old_session,
    stop_in_order,
    stop_the_host,
    unplug,
    with_sensors,
    wrap_sequence_numbers,
)
from tests.rig.simulated_run import SimulatedRun, TimedFault, Verdict

PLAY = 30


@pytest.mark.parametrize(
    "stage", [pytest.param(RobotState.SCANNING, marks=pytest.mark.long), RobotState.TURNING]
)
@pytest.mark.parametrize(
    ("action", "named"), [(reset, "reset"), (unplug, "link-lost"), (stop_the_host, None)]
)
@pytest.mark.parametrize(
    "profile", ["cubotino", pytest.param("two-arm", marks=pytest.mark.long), "sensors"]
)
def test_the_same_cube_is_solved_in_the_same_job(
    profile: str, action: Callable[[SimulatedRun], None], named: str | None, stage: RobotState
) -> None:
    if profile == "sensors":
        after_s, stage = EARLY_S, RobotState.TURNING  # it need not move to look
    else:
        after_s = 3.0
    with simulated_run(profile, TimedFault(action, stage, after_s)) as r:
        verdict = r.solve()
    assert_solved(verdict)
    assert verdict.faults == ([named] if named else [])


def cable_moments() -> list[Any]:
    """Times into the turns of gripper robots; most are for the long campaigns."""
    return [
        pytest.param(
            profile, round(number * step_s, 2), marks=[pytest.mark.long] * (number > everyday)
        )
        for profile, everyday, step_s in (("four-arm", 1, 0.4), ("two-arm", 1, 1.3))
        for number in range(1, 13)
    ]


@pytest.mark.parametrize(("profile", "after_s"), cable_moments())
def test_grippers_go_home_from_wherever_they_were_left(profile: str, after_s: float) -> None:
    with simulated_run(profile, TimedFault(unplug, RobotState.TURNING, after_s)) as r:
        verdict = r.solve()
    assert_solved(verdict)
    assert verdict.faults == ["link-lost"]


@pytest.mark.parametrize(
    "after_s",
    [
        pytest.param(round(0.4 * number, 1), marks=[pytest.mark.long] * (number != 9))
        for number in range(1, 60)
    ],
)
def test_a_layer_that_a_power_cut_caught_half_turned_is_squared_first(after_s: float) -> None:
    with simulated_run(
        "cubotino", TimedFault(cut_the_power_of_the_board, RobotState.TURNING, after_s)
    ) as r:
        verdict = r.solve()
    assert_solved(verdict)
    assert verdict.faults == ["link-lost"]


def test_a_power_cut_leaves_motors_without_end_stops_to_a_person() -> None:
    with simulated_run("six-motor", TimedFault(cut_the_power_of_the_board, after_s=0.35)) as r:
        verdict = r.solve()
        assert (verdict.violations, verdict.state) == ((), RobotState.FAULT)
        assert verdict.faults == ["link-lost", "reset"]
        assert "square by hand" in verdict.record.faults[-1].remedy
        r.robot.set_square()
        assert_solved(r.solve())


@pytest.mark.parametrize(
    ("profile", "after_s", "excused"),
    [
        # The lid lets go of a layer that is half turned: what it was doing is not known any more.
        ("cubotino", 5.0, frozenset({"layer-not-square"})),
        pytest.param("sensors", 0.4, frozenset(), marks=pytest.mark.long),
        pytest.param("two-arm", 3.0, frozenset(), marks=pytest.mark.long),
    ],
)
def test_after_a_power_cut_of_everything_the_next_start_is_clean(
    profile: str, after_s: float, excused: frozenset[str]
) -> None:
    with simulated_run(profile, TimedFault(cut_all_power, RobotState.TURNING, after_s)) as r:
        assert r.solve().record.outcome == "fault"
        r.port.plug()
        assert_solved(r.solve(), excused)


@pytest.mark.parametrize(
    ("profile", "firmware"), [("cubotino", "host"), ("sensors", "host"), ("sensors", "avr")]
)
def test_an_emergency_stop_is_obeyed_and_told(profile: str, firmware: str) -> None:
    fault = TimedFault(corrupted_emergency_stops, after_s=EARLY_S)
    with simulated_run(profile, fault, firmware=firmware) as r:
        verdict = r.solve()
        assert (verdict.state, verdict.fault) == (RobotState.FAULT, "emergency-stop")
        assert_solved(r.solve(), STOPPED_DEAD)


@pytest.mark.parametrize(
    "profile", ["cubotino", pytest.param("mindcuber", marks=pytest.mark.long), "sensors"]
)
def test_a_killed_host_leaves_a_robot_that_its_successor_goes_on_with(profile: str) -> None:
    with simulated_run(profile, TimedFault(pull_the_plug_for_good, after_s=EARLY_S)) as r:
        assert r.solve().record.outcome == "fault"
        r.loop.pass_time(5.0)
        r.port.plug()
        assert_solved(r.solve())


def test_a_motor_without_end_stop_caught_in_motion_is_left_to_a_person() -> None:
    with simulated_run("six-motor", TimedFault(reset, after_s=EARLY_S)) as r:
        verdict = r.solve()
        assert verdict.violations == () and verdict.faults == ["reset"]
        assert verdict.state is RobotState.FAULT
        assert "square by hand" in verdict.record.faults[0].remedy
        r.robot.set_square()
        assert_solved(r.solve())


@pytest.mark.parametrize(
    ("damage", "rate"),
    [
        pytest.param(damage, rate, marks=[pytest.mark.long] * (rate < 0.05 or damage == "repeat"))
        for damage in ("drop", "repeat", "insert", "flip", "reorder")
        for rate in (0.01, 0.05)
    ],
)
def test_a_bad_line_solves_all_the_same(damage: str, rate: float) -> None:
    with simulated_run("six-motor") as r:
        r.port.outwards.damage = getattr(simulated_time, damage)(rate)
        r.port.inwards.damage = getattr(simulated_time, damage)(rate)
        assert_solved(r.solve())


def test_a_jam_is_caught_after_the_turn() -> None:
    with simulated_run("sensors", TimedFault(jam, after_s=EARLY_S)) as r:
        verdict = r.solve()
        assert verdict.violations == ()
        assert verdict.state is RobotState.FAULT and verdict.faults[0] == "not-in-place"
        assert (verdict.record.outcome, verdict.record.attempts) == ("jammed", 2)
        assert "front" in verdict.record.reason
        r.robot.jam("front", jammed=False)
        assert_solved(r.solve())


def test_a_policy_of_no_retries_asks_at_once() -> None:
    document = with_sensors().model_dump(mode="json", exclude_unset=True)
    profile = RobotProfile.model_validate(document | {"policy": {"solve_retries": 0}})
    with SimulatedRun(
        profile, scrambled(3, 1), faults=[TimedFault(lose_steps, after_s=EARLY_S)]
    ) as r:
        verdict = r.solve()
        assert (verdict.record.outcome, verdict.record.attempts) == ("jammed", 1)
        assert (verdict.state, verdict.fault) == (RobotState.FAULT, "not-in-place")
        assert verdict.record.faults[0].remedy
        assert_solved(r.solve())


@pytest.mark.parametrize("action", [jam_for_a_moment, lose_steps])
def test_what_was_missed_in_a_turn_is_made_good(action: Callable[[SimulatedRun], None]) -> None:
    with simulated_run("sensors", TimedFault(action, after_s=EARLY_S)) as r:
        verdict = r.solve()
        assert_solved(verdict)
        assert verdict.faults == ["not-in-place"]


@pytest.mark.parametrize(("active", "named"), [(False, "home-missing"), (True, "home-stuck")])
def test_a_broken_sensor_is_named_before_anything_turns(active: bool, named: str) -> None:
    with simulated_run("sensors") as r:
        r.robot.stick_end_stop("left", active)
        verdict = r.solve()
        assert verdict.violations == ()
        assert (verdict.state, verdict.fault) == (RobotState.FAULT, named)
        assert (verdict.record.outcome, verdict.record.attempts) == ("jammed", 2)
        assert "left" in verdict.record.reason
        r.robot.stick_end_stop("left", None)
        assert_solved(r.solve())


@pytest.mark.parametrize(
    ("action", "named"),
    [
        pytest.param(reset, ["reset"], marks=pytest.mark.quick),
        (hang, ["hung"]),
        pytest.param(stop_the_host, [], marks=pytest.mark.long),
        pytest.param(unplug, ["link-lost"], marks=pytest.mark.long),
        pytest.param(jam_for_a_moment, ["not-in-place"], marks=pytest.mark.long),
    ],
)
def test_the_real_program_on_the_chip(
    action: Callable[[SimulatedRun], None], named: list[str]
) -> None:
    with simulated_run("sensors", TimedFault(action, after_s=EARLY_S), firmware="avr") as r:
        verdict = r.solve()
        assert_solved(verdict)
        assert verdict.faults == named


def with_play(made_up_for: bool) -> RobotProfile:
    """The six-motor robot with worn couplings, and whether its profile knows."""
    document = load_profile("six-motor").model_dump(mode="json", exclude_unset=True)
    for motor in document["actuators"].values():
        motor["backlash_steps"] = PLAY if made_up_for else 0
        motor["overshoot_steps"] = 6
    document["simulation"] = {
        "actuators": {name: {"play_steps": PLAY} for name in document["actuators"]}
    }
    return RobotProfile.model_validate(document)


def test_play_that_is_made_up_for_does_no_harm() -> None:
    with SimulatedRun(with_play(made_up_for=True), scrambled(3, 1)) as r:
        assert_solved(r.solve())


def test_play_that_nobody_knows_of_leaves_layers_askew() -> None:
    with SimulatedRun(with_play(made_up_for=False), scrambled(3, 1)) as r:
        verdict = r.solve()
    assert "layers-collide" in {violation.kind for violation in verdict.violations}


def test_a_program_that_does_not_start_leaves_nothing_open(tmp_path: Path) -> None:
    before = sorted(entry.name for entry in Path("/proc/self/fd").iterdir())
    with pytest.raises(FileNotFoundError) as caught:
        simulated_time.VirtualBoard([tmp_path / "absent"])
    after = sorted(entry.name for entry in Path("/proc/self/fd").iterdir())
    assert after == before, caught.value


UNO_QUEUE_BYTES, UNO_PROFILE_UNITS = 320, 61
PUT = LinkSession.put
LATE_S = 0.3
FINER = 16
TOO_MANY_STEPS_PER_S = 80_000

FaultAction = Callable[[SimulatedRun], None]
EVERY_S = {"four-arm": 0.65, "two-arm": 3.2, "no-sensors": 0.2, "two-arm-2x2x2": 0.8}
"""Of gripper robots: twelve times this are nearly all turns of a solve."""
EVERYDAY = 4
WITHOUT_END_STOPS = ("four-arm", "no-sensors")
HALF_OPEN = frozenset({"turn-while-jaws-move", "cube-hits-jaws"})
"""What jaws do that stand half open where nobody knows it."""
FIRMWARES = [
    "host",
    pytest.param(
        "avr",
        marks=pytest.mark.skipif(
            shutil.which("avr-gcc") is None, reason="needs avr-gcc (Debian: gcc-avr avr-libc)"
        ),
    ),
]


def moments(*everyday: str) -> list[Any]:
    """Gripper robots and times into their turns; all but a few are for the long campaigns."""
    return [
        pytest.param(
            profile,
            round(number * every_s, 2),
            marks=[pytest.mark.long] * (profile not in everyday or number != EVERYDAY),
        )
        for profile, every_s in EVERY_S.items()
        for number in range(1, 13)
    ]


@pytest.mark.parametrize(
    ("profile", "action"),
    [
        ("sensors", wrap_sequence_numbers),
        ("sensors", speak_for_an_old_session),
        ("cubotino", flip_every_bit),
    ],
)
def test_what_is_on_the_line_makes_no_turn_and_costs_none(
    profile: str, action: FaultAction
) -> None:
    with simulated_run(profile, TimedFault(action, after_s=EARLY_S)) as r:
        verdict = r.solve()
    assert_solved(verdict)
    assert verdict.faults == []


def assert_solved_at_last(r: SimulatedRun) -> None:
    """By the next job, or already by turns that the board had and made when it was not heard."""
    assert r.solve().record.outcome in {"solved", "already-solved"}
    assert r.robot.solved and not r.robot.violations


@pytest.mark.parametrize("profile", ["sensors", pytest.param("cubotino", marks=pytest.mark.long)])
def test_without_acknowledgements_the_link_is_lost_by_name(profile: str) -> None:
    with simulated_run(profile, TimedFault(lose_all_acknowledgements, after_s=EARLY_S)) as r:
        verdict = r.solve()
        assert verdict.violations == ()
        assert (verdict.state, verdict.faults) == (RobotState.FAULT, ["link-lost", "no-answer"])
        mend_the_line(r)
        assert_solved_at_last(r)


@pytest.mark.parametrize("profile", ["sensors", pytest.param("cubotino", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("damage", "rate"),
    [
        pytest.param(damage, rate, marks=[pytest.mark.long] * (rate < 0.3 or damage != "drop"))
        for damage in ("drop", "repeat", "insert", "flip", "reorder")
        for rate in (0.1, 0.2, 0.3)
    ],
)
def test_a_hopeless_line_is_given_up_by_name(profile: str, damage: str, rate: float) -> None:
    def spoil(r: SimulatedRun) -> None:
        r.port.outwards.damage = getattr(simulated_time, damage)(rate)
        r.port.inwards.damage = getattr(simulated_time, damage)(rate)

    with simulated_run(profile, TimedFault(spoil, after_s=EARLY_S)) as r:
        verdict = r.solve()
        assert verdict.violations == ()
        if verdict.record.outcome != "solved":
            assert verdict.state is RobotState.FAULT
            assert verdict.fault in {"link-lost", "no-answer", "host-lost"}
            mend_the_line(r)
            assert_solved_at_last(r)


def send_the_rest_late(session: LinkSession, messages: Iterable[Message]) -> None:
    """In place of :meth:`LinkSession.put`: what follows the start of a plan waits."""
    every = list(messages)
    cut = next((n + 1 for n, message in enumerate(every) if isinstance(message, Go)), len(every))
    PUT(session, every[:cut])
    if every[cut:]:
        asyncio.get_running_loop().call_later(LATE_S, PUT, session, every[cut:])


@pytest.mark.parametrize("firmware", FIRMWARES)
def test_a_queue_that_runs_dry_waits_for_more(
    monkeypatch: pytest.MonkeyPatch, firmware: str
) -> None:
    """Two turns are there when the plan starts; the others come when these have long ended."""
    monkeypatch.setattr("robot.link.plans.PIECE", 5)
    monkeypatch.setattr("robot.link.link._fitting", lambda *_: 2)
    monkeypatch.setattr(LinkSession, "put", send_the_rest_late)
    with simulated_run("sensors", firmware=firmware) as r:
        verdict = r.solve()
    assert_solved(verdict)
    assert verdict.faults == []
    assert verdict.record.link is not None and verdict.record.link.underruns > 0


def test_a_bouncing_end_stop_is_found_where_it_is() -> None:
    with simulated_run("sensors") as r:
        r.robot.bounce_end_stop("left", 6)
        verdict = r.solve()
    assert_solved(verdict)
    assert verdict.faults == []


def too_fast() -> RobotProfile:
    """The robot with sensors, its motors divided so finely that the chip cannot keep up."""
    document = with_sensors().model_dump(mode="json", exclude_unset=True)
    for motor in document["actuators"].values():
        motor["steps_per_turn"] *= FINER
        motor["turn_check"]["every_steps"] *= FINER
        motor["start_speed_steps_per_s"] = motor["max_speed_steps_per_s"] = TOO_MANY_STEPS_PER_S
        motor["max_acceleration_steps_per_s2"] = 1_000_000
    return RobotProfile.model_validate(document)


@pytest.mark.parametrize("firmware", FIRMWARES[1:])
def test_more_steps_than_the_chip_can_make_end_by_name(
    monkeypatch: pytest.MonkeyPatch, firmware: str
) -> None:
    """The host's check is left out; the remedy is to ask for less."""
    monkeypatch.setattr("robot.link.link.check_plan", lambda *_, **__: None)
    with SimulatedRun(too_fast(), scrambled(3, 1), firmware=firmware) as r:
        verdict = r.solve()
        assert verdict.state is RobotState.FAULT and verdict.fault in {"overload", "hung"}
        assert {violation.kind for violation in verdict.violations} <= STOPPED_DEAD
        body = r.robot.body
    with SimulatedRun(with_sensors(), body, firmware=firmware) as r:
        assert_solved(r.solve())


@pytest.mark.parametrize("firmware", FIRMWARES[1:])
def test_a_killed_host_leaves_the_chip_to_its_successor(firmware: str) -> None:
    fault = TimedFault(pull_the_plug_for_good, after_s=EARLY_S)
    with simulated_run("sensors", fault, firmware=firmware) as r:
        assert r.solve().record.outcome == "fault"
        r.loop.pass_time(5.0)
        r.port.plug()
        assert_solved(r.solve())


@pytest.mark.parametrize("silent_s", [0.0, pytest.param(5.0, marks=pytest.mark.long)])
@pytest.mark.parametrize(("profile", "after_s"), moments("no-sensors"))
def test_grippers_of_a_killed_host_are_homed_by_its_successor(
    profile: str, after_s: float, silent_s: float
) -> None:
    with simulated_run(profile, TimedFault(pull_the_plug_for_good, after_s=after_s)) as r:
        assert r.solve().violations == ()
        leave_the_record_open(r)
        r.loop.pass_time(silent_s)
        r.port.plug()
        assert_solved(r.solve())


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(("profile", "after_s"), moments("no-sensors", "two-arm-2x2x2"))
def test_grippers_go_home_from_where_they_were_stopped(
    profile: str, after_s: float, restarted: bool
) -> None:
    with simulated_run(profile, TimedFault(stop_in_order, after_s=after_s)) as r:
        if restarted:
            assert r.solve(killed=False).record.outcome == "stopped"
            verdict = r.solve()
        else:
            verdict = r.solve(starts=2)
    assert_solved(verdict)
    assert verdict.faults == []


def assert_left_to_a_person(r: SimulatedRun, verdict: Verdict, fault: str) -> None:
    """Nobody knows where motors without end stop stand, and jaws would run into each other; the
    person puts cube and motors back as they stand at the start."""
    assert {violation.kind for violation in verdict.violations} <= STOPPED_DEAD
    assert (verdict.state, verdict.fault) == (RobotState.FAULT, fault)
    assert "square by hand" in verdict.record.faults[-1].remedy
    with SimulatedRun(r.profile, r.robot.body) as squared:
        assert_solved(squared.solve())


@pytest.mark.parametrize(
    ("action", "fault"),
    [
        (reset, "reset"),
        pytest.param(corrupted_emergency_stops, "emergency-stop", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize(("profile", "after_s"), moments("no-sensors"))
def test_grippers_that_were_stopped_dead_go_home_or_are_left_to_a_person(
    profile: str, after_s: float, action: FaultAction, fault: str
) -> None:
    with simulated_run(profile, TimedFault(action, after_s=after_s)) as r:
        verdict = r.solve()
        if profile not in WITHOUT_END_STOPS:
            if verdict.state is RobotState.FAULT:
                # The person who was to see that all is square did not, and nobody knows of the jaws
                # that were caught half way: the daemon was killed.
                assert_solved(r.solve(), STOPPED_DEAD | HALF_OPEN)
            else:
                assert_solved(verdict, STOPPED_DEAD)
        elif verdict.state is not RobotState.IDLE:
            assert_left_to_a_person(r, verdict, fault)


@pytest.mark.parametrize(("profile", "after_s"), moments("no-sensors"))
def test_after_a_power_cut_of_everything_grippers_go_home_or_are_left_to_a_person(
    profile: str, after_s: float
) -> None:
    with simulated_run(profile, TimedFault(cut_all_power, after_s=after_s)) as r:
        assert r.solve().violations == ()
        leave_the_record_open(r)
        r.port.plug()
        verdict = r.solve()
        if profile in WITHOUT_END_STOPS:
            assert_left_to_a_person(r, verdict, "reset")
        else:
            assert_solved(verdict, HALF_OPEN)


@pytest.mark.parametrize(
    "profile",
    [
        "mindcuber",
        *(pytest.param(name, marks=pytest.mark.long) for name in ("cubotino", "two-arm")),
    ],
)
def test_a_solve_is_on_an_uno_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    """Profiles and turns fit its memory, so nothing depends on the line once it runs."""
    sent: list[WirePlan] = []
    start = Link._start

    def noted(link: Link, schedule: Schedule, plan: WirePlan, *more: Any) -> Any:
        sent.append(plan)
        return start(link, schedule, plan, *more)

    monkeypatch.setattr(Link, "_start", noted)
    with simulated_run(profile) as r:
        assert_solved(r.solve())
    turns = [len(b"".join(plan.turns)) for plan in sent]
    shapes = [sum(shape.units for shape in plan.shapes) for plan in sent]
    assert UNO_QUEUE_BYTES // 8 < max(turns) <= UNO_QUEUE_BYTES
    assert max(shapes) <= UNO_PROFILE_UNITS
