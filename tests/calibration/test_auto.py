"""The stages of automatic calibration, with scripted findings of the robot, and its command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.api.calibrations import Calibration
from robot.api.client import ControlClient, DaemonError, RequestError
from robot.calibration.auto import calibration as flow
from robot.calibration.auto.calibration import MOST_PROOFS, AutomaticCalibration, shorten_times
from robot.calibration.auto.film import FILMING, Film, FilmedPose
from robot.calibration.auto.finder import FilmedServo, Finding
from robot.calibration.auto.proof import PROVING, Proof, fault_chance
from robot.calibration.step import Row
from robot.calibration.steps.colours import LOOKING
from robot.calibration.values import apply
from robot.machine.confirmed_range import confirmable
from robot.settings import load_profile
from robot.settings.actuators import Servo
from robot.text.faults import CalibrationError, RobotError, ScanError
from robot.twin.misadjustment import parse_misadjustment
from solver.errors import CubistError, ExitCode
from tests.rig.profiles import kept

CUBOTINO = load_profile("cubotino")
OPEN = "actuators.lid.positions_us.open"
QUAD = "cameras.top.views.U.quad"
TRAVEL = "actuators.holder.travel"
LID_TRAVEL = "actuators.lid.travel"
SLIPPED = "cube-slipped"
REAL = ("calibrate", "auto", "--real", "--robot", "cubotino")


class Turning:
    """A table whose films show a quarter turn of ``took_us`` microseconds."""

    name = "holder"

    def __init__(self, took_us: float) -> None:
        self.quarters = {"ccw": -1, "home": 0, "cw": 1}
        self.ways: list[float] = []
        self.took_us, self.moving, self.hides = took_us, 6, 0.0

    def read_film(self, film: object, way: float) -> list[tuple[int, float]]:
        self.ways.append(way)
        if way == self.hides:
            return []
        step = self.took_us / (self.moving + 1)
        count = range(1, self.moving + 1)
        moves = [(round(100_000 + n * step), way * n / (self.moving + 1)) for n in count]
        rest = [(n * 10_000, 0.0) for n in range(6)]
        return [*rest, *moves, *((10_000_000 + n, way) for n in range(6))]


class Robot:
    """A session that records the values tried and the requests made, in order."""

    def __init__(self) -> None:
        self.profile = self.calibrated = CUBOTINO
        self.calibration = kept("cubotino", confirmable(CUBOTINO))
        self.tried: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.solves: list[bool | CubistError] = []
        self.turning = Turning(500_000.0)
        self.operations = 100

    def try_out(self, values: Any) -> None:
        self.tried.append(dict(values))

    def perform(self, trial: Any, **asked: Any) -> Any:
        self.asked.append((trial.name, asked))
        if trial is PROVING:
            solved = self.solves.pop(0) if self.solves else True
            if isinstance(solved, CubistError):
                raise solved
            return Proof(
                solved=solved,
                facelets="UUU",
                moves="R U",
                operations=self.operations,
                planned_us=20_000_000 + 1_000_000 * len(self.asked),
                planned_before_us=30_000_000,
                executed_us=21_250_000,
            )
        if trial is LOOKING:
            return SimpleNamespace(facelets="URF", values={"colours": {"trust": 1}})
        assert trial is FILMING
        return Film(pictures=[FilmedPose(time_us=83_000 * number) for number in range(20)])

    @property
    def proofs(self) -> list[Any]:
        return [asked["solved"] for name, asked in self.asked if name == "proof"]


class Finds:
    """A finder that finds two positions and a camera's view. The camera sees the table move."""

    turning_together: Sequence[Sequence[str]] = ()

    def __init__(self, session: Any) -> None:
        self.seen_moving = {"holder": FilmedServo(session.turning, {"lid": "open"})}

    def find(self) -> Iterator[Finding]:
        advice = {"advice": ["the picture is blurred"]}
        yield Finding("camera", "the face is in view", {QUAD: [[0, 0]]}, {QUAD: 0.003}, advice)
        yield Finding("lid", "there", {OPEN: 1340}, {OPEN: 2.0})


@pytest.fixture
def robot(monkeypatch: pytest.MonkeyPatch) -> Robot:
    monkeypatch.setattr(flow, "finder_for", lambda _: Finds)
    monkeypatch.setattr(flow, "common_speeds", lambda *_: iter(()))
    monkeypatch.setattr(flow, "check_motors", lambda *_: iter(()))
    return Robot()


def calibrated(robot: Robot, **how: Any) -> tuple[AutomaticCalibration, list[Any]]:
    clock = iter([10.0, 75.04])
    measurement = AutomaticCalibration(robot, lambda: next(clock), **how)
    rows = [row for row in measurement.measure() if isinstance(row, Row)]
    return measurement, [row.document for row in rows]


def test_all_stages_in_their_order_with_what_was_found(robot):
    found, rows = calibrated(robot)
    stages = [row["stage"] for row in rows]
    assert stages == ["camera", "lid", *["times"] * 4, "colours", *["proof"] * 2]
    document = found.document
    assert (document["calibrated"], document["solved"], document["took_s"]) == (True, 2, 65.0)
    assert "because" not in document
    assert set(document["values"]) == {QUAD, OPEN, TRAVEL, "colours"}
    assert found.values == document["values"] and found.is_found
    uncertain = document["uncertain"]
    assert (uncertain[QUAD], uncertain[OPEN]) == (0.003, 2.0)
    assert "the camera does not see it move" in uncertain[LID_TRAVEL]
    # Two proofs, planned for 29 and 30 seconds.
    first = len(robot.asked) - 1
    assert document["planned_s"] == 20 + (first + first + 1) / 2
    assert document["planned_before_s"] == 30.0
    assert robot.proofs == [False, True], "the second cube is known to be solved"
    assert robot.tried[-2:] == [found.values, {}]
    films = [asked for name, asked in robot.asked if name == "film"]
    ways = [("ccw", "home"), ("home", "cw"), ("ccw", "cw")]
    assert [tuple(asked["between"]) for asked in films] == [way for way in ways for _ in range(2)]
    assert all((one["actuator"], one["aside"]) == ("holder", {"lid": "open"}) for one in films)
    assert robot.turning.ways == [90, 90, 90, 90, 180, 180]
    times = next(row for row in rows if row["stage"] == "times")
    assert times["evidence"] == {"took_ms": 500.0, "pictures_of_it": 12}
    assert times["uncertain"] == {TRAVEL: 2.5}
    # Four percent longer, plus the uncertainty of half a percent.
    kept = [(row["between"], row["ms"], row["held_ms"]) for row in found.values[TRAVEL]]
    held = [round(800 * 522.5 / 700, 1)] * 2 + [round(1680 * 522.5 / 1470, 1)]
    assert kept == [([*way], 522.5, ms) for way, ms in zip(ways, held, strict=True)]


def test_a_way_that_no_film_shows_has_the_speed_of_the_others(robot):
    robot.turning.hides = 180
    found, rows = calibrated(robot, only="times")
    assert [row["ms"] for row in found.values[TRAVEL]] == [522.5, 522.5, 1000 * 1.04 + 50]
    robot.turning.moving = 0
    found, rows = calibrated(robot, only="times")
    assert TRAVEL not in found.values and "pictures/s are too few" in rows[1]["text"]


def test_servos_that_turn_the_cube_together_turn_little_in_a_pulse(robot, monkeypatch):
    monkeypatch.setattr(Finds, "turning_together", [["holder"]])
    found, _ = calibrated(robot, only="times")
    # 5 degrees in 20 ms: 180 of them take 720 ms, and quarter turns are slower than that anyway.
    assert [row["ms"] for row in found.values[TRAVEL]] == [522.5, 522.5, 720.0]


@pytest.mark.parametrize(
    ("only", "stages", "values"),
    [
        ("lid", ["camera", "lid", "proof", "proof"], {OPEN}),
        ("camera", ["camera", "lid", "proof", "proof"], {QUAD}),
        ("times", ["camera", *["times"] * 4, "proof", "proof"], {TRAVEL}),
        ("colours", ["colours", "proof", "proof"], {"colours"}),
    ],
)
def test_one_stage_is_found_alone(robot, only, stages, values):
    found, rows = calibrated(robot, only=only)
    assert [row["stage"] for row in rows] == stages
    assert set(found.values) == values
    assert {key for tried in robot.tried for key in tried} == values


def test_a_cube_that_was_not_solved_ends_it(robot):
    robot.solves = [True, False]
    found, _ = calibrated(robot)
    assert (found.is_found, found.values) == (False, {})
    assert isinstance(found.error, CubistError)
    assert "did not solve cube 2: it read UUU" in found.document["because"]
    assert found.document["because"].endswith("the picture is blurred")
    assert found.document["because"] in found.text
    assert (found.document["calibrated"], found.document["solved"]) == (False, 1)
    assert found.document["values"] == {}, "they were only tried out"
    assert set(found.tried_values) == {QUAD, OPEN, TRAVEL, "colours"}
    assert robot.tried[-1] == {}
    assert calibrated(robot)[0].error is None
    script = AutomaticCalibration(robot).measure()
    assert {*next(script).document["values"], *next(script).document["values"]} == {QUAD, OPEN}
    robot.try_out({OPEN: 1})
    script.close()
    assert robot.tried[-1] == {}, "broken off it tries nothing out any more"


def test_cubes_are_solved_until_a_fault_is_unlikely(robot):
    robot.operations = 45
    found, rows = calibrated(robot)
    assert [row["stage"] for row in rows].count("proof") == 5
    assert (found.document["solved"], found.document["operations"]) == (5, 225)
    assert found.document["fault_chance"] <= 0.05 < fault_chance(180, 20)
    robot.operations = 2
    found, _ = calibrated(robot)
    assert found.document["solved"] == MOST_PROOFS and found.document["fault_chance"] > 0.05
    assert "is below 26.0 %" in found.text, "it says how likely a fault is all the same"


def test_times_are_shortened_while_cubes_are_solved(robot):
    robot.solves = [True, True, True, True, True, True, False, True, True]
    found, rows = calibrated(robot, faster=0.2)
    # 5 and 10 % were good, 15 % was not: back to the times kept, which are 4 % longer than those
    # proven.
    assert (rows[-1]["stage"], rows[-1]["evidence"]) == ("faster", {"percent": 10.0})
    assert found.values[LID_TRAVEL][0]["ms"] == 270.0
    tried = [values[LID_TRAVEL][0]["ms"] for values in robot.tried if LID_TRAVEL in values]
    assert tried == pytest.approx([285 / 1.04, 270 / 1.04, 255 / 1.04, 270, 270], abs=0.1)
    assert found.values[TRAVEL][0]["ms"] == 700.0, "what is filmed stays as calibrated"
    assert found.document["solved"] == 2
    assert robot.proofs == [*[False, True] * 3, False, *[False, True]]


@pytest.mark.parametrize(
    "failure",
    [False, RobotError(SLIPPED), RequestError(503, "robot", "the cube has slipped", SLIPPED)],
    ids=["unsolved", "fault", "answer"],
)
def test_after_a_failure_times_go_back_by_a_step(robot, failure):
    robot.solves = [True, True, failure, True, True]
    _, rows = calibrated(robot, faster=0.2)
    assert rows[-1]["evidence"] == {"percent": 0.0}


@given(st.floats(0.0, 0.5))
def test_filmed_times_stay_and_all_others_get_shorter(part):
    values = shorten_times(CUBOTINO, {"holder"}, part)
    made = apply(CUBOTINO, Calibration(robot="cubotino", values=values)).actuators_of(Servo)
    before = CUBOTINO.actuators_of(Servo)
    for after, was in zip(made["holder"].travel, before["holder"].travel, strict=True):
        assert after.ms == was.ms
        assert after.held_ms is not None and was.held_ms is not None
        assert was.ms <= after.held_ms <= was.held_ms
    for after, was in zip(made["lid"].travel, before["lid"].travel, strict=True):
        assert after.ms == pytest.approx(was.ms * (1 - part), abs=0.1)
    assert made["lid"].settle_ms["close"] == pytest.approx(200 * (1 - part), abs=0.1)


def broken_off_by(monkeypatch: pytest.MonkeyPatch, error: CubistError) -> None:
    """Let a finder find one position and then raise an error."""

    def find() -> Iterator[Finding]:
        yield Finding("lid", "there", {OPEN: 1340}, {OPEN: 2.0})
        raise error

    finder = SimpleNamespace(seen_moving={}, find=find)
    monkeypatch.setattr(flow, "finder_for", lambda _: lambda _: finder)


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
def test_it_ends_with_the_code_of_what_was_in_its_way(daemon, ask, monkeypatch, error, code):
    broken_off_by(monkeypatch, error)
    ended, (*_, last), _ = ask(*REAL)
    assert (ended, last["because"]) == (code, str(error))
    assert (last["calibrated"], last["values"], last["saved"]) == (False, {}, False)
    assert "truth_error_degrees" not in last


def test_it_says_in_json_too_why_it_could_not_begin(daemon, ask, monkeypatch, tmp_path):
    def because(expected: ExitCode) -> str:
        code, (*_, last), _ = ask(*REAL)
        assert (code, last["calibrated"]) == (expected, False)
        return str(last["because"])

    client = ControlClient()
    with client.maintenance("page"):
        told = because(ExitCode.NO)
        assert "the page" in told and "--take-over" in told
    client.stop(emergency=True)
    assert because(ExitCode.FAILED).startswith("emergency stop")
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    assert "not running" in because(ExitCode.FAILED)


def test_a_simulated_robot_says_how_far_positions_are_off_the_truth(ask, monkeypatch):
    broken_off_by(monkeypatch, CalibrationError("that was all"))
    simulated = ("--simulated", "--robot", "cubotino", "--misadjust", "7")
    code, (*_, last), _ = ask("calibrate", "auto", *simulated)
    lid = CUBOTINO.actuators_of(Servo)["lid"]
    assert code == ExitCode.NO
    assert set(last) >= {"calibrated", "solved", "violations", "took_s", "values", "uncertain"}
    truth = parse_misadjustment("7").servo("lid", lid, 500 / 90)
    expected = (truth.shaft(1340) - lid.positions_us["open"]) / (500 / 90)
    assert last["truth_error_degrees"] == {OPEN: pytest.approx(expected, abs=0.01)}
    assert abs(expected) > 0.5


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--robot", "reference/a"), ExitCode.NO, "it can be planned for, not driven"),
        (("--robot", "four-arm-skr-pico"), ExitCode.NO, "their jaws (side-jaws, end-jaws): none"),
        (("--robot", "cubotino", "--only", "lid"), ExitCode.USAGE, "start `cubist simulate`"),
        (("--robot", "six-motor", "--only", "times"), ExitCode.USAGE, "choose from up, right"),
        (("--robot", "mindcuber", "--only", "times"), ExitCode.USAGE, "choose from table"),
    ],
)
def test_what_cannot_be_done_is_said_before_a_robot_is_simulated(
    ask, monkeypatch, arguments, code, told
):
    monkeypatch.delattr("robot.simulate.simulation.robot_to_practise_on")
    ended, lines, err = ask("calibrate", "auto", "--simulated", *arguments)
    assert ended == code
    assert told in (lines[-1]["because"] if code is ExitCode.NO else err)


@pytest.mark.parametrize("command", ["auto", "auto --robot cubotino", "all --yes --robot cubotino"])
def test_no_simulated_robot_replaces_a_daemon_that_does_not_answer(ask, monkeypatch, command):
    silent = Mock(side_effect=DaemonError("cubistd cannot be reached: timed out"))
    monkeypatch.setattr(ControlClient, "status", silent)
    code, lines, err = ask("calibrate", *command.split())
    assert code == ExitCode.FAILED
    assert "timed out" in str(lines[-1]) and "practising" not in err
