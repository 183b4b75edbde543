"""The fault campaign, by the simulated robot's verdict: nothing unsafe ever happens, the daemon
says what is wrong, and after the remedy the same cube is solved by looking at it again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robot.api.models import RobotState
from robot.settings import RobotProfile, load_profile
from robot.simulate.processes import SimulationError
from robot.twin.cube import scrambled
from tests.rig import simulated_time
from tests.rig.fault_campaign import (
    EARLY_S,
    STOPPED_DEAD,
    assert_solved,
    corrupted_emergency_stops,
    cut_all_power,
    cut_the_power_of_the_board,
    hang,
    jam,
    jam_for_a_moment,
    lose_steps,
    pull_the_plug_for_good,
    reset,
    simulated_run,
    stop_the_host,
    unplug,
    with_sensors,
)
from tests.rig.simulated_run import SimulatedRun, TimedFault

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


def moments() -> list[Any]:
    """Times into the turns of gripper robots; most are for the long campaigns."""
    return [
        pytest.param(
            profile, round(number * step_s, 2), marks=[pytest.mark.long] * (number > everyday)
        )
        for profile, everyday, step_s in (("four-arm", 1, 0.4), ("two-arm", 1, 1.3))
        for number in range(1, 13)
    ]


@pytest.mark.parametrize(("profile", "after_s"), moments())
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


@pytest.mark.parametrize("profile", ["cubotino", "sensors"])
def test_an_emergency_stop_is_obeyed_and_told(profile: str) -> None:
    with simulated_run(profile, TimedFault(corrupted_emergency_stops, after_s=EARLY_S)) as r:
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


@pytest.mark.parametrize("damage", ["drop", "repeat", "insert", "flip", "reorder"])
@pytest.mark.parametrize("rate", [0.01, 0.05])
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
        (stop_the_host, []),
        (unplug, ["link-lost"]),
        (jam_for_a_moment, ["not-in-place"]),
    ],
)
def test_the_real_program_on_the_chip(
    action: Callable[[SimulatedRun], None], named: list[str]
) -> None:
    with simulated_run("sensors", TimedFault(action, after_s=EARLY_S), firmware="avr") as r:
        verdict = r.solve()
        assert_solved(verdict)
        assert verdict.faults == named


def test_an_emergency_stop_on_the_chip() -> None:
    fault = TimedFault(corrupted_emergency_stops, after_s=EARLY_S)
    with simulated_run("sensors", fault, firmware="avr") as r:
        assert r.solve().fault == "emergency-stop"
        assert_solved(r.solve(), STOPPED_DEAD)


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


def test_a_servo_that_goes_beyond_turns_layers_square() -> None:
    document = load_profile("cubotino").model_dump(mode="json", exclude_unset=True)
    document["actuators"]["holder"]["overshoot"] = {"us": 30, "back_ms": 60}
    with SimulatedRun(RobotProfile.model_validate(document), scrambled(3, 1)) as r:
        assert_solved(r.solve())


def test_play_that_nobody_knows_of_leaves_layers_askew() -> None:
    with SimulatedRun(with_play(made_up_for=False), scrambled(3, 1)) as r:
        verdict = r.solve()
    assert "layers-collide" in {violation.kind for violation in verdict.violations}


def open_files() -> list[str]:
    """Numbers of the files this process has open."""
    return sorted(entry.name for entry in Path("/proc/self/fd").iterdir())


def test_a_program_that_is_not_built_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robot.simulate.processes.find_executable", lambda name: None)
    before = open_files()
    # What is left is held by the error until it is forgotten.
    with pytest.raises(SimulationError, match="make build") as caught:
        simulated_run("sensors", firmware="avr")
    assert open_files() == before, caught.value


def test_a_program_that_does_not_start_leaves_nothing_open(tmp_path: Path) -> None:
    before = open_files()
    with pytest.raises(FileNotFoundError) as caught:
        simulated_time.VirtualBoard([tmp_path / "absent"])
    assert open_files() == before, caught.value
