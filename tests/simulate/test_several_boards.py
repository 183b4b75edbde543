"""A robot with two boards: it solves, whatever their clocks do, and no fault of one hurts."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from robot.computer.board_family import FirmwareError, simulations
from robot.machine import motion_controller
from robot.settings import RobotProfile
from robot.settings.checks import check_profile
from robot.simulate.boards import (
    own_simulation,
    simulation_of,
    wire_to_board,
)
from robot.text.faults import RobotError
from robot.twin.cube import SITES
from tests.rig.fault_campaign import STOPPED_DEAD, assert_solved, simulated_run, with_a_pi
from tests.rig.simulated_run import SimulatedRun, TimedFault

StartDemo = Callable[..., Any]
Solved = Callable[[Any], dict[str, Any]]

QUARTZ = 1e-4
"""As much as the clocks of two boards may part: 100 ppm."""
RESONATOR = 9e-3
"""As much as two ceramic resonators may."""
BROKEN = 0.1
"""No clock is so bad; the simulated robot sees that arms at two boards are not in step."""
IN_THE_DARK = STOPPED_DEAD | {"jaws-collide"}
"""What the other board may do to an arm that was stopped, until anybody hears of it."""
EVERYDAY = 0.5
"""An arm of the second board turns then."""
MOMENTS = [
    pytest.param(moment, marks=[pytest.mark.long] * (moment != EVERYDAY))
    for moment in (0.3, EVERYDAY, 0.6, 0.7, 0.8, 1.1, 1.5)
]


def unplug(name: str) -> Callable[[SimulatedRun], None]:
    """Somebody pulls the cable of a board and puts it back."""
    return lambda r: r.ports[name].unplug(attempts=2)


def cut_power(r: SimulatedRun) -> None:
    """That of the second board: its USB adapter goes with it, and both come back."""
    unplug("second")(r)
    r.boards["second"].reset()


def reset(r: SimulatedRun) -> None:
    r.boards["second"].reset()


def stop_in_an_emergency(r: SimulatedRun) -> None:
    """As the button does, while the loop runs the motion."""
    assert r.motion is not None and r.motion._thread is not None
    r.loop.create_task(r.motion._thread.link.emergency_stop())


@pytest.mark.parametrize(
    "skew", [QUARTZ, *(pytest.param(skew, marks=pytest.mark.long) for skew in (-QUARTZ, RESONATOR))]
)
def test_boards_whose_clocks_part_solve_together(skew: float) -> None:
    with simulated_run("soltvvo", skew=skew) as r:
        verdict = r.solve()
    assert_solved(verdict)
    assert verdict.faults == []


@pytest.mark.long
@pytest.mark.skipif(
    shutil.which("avr-gcc") is None, reason="needs avr-gcc (Debian: gcc-avr avr-libc)"
)
def test_two_unos_under_simavr_solve_together() -> None:
    with simulated_run("soltvvo", firmware="avr", skew=QUARTZ) as r:
        assert_solved(r.solve())


@pytest.mark.long
def test_the_simulated_robot_sees_boards_that_are_out_of_step() -> None:
    with simulated_run("soltvvo", skew=BROKEN) as r:
        kinds = {violation.kind for violation in r.solve().violations}
    assert "turn-while-jaws-move" in kinds


def test_a_raspberry_pi_is_one_of_several_boards() -> None:
    """Its kernel makes the pulses of the jaws, an Arduino the steps: in the plan, together."""
    with simulated_run("with-a-pi", skew=QUARTZ) as r:
        verdict = r.solve()
        assert list(check_profile(r.profile)) == []
        programs = {name: Path(board.process.args[0]).name for name, board in r.boards.items()}
    assert programs == {"first": "cubist-firmware-host", "pi": "cubist-firmware-linux"}
    assert_solved(verdict)
    assert verdict.faults == []
    assert verdict.record.executed_us == pytest.approx(verdict.record.planned_us, rel=1e-3)


def end_the_program(r: SimulatedRun) -> None:
    """That of the Pi: the service starts it anew."""
    unplug("pi")(r)
    r.boards["pi"].reset()


@pytest.mark.parametrize(
    ("action", "fault", "board"),
    [
        (end_the_program, "link-lost", "pi"),
        pytest.param(unplug("first"), "link-lost", "first", marks=pytest.mark.long),
    ],
)
def test_a_fault_of_the_pi_stops_the_motors_and_one_of_theirs_the_pi(
    action: Callable[[SimulatedRun], None], fault: str, board: str
) -> None:
    with simulated_run("with-a-pi", TimedFault(action, after_s=EVERYDAY)) as r:
        verdict = r.solve()
    assert_solved(verdict, excused=IN_THE_DARK)
    assert verdict.faults == [fault]
    assert f"board {board}" in verdict.record.faults[0].cause


def test_a_demo_runs_each_board_as_what_it_is() -> None:
    profile = with_a_pi()
    assert own_simulation(profile) == "host"
    for kind in ("host", "avr"):
        assert wire_to_board(kind, profile) is profile
        assert simulation_of(kind, profile, "first") is simulations()[kind]
        assert simulation_of(kind, profile, "pi") is simulations()["linux"]
    document = profile.model_dump(mode="json", exclude_unset=True)
    document["actuators"]["right-jaw"]["pins"]["pulse"] = "maestro:0"
    with pytest.raises(FirmwareError, match="a Maestro beside other boards cannot be simulated"):
        wire_to_board("host", RobotProfile.model_validate(document))


@pytest.mark.long
def test_a_demo_with_a_pi_among_several_boards(
    start_demo: StartDemo, solved: Solved, tmp_path: Path
) -> None:
    path = tmp_path / "with-a-pi.yaml"
    path.write_text(yaml.safe_dump(with_a_pi().model_dump(mode="json", exclude_unset=True)))
    solved(start_demo("--robot", str(path), "--speed", "2"))


@pytest.mark.parametrize("after_s", MOMENTS)
@pytest.mark.parametrize("board", ["first", "second"])
def test_a_cable_pulled_in_a_plan_is_named_and_the_cube_solved(board: str, after_s: float) -> None:
    with simulated_run("soltvvo", TimedFault(unplug(board), after_s=after_s)) as r:
        verdict = r.solve()
    assert_solved(verdict)
    assert verdict.faults == ["link-lost"]
    assert f"board {board}" in verdict.record.faults[0].cause


@pytest.mark.parametrize("after_s", MOMENTS)
@pytest.mark.parametrize(("action", "fault"), [(reset, "reset"), (cut_power, "link-lost")])
def test_a_board_that_starts_anew_squares_what_it_left_and_the_cube_is_solved(
    action: Callable[[SimulatedRun], None], fault: str, after_s: float
) -> None:
    """The other board has gone on for a moment; it knows where its own arms stand."""
    with simulated_run("soltvvo", TimedFault(action, after_s=after_s)) as r:
        verdict = r.solve()
    assert_solved(verdict, excused=IN_THE_DARK)
    assert verdict.faults == [fault]
    assert "board second" in verdict.record.faults[0].cause


def test_one_emergency_stop_stops_the_arms_of_all_boards() -> None:
    """Only the pulses go on by which jaws hold the cube."""
    with simulated_run("soltvvo", TimedFault(stop_in_an_emergency, after_s=EVERYDAY)) as r:
        verdict = r.solve()
        assert verdict.fault == "emergency-stop"
        r.loop.pass_time(0.1)  # jaws reach where their last pulses wanted them
        before = r.robot.edges
        r.loop.pass_time(1.0)
        jaws = [name for name in r.profile.actuators if name.endswith("-jaw")]
        assert r.robot.edges - before == len(jaws) * 50 * 2
        assert not r.robot.moving


BUSY_PROGRAMS = 16
BUSY_LIMIT_S = 600


@pytest.fixture
def busy_computer() -> Iterator[None]:
    """Programs that take all that they get of the processors; they end by themselves, too."""
    command = ["timeout", str(BUSY_LIMIT_S), sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(command) for _ in range(BUSY_PROGRAMS)]
    yield
    for program in programs:
        program.terminate()
    for program in programs:
        program.wait()


@pytest.mark.long
@pytest.mark.timeout(BUSY_LIMIT_S)
@pytest.mark.usefixtures("busy_computer")
@pytest.mark.parametrize("seed", range(3))
def test_arms_never_touch_because_the_computer_is_busy(start_demo: StartDemo, seed: int) -> None:
    """It is solved, or refused by name."""
    demo = start_demo("--robot", "soltvvo", "--seed", str(seed))
    code, document, log = demo.finish(limit_s=BUSY_LIMIT_S - 60)
    assert document is not None, log
    assert document["violations"] == [], log
    assert (code == 0) == document["solved"] == (document["outcome"] == "solved"), document


def test_boards_at_each_other_s_ports_are_noticed() -> None:
    """All turns are made, by the opposite arms: cubes are not where they should be."""
    with simulated_run("soltvvo") as r:
        r.ports = dict(zip(r.ports, reversed(r.ports.values()), strict=True))
        verdict = r.solve()
        letters = r.robot.body.facelets()
    assert (verdict.solved, verdict.violations) == (False, ())
    assert (verdict.record.outcome, verdict.fault) == ("slipped", "cube-slipped")
    assert len(letters) == 4 * len(SITES)


def test_a_board_with_another_firmware_is_named_before_anything_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[bool] = []
    monkeypatch.setattr(
        motion_controller, "matches", lambda _: (told.append(True), len(told) % 2 == 1)[1]
    )
    with simulated_run("soltvvo") as r:
        with pytest.raises(RobotError, match=r"on board second, .* expected") as caught:
            r.calibrate(lambda machine, _: machine.motion.open())
        assert (caught.value.code, r.robot.edges) == ("wrong-firmware", 0)


@pytest.mark.long
@pytest.mark.parametrize("fault", ["unplug:second@turn", "unplug@look", "noise:second@home"])
def test_faults_of_a_real_board_s_line(start_demo: StartDemo, solved: Solved, fault: str) -> None:
    solved(start_demo("--robot", "soltvvo", "--fault", fault))
