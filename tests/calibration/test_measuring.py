"""Calibration that measures: colours of a known cube, times of operations, proofs of it all, and
the wizard that does one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.api.calibrations import Calibration
from robot.calibration.auto import film as proof
from robot.calibration.auto.film import PROVING, ProofRequest
from robot.calibration.step import Bench
from robot.calibration.steps.colours import ColoursRequest, measured_colours
from robot.calibration.steps.timing import Timings, measured_timing, single_operation_plans
from robot.calibration.values import BadCalibration, apply
from robot.machine.scanner import as_jpeg, as_values, stored_colours
from robot.motion.schedule import Schedule
from robot.planner import build_mechanism
from robot.records.documents import ApiRequest
from robot.settings import RobotProfile, load_profile
from robot.text.faults import ScanError
from solver.cube.cube import Cube
from solver.errors import CubistError
from vision.frame import Frame
from vision.measure.colour_space import USUAL, ColourReferences
from vision.measure.sticker_colours import FACES, FaceColours

Ask = Callable[..., tuple[int, list[dict[str, Any]], str]]
SOLVED = "".join(face * 9 for face in FACES)


def timed(fake: Any, profile: RobotProfile) -> Timings:
    return measured_timing(Bench(fake.machine(), profile), ApiRequest())


def seeing(fake: Any, face_of: Callable[[str], FaceColours]) -> None:
    take = fake.scanner.take
    fake.scanner.take = lambda looks, **_: [
        replace(image, colours=face_of(image.face)) for image in take(looks)
    ]


def solved_face(face: str) -> FaceColours:
    colours = FaceColours.unseen(3)
    colours.linear_rgb[:] = USUAL[FACES.index(face)]
    colours.valid[:] = True
    return colours


def test_colours_of_a_known_cube_are_kept_and_used(daemon: Any, ask: Ask) -> None:
    seeing(daemon, solved_face)
    code, (seen,), _ = ask("calibrate", "colours", "--facelets", SOLVED)
    assert (code, seen["saved"]) == (0, True)
    values = ask("calibration", "show")[1][0]["values"]
    calibrated = apply(load_profile("cubotino"), Calibration(robot="cubotino", values=values))
    stored = stored_colours(calibrated)
    assert stored is not None
    ratio = stored.linear_rgb / stored.linear_rgb.max(axis=1, keepdims=True)
    assert ratio == pytest.approx(USUAL / USUAL.max(axis=1, keepdims=True), abs=1e-3)


@pytest.mark.parametrize("moves", ["R", "R U F2 L' D B R2 U' F"])
def test_a_cube_that_is_not_as_named_teaches_no_colours(daemon: Any, ask: Ask, moves: str) -> None:
    facelets = Cube.solved().apply(moves).facelets()

    def face(face: str) -> FaceColours:
        colours, first = FaceColours.unseen(3), FACES.index(face) * 9
        colours.linear_rgb[:] = [USUAL[FACES.index(one)] for one in facelets[first : first + 9]]
        colours.valid[:] = True
        return colours

    seeing(daemon, face)
    code, _, err = ask("calibrate", "colours", "--solved")
    assert code == 1
    assert "colours: this is not the cube that was named. What to do: put a solved cube in" in err
    assert ask("calibrate", "colours", "--facelets", facelets)[1][0]["saved"] is True


def test_a_cube_in_doubt_teaches_no_colours(fake: Any) -> None:
    fake.scanner.readings = [("scrambled", "F")]
    with pytest.raises(ScanError, match="beyond doubt") as unsure:
        measured_colours(Bench(fake.machine(), load_profile("cubotino")), ColoursRequest())
    assert "put a solved cube in" in unsure.value.remedy


def test_faces_nobody_saw_teach_no_colours(fake: Any) -> None:
    seeing(fake, lambda _: FaceColours.unseen(3))
    with pytest.raises(CubistError, match="no sticker of colour"):
        measured_colours(
            Bench(fake.machine(), load_profile("cubotino")), ColoursRequest(facelets=SOLVED)
        )


def test_stored_colours_survive_the_profile() -> None:
    values = as_values(ColourReferences(USUAL, trust=7.0))
    calibrated = apply(load_profile("cubotino"), Calibration(robot="cubotino", values=values))
    stored = stored_colours(calibrated)
    assert stored is not None
    assert stored.linear_rgb == pytest.approx(USUAL)
    assert stored.trust == 7.0
    assert stored_colours(load_profile("cubotino")) is None
    del values["colours"]["linear_rgb"]["U"]
    with pytest.raises(BadCalibration, match="colours"):
        apply(load_profile("cubotino"), Calibration(robot="cubotino", values=values))


def test_a_robot_as_fast_as_planned_needs_no_correction(fake: Any) -> None:
    found = timed(fake, load_profile("cubotino"))
    assert found.values == {}
    assert all(row.planned_us == row.measured_us for row in found.operations)
    assert {row.operation for row in found.operations} >= {"turn D", "lid close"}
    assert fake.motion.done[0] == "home"


def test_a_slow_servo_gets_longer_times_and_so_costlier_plans(fake: Any) -> None:
    def perform(schedule: Schedule, _: Callable[[float], None]) -> int:
        slow = {profile.actuator for profile in schedule.profiles} == {"lid"}
        return round(schedule.duration_us * (1.2 if slow else 1.0))

    fake.motion.perform = perform
    profile = load_profile("cubotino")
    found = timed(fake, profile)
    assert list(found.values) == ["actuators.lid.travel"]
    calibrated = apply(profile, Calibration(robot="cubotino", values=found.values))
    assert [row.ms for row in calibrated.actuators["lid"].travel] == [360, 600, 720]
    before, after = build_mechanism(profile), build_mechanism(calibrated)
    assert sum(t.duration_us for t in after.transitions) > sum(
        t.duration_us for t in before.transitions
    )


def test_the_wizard_wants_the_daemon_s_own_robot(daemon: Any, ask: Ask) -> None:
    code, _, err = ask("calibrate", "all", "--robot", "two-arm", "--yes")
    assert code == 2
    assert "cubistd controls cubotino, not two-arm" in err
    code, _, err = ask("calibrate", "all", "--robot", "cubotino", "--yes", "--set", "lid.ajar=1")
    assert code == 2
    assert "lid.open" in err


def test_a_step_that_is_not_as_it_should_be_is_the_answer_of_all(daemon: Any, ask: Ask) -> None:
    steps = [f"--skip={step}" for step in ("home", "positions", "colours", "timing")]
    daemon.scanner.picture = lambda _: as_jpeg(Frame(np.zeros((480, 640, 3), np.uint8), "top", 0))
    code, told, _ = ask("calibrate", "all", "--robot", "cubotino", "--yes", *steps)
    assert code == 1
    assert told[-1]["views"]["U"][0].startswith("in view: no cube")


def test_steps_of_the_wizard_can_be_left_out(daemon: Any, ask: Ask) -> None:
    seeing(daemon, solved_face)
    daemon.scanner.readings = [SOLVED]
    steps = [f"--skip={step}" for step in ("home", "positions", "camera")]
    code, told, err = ask("calibrate", "all", "--robot", "cubotino", "--yes", *steps)
    assert code == 0
    assert [document["step"] for document in told] == ["colours", "timing"]
    assert "shows what was kept" in err
    code, _, err = ask("calibrate", "all", "--robot", "cubotino")
    assert code == 2
    assert "--yes" in err


def test_the_wizard_practises_on_a_simulated_robot_where_no_daemon_runs(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    code, told, err = ask("calibrate", "all", "--robot", "cubotino", "--yes", "--set=lid.open=1345")
    assert code == 0, err
    kept = next(one["values"] for one in told if one.get("step") == "positions")
    robot = load_profile("cubotino")
    confirmed = {
        f"actuators.{name}.positions_us.{position}": pulse
        for name, servo in robot.actuators.items()
        for position, pulse in servo.positions_us.items()
    }
    assert kept == confirmed | {"actuators.lid.positions_us.open": 1345}
    order = list(dict.fromkeys(document["step"] for document in told if "step" in document))
    assert order == ["positions", "home", "camera", "colours", "timing"]
    assert [document["saved"] for document in told if document.get("step") == "colours"] == [True]
    timing = next(one for one in told if one.get("step") == "timing")
    assert all(row["planned_us"] == row["measured_us"] for row in timing["operations"])
    assert "practising" in err
    assert "all steps are done; nothing was kept" in err


@pytest.mark.parametrize("name", ["cubotino", "six-motor", "mindcuber"])
def test_a_rehearsal_turns_every_layer_it_can_there_and_back(name: str) -> None:
    mechanism = build_mechanism(load_profile(name))
    plans = list(single_operation_plans(mechanism))
    assert all(len(plan.transitions) == 1 for plan in plans)
    for before, after in pairwise(plans):
        assert before.end == after.start
    moves = [
        plan.start.orientation.face_at(site) + ("", "", "2", "'")[quarters % 4]
        for plan in plans
        for step in plan.transitions
        for site, quarters in step.turns
    ]
    assert moves == [turn for face in "UDRLFB" for turn in (face, f"{face}'")]


class Proving:
    """A machine that does what it is told; a plan by what is kept takes twice as long."""

    def __init__(self, *readings: Any) -> None:
        self.calls: list[Any] = []
        self.readings = list(readings)
        self.motion = self.scanner = self.planner = self

    def home(self) -> None:
        self.calls.append("home")

    def scan(self) -> tuple[str, str]:
        self.calls.append("scan")
        return "images", f"seen {self.calls.count('scan')}"

    def read(self, images: str) -> Any:
        cube, confident = self.readings.pop(0)
        return SimpleNamespace(cube=cube, confident=confident, look_again="F")

    def scramble_cube(self, moves: None) -> str:
        return "a scramble"

    def plan_scramble(self, cube: str, state: Any, cancel: Any, _: Any) -> Any:
        assert not cancel.is_set()
        self.calls.append((cube, state))
        return SimpleNamespace(schedule=lambda: "scrambling")

    def plan(self, cube: Any, state: Any, cancel: Any, _: Any) -> Any:
        assert not cancel.is_set()
        self.calls.append(("plan", cube, state))
        return SimpleNamespace(moves=("R", "U"), duration_us=1000, schedule=lambda: "solving")

    def perform(self, schedule: str, _: Any) -> int:
        self.calls.append(schedule)
        return 1234


SCRAMBLED, SOLVED_CUBE = Cube.solved().apply("R U F2"), Cube.solved()


@pytest.mark.parametrize(
    ("known", "readings", "calls"),
    [
        (False, [SCRAMBLED, SOLVED_CUBE], ["home", "scan", ("plan", SCRAMBLED, "seen 1")]),
        (
            False,
            [SOLVED_CUBE, SCRAMBLED, SOLVED_CUBE],
            [
                *("home", "scan", ("a scramble", "seen 1"), "scrambling"),
                *("home", "scan", ("plan", SCRAMBLED, "seen 2")),
            ],
        ),
        (
            True,
            [SCRAMBLED, SCRAMBLED],
            [
                *("home", ("a scramble", None), "scrambling"),
                *("home", "scan", ("plan", SCRAMBLED, "seen 1")),
            ],
        ),
    ],
)
def test_a_proof_scrambles_what_is_solved_and_looks_after_the_solve(
    monkeypatch: pytest.MonkeyPatch, known: bool, readings: list[Any], calls: list[Any]
) -> None:
    machine: Any = Proving(*((cube, True) for cube in readings))
    planned: list[Any] = []

    class Before:
        def __init__(self, profile: Any, mechanism: Any) -> None:
            planned.append((profile, mechanism))

        def plan(self, cube: Any, state: Any, *_: Any) -> Any:
            planned.append((cube, state))
            return SimpleNamespace(duration_us=2000)

    monkeypatch.setattr(proof, "SolvePlanner", Before)
    monkeypatch.setattr(proof, "build_mechanism", lambda profile: profile.name)
    for kept, name in ((None, "cubotino"), (load_profile("four-arm"), "four-arm")):
        machine.readings = [(cube, True) for cube in readings]
        machine.calls.clear()
        planned.clear()
        bench = Bench(machine, load_profile("cubotino"), kept=kept)
        found = PROVING.run(bench, ProofRequest(solved=known))
        assert machine.calls == [*calls, "solving", "home", "scan"]
        assert planned[0][1] == name
        assert planned[1] == calls[-1][1:]
        assert found.model_dump() == {
            "solved": readings[-1].is_solved,
            "facelets": SCRAMBLED.facelets(),
            "moves": "R U",
            "planned_us": 1000,
            "planned_before_us": 2000,
            "executed_us": 1234,
        }


@pytest.mark.parametrize("reading", [(SCRAMBLED, False), (None, True)])
def test_a_cube_in_doubt_proves_nothing(reading: Any) -> None:
    machine: Any = Proving(reading)
    with pytest.raises(ScanError, match="beyond doubt") as raised:
        PROVING.run(Bench(machine, load_profile("cubotino")), ProofRequest())
    assert raised.value.look_again == ("F",)
