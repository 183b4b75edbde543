"""``cubist calibrate auto`` as scripts see it: its last line, and how it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from robot.api.client import ControlClient, DaemonError, RequestError
from robot.calibration.auto import calibration as flow
from robot.calibration.auto.finder import FilmedServo, Finding
from robot.calibration.step import Session
from robot.cli.main import run
from robot.settings import RobotProfile, load_profile
from robot.settings.actuators import Servo
from robot.text.faults import CalibrationError, RobotError, ScanError
from robot.twin.misadjustment import parse_misadjustment
from robot.twin.registry import position_errors
from solver.errors import CubistError, ExitCode

KEY = "actuators.lid.positions_us.open"
Ask = Callable[..., tuple[int, list[dict[str, Any]], str]]


class BrokenOff:
    """A finder that finds one position, and then something happens."""

    seen_moving: Mapping[str, FilmedServo] = {}
    happens: CubistError

    def __init__(self, session: Session) -> None:
        del session

    def find(self) -> Iterator[Finding]:
        yield Finding("lid", "there", {KEY: 1340}, {KEY: 2.0})
        raise self.happens


def broken_off_by(monkeypatch: pytest.MonkeyPatch, error: CubistError) -> None:
    monkeypatch.setattr(BrokenOff, "happens", error, raising=False)
    monkeypatch.setattr(flow, "finder_for", lambda _: BrokenOff)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CalibrationError("the lid is loose"), ExitCode.NO),
        (ScanError("no cube is in view"), ExitCode.NO),
        (RequestError(400, "bad-request", "it goes from 900 to 2100 us"), ExitCode.NO),
        (RequestError(503, "robot", "the board does not answer", "no-answer"), ExitCode.FAILED),
        (RobotError("cube-slipped"), ExitCode.FAILED),
        (RequestError(503, "robot", "a person", "calibration-stopped"), ExitCode.STOPPED),
        (DaemonError("cubistd closed the connection"), ExitCode.FAILED),
    ],
)
def test_it_ends_with_the_code_of_what_was_in_its_way(
    daemon: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch, error: CubistError, code: ExitCode
) -> None:
    broken_off_by(monkeypatch, error)
    ended, lines, _ = ask("calibrate", "auto", "--real", "--robot", "cubotino")
    assert ended == code
    assert lines[-1]["calibrated"] is False
    assert lines[-1]["because"] == str(error)
    assert (lines[-1]["values"], lines[-1]["saved"]) == ({}, False)
    assert "truth_error_degrees" not in lines[-1]


def test_it_says_in_json_too_why_it_could_not_begin(
    daemon: Any, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client = ControlClient()
    with client.maintenance("page"):
        code, lines, _ = ask("calibrate", "auto", "--real", "--robot", "cubotino")
        assert (code, lines[-1]["calibrated"]) == (ExitCode.NO, False)
        assert "calibrated on the page" in lines[-1]["because"]
    client.stop(emergency=True)
    code, lines, _ = ask("calibrate", "auto", "--real", "--robot", "cubotino")
    assert (code, lines[-1]["calibrated"]) == (ExitCode.FAILED, False)
    assert lines[-1]["because"].startswith("emergency stop")
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    code, lines, _ = ask("calibrate", "auto", "--real", "--robot", "cubotino")
    assert (code, lines[-1]["calibrated"]) == (ExitCode.FAILED, False)
    assert "not running" in lines[-1]["because"]


def test_a_simulated_robot_says_how_far_positions_are_off_the_truth(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_off_by(monkeypatch, CalibrationError("that was all"))
    code, lines, _ = ask(
        *("calibrate", "auto", "--simulated", "--robot", "cubotino", "--misadjust", "7")
    )
    assert code == ExitCode.NO
    last = lines[-1]
    assert set(last) >= {"calibrated", "solved", "violations", "took_s", "values", "uncertain"}
    truth = parse_misadjustment("7").servo("lid", servo_of("lid"), 500 / 90)
    expected = (truth.shaft(1340) - servo_of("lid").positions_us["open"]) / (500 / 90)
    assert last["truth_error_degrees"] == {KEY: pytest.approx(expected, abs=0.01)}
    assert abs(expected) > 0.5


def test_a_simulated_robot_may_have_a_cube_of_another_size(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers: list[int] = []

    def finder_for(profile: RobotProfile) -> type[BrokenOff]:
        layers.append(profile.cube.size)
        raise CalibrationError("that was all")

    monkeypatch.setattr(flow, "finder_for", finder_for)
    code, _, err = ask("calibrate", "auto", "--simulated", "--robot", "crane", "--size", "4")
    assert (code, layers) == (ExitCode.NO, [4]), err
    code, _, err = ask("calibrate", "auto", "--simulated", "--robot", "cubotino", "--size", "4")
    assert code == ExitCode.USAGE
    assert "cubotino takes cubes of 3 layers, not of 4" in err
    code, _, err = ask("calibrate", "auto", "--real", "--robot", "crane", "--size", "4")
    assert code == ExitCode.USAGE
    assert "--size is for a simulated robot" in err


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--robot", "reference/a"), ExitCode.NO, "it is to plan with, not to drive"),
        (("--robot", "crane"), ExitCode.NO, "finds elevator by sensors"),
        (("--robot", "otvinta"), ExitCode.NO, "use `cubist calibrate all`"),
        (("--robot", "cubotino", "--only", "lid"), ExitCode.USAGE, "start `cubist simulate`"),
        (("--robot", "six-motor", "--only", "times"), ExitCode.USAGE, "choose from up, right"),
        (("--robot", "mindcuber", "--only", "times"), ExitCode.USAGE, "choose from table"),
    ],
)
def test_what_cannot_be_done_is_said_before_a_robot_is_simulated(
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: ExitCode,
    told: str,
) -> None:
    def robot_to_practise_on(*_: object, **__: object) -> None:
        raise AssertionError("a robot is put together")

    monkeypatch.setattr("robot.simulate.simulation.robot_to_practise_on", robot_to_practise_on)
    ended, lines, err = ask("calibrate", "auto", "--simulated", *arguments)
    assert ended == code
    assert told in (lines[-1]["because"] if code is ExitCode.NO else err)


def test_one_stage_of_a_robot_that_nobody_calibrated_is_refused_before_anything_moves(
    daemon: Any, ask: Ask
) -> None:
    code, lines, err = ask("calibrate", "auto", "--real", "--robot", "cubotino", "--only", "lid")
    assert code == ExitCode.NO
    assert "position ccw of holder" in lines[-1]["because"]
    assert "without --only first" in err or "without --only first" in lines[-1]["because"]
    assert not [done for done in daemon.motion.done if done.startswith(("home", "jog"))]


@pytest.mark.parametrize("command", [("demo",), ("simulate",), ("calibrate", "all", "--yes")])
def test_a_robot_of_which_only_times_are_known_is_not_simulated(
    ask: Ask, command: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    simulated = ("--simulated",) if command[0] == "calibrate" else ()
    code = run([*command, "--robot", "reference/a", *simulated])
    assert code == ExitCode.USAGE
    assert "reference-a only says how long motions take" in capfd.readouterr().err


def servo_of(name: str) -> Servo:
    return load_profile("cubotino").actuators_of(Servo)[name]


def test_of_a_robot_built_as_drawn_the_profile_is_the_truth() -> None:
    profile = load_profile("two-arm")
    values = {
        f"actuators.{name}.positions_us.{place}": pulse
        for name, servo in profile.actuators_of(Servo).items()
        for place, pulse in servo.positions_us.items()
    }
    errors = position_errors(profile, None, values | {"actuators.right.travel": []})
    assert errors.keys() == values.keys()
    assert set(errors.values()) == {0.0}
