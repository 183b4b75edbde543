"""Boards that a demo runs; robots of several boards. A board from outside is in tests/computer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from robot.computer.board_family import FirmwareError, simulations
from robot.machine import motion_controller
from robot.settings import RobotProfile, Servo, load_profile
from robot.settings.board_table import FIRST_MAESTRO
from robot.settings.checks import check_profile
from robot.settings.profile import FIRST_BOARD
from robot.simulate.boards import own_simulation, simulation_of, wire_to_board
from robot.text.faults import RobotError
from robot.twin.cube import scrambled
from robot.twin.pulses import Maestro, PwmChips
from robot.twin.simulated import SimulatedRobot
from tests.rig.fault_campaign import assert_solved, simulated_run, with_a_pi

QUARTZ = 1e-4
"""Largest difference of two quartz clocks: 100 ppm."""
RESONATOR = 9e-3
"""Largest difference of two ceramic resonators."""
BROKEN = 0.1
"""A difference beyond any clocks: the simulated robot sees arms at two boards out of step."""


@pytest.mark.parametrize(
    ("robot", "kind"),
    [("cubotino", "linux"), ("v-arms", "linux"), ("otvinta", "maestro"), ("six-motor", "host")],
)
def test_a_robot_runs_on_its_own_board(robot, kind):
    profile = load_profile(robot)
    assert own_simulation(profile) == kind
    assert wire_to_board(kind, profile) is profile


def test_each_of_several_boards_runs_as_what_it_is():
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


def test_servos_move_to_the_first_channels_of_a_maestro():
    moved = wire_to_board("maestro", load_profile("cubotino-uno"))
    pins = [servo.pins.pulse for servo in moved.actuators_of(Servo).values()]
    assert pins == [FIRST_MAESTRO, FIRST_MAESTRO + 1]
    assert moved.firmware.target == "linux"
    assert wire_to_board("maestro", moved) is moved
    with pytest.raises(FirmwareError, match="six-motor has no servos, and a Maestro"):
        wire_to_board("maestro", load_profile("six-motor"))


@pytest.mark.parametrize(("kind", "maker"), [("linux", PwmChips), ("maestro", Maestro)])
def test_a_pi_s_program_says_how_long_pulses_are_and_chips_make_them(tmp_path, kind, maker):
    profile = wire_to_board(kind, load_profile("cubotino-uno"))
    robot = SimulatedRobot(profile, scrambled(3, 1))
    chips = simulations()[kind].pulse_maker(robot, tmp_path, FIRST_BOARD)
    assert isinstance(chips, maker)
    chips.close()
    program, *options = simulations()[kind].command(profile, tmp_path)
    assert options == ["--pwm", f"{tmp_path}/pwm", "--maestro", f"{tmp_path}/maestro"]
    assert Path(program).name == "cubist-firmware-linux"


@pytest.mark.long
@pytest.mark.parametrize(
    ("robot", "firmware", "skew"),
    [
        ("with-a-pi", "host", QUARTZ),
        ("soltvvo", "host", QUARTZ),
        ("soltvvo", "host", -QUARTZ),
        ("soltvvo", "host", RESONATOR),
        ("soltvvo", "avr", QUARTZ),
    ],
)
def test_boards_whose_clocks_part_solve_together(robot, firmware, skew):
    """Let a Pi's kernel make the jaws' pulses and an Arduino the steps, together in the plan."""
    with simulated_run(robot, firmware=firmware, skew=skew) as r:
        verdict = r.solve()
        assert list(check_profile(r.profile)) == []
        programs = [Path(board.process.args[0]).name for board in r.boards.values()]
    assert programs[1] == f"cubist-firmware-{'linux' if robot == 'with-a-pi' else firmware}"
    assert_solved(verdict)
    assert verdict.faults == []
    assert verdict.record.executed_us == pytest.approx(
        verdict.record.planned_us, rel=max(1e-3, 2 * abs(skew))
    )


@pytest.mark.long
def test_the_simulated_robot_sees_boards_that_are_out_of_step():
    with simulated_run("soltvvo", skew=BROKEN) as r:
        kinds = {violation.kind for violation in r.solve().violations}
    assert "turn-while-jaws-move" in kinds


def test_a_board_with_another_firmware_is_named_before_anything_moves(monkeypatch):
    matching = iter([True, False])
    monkeypatch.setattr(motion_controller, "matches", lambda _: next(matching))
    with simulated_run("soltvvo") as r:
        with pytest.raises(RobotError, match=r"on board second, .* expected") as caught:
            r.calibrate(lambda machine, _: machine.motion.open())
        assert (caught.value.code, r.robot.edges) == ("wrong-firmware", 0)


@pytest.mark.long
@pytest.mark.parametrize("fault", [None, "unplug:second@turn", "unplug@look", "noise:second@home"])
def test_a_demo_of_several_boards_solves_whatever_their_lines_do(start_demo, tmp_path, fault):
    """Use a robot with a Pi among its boards if there is no fault."""
    if fault is not None:
        start_demo("--robot", "soltvvo", "--fault", fault).assert_solved()
        return
    path = tmp_path / "with-a-pi.yaml"
    path.write_text(yaml.safe_dump(with_a_pi().model_dump(mode="json", exclude_unset=True)))
    start_demo("--robot", str(path), "--speed", "2").assert_solved()


BUSY_PROGRAMS = 16
BUSY_LIMIT_S = 600


@pytest.fixture
def busy_computer() -> Iterator[None]:
    """Run programs that use all the processor time they get. They also end by themselves."""
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
def test_arms_never_touch_because_the_computer_is_busy(start_demo, seed):
    """Check that the cube is solved, or refused with the reason."""
    demo = start_demo("--robot", "soltvvo", "--seed", str(seed))
    code, document, log = demo.finish(limit_s=BUSY_LIMIT_S - 60)
    assert document.get("violations") == [], log
    assert (code == 0) == document["solved"] == (document["outcome"] == "solved"), document
