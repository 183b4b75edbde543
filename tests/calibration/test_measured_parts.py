"""Times, colours and proofs by themselves: what is asked of a robot that is all pretence, and what
is made of its answers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from robot.calibration.auto.finder import finder_for
from robot.calibration.auto.grippers import RingFinder
from robot.calibration.steps import colours, timing
from robot.calibration.steps.colours import CubeColours
from robot.calibration.steps.timing import OperationTimes
from robot.calibration.trials import proof
from robot.calibration.trials.proof import ProofRequest
from robot.calibration.trials.trial import Bench
from robot.calibration.versions import CubeSizes
from robot.planner import build_mechanism
from robot.settings import list_profiles, load_profile
from robot.text.faults import ScanError
from solver.cube.cube import Cube
from solver.errors import InvalidRequest

CUBOTINO = load_profile("cubotino")
FOUR_ARM = load_profile("four-arm")


@pytest.mark.parametrize("name", ["cubotino", "six-motor", "mindcuber"])
def test_a_rehearsal_turns_every_layer_it_can_there_and_back(name: str) -> None:
    mechanism = build_mechanism(load_profile(name))
    plans = list(timing.single_operation_plans(mechanism))
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


def measurement(kind: Any, perform: Callable[..., Any], **more: Any) -> Any:
    session: Any = SimpleNamespace(profile=CUBOTINO, perform=perform)
    return kind(session, **more)


def test_the_step_timing_tells_both_times_and_which_are_longer() -> None:
    row = timing.TimedOperation(operation="lid close", count=3, planned_us=1250, measured_us=1301)
    for values, text in (
        ({}, "everything takes as long as planned"),
        ({"a": 1, "b": 2}, "longer than planned: a, b"),
    ):
        found = timing.Timings(operations=[row], values=values)
        step = measurement(OperationTimes, lambda trial, found=found: found)
        (told,) = step.measure()
        assert told.cells == ("lid close", "3", "1.2 ms", "1.3 ms")
        assert (step.text, step.values) == (text, values)
        assert step.document == found.model_dump(mode="json")


def test_the_step_colours_takes_a_cube_that_is_solved_known_or_read() -> None:
    asked: list[Any] = []
    light = {face: [0.1, 0.256, 0.3] for face in "URFDLB"}

    def perform(trial: Any, facelets: str | None) -> Any:
        asked.append(facelets)
        values = {"colours": {"linear_rgb": light}}
        return colours.MeasuredColours(facelets="U" * 54, values=values)

    solved = "".join(face * 9 for face in "URFDLB")
    for more, choice, facelets in (
        ({}, "", None),
        ({}, "s", solved),
        ({"solved": True}, "", solved),
        ({"facelets": "D" * 54}, "", "D" * 54),
        ({"facelets": "D" * 54}, "s", solved),
    ):
        step = measurement(CubeColours, perform, **more)
        rows = list(step.measure(choice))
        assert asked.pop() == facelets
        assert rows[0].cells == ("  U  ", "0.10, 0.26, 0.30")
        assert (len(rows), rows[0].colour) == (6, light["U"])
        assert step.values == {"colours": {"linear_rgb": light}}
        assert step.document["facelets"] == "U" * 54
    with pytest.raises(InvalidRequest):
        measurement(CubeColours, perform, facelets="D" * 54, solved=True)
    measurement(CubeColours, perform, facelets=None, solved=True)


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


SCRAMBLED, SOLVED = Cube.solved().apply("R U F2"), Cube.solved()


@pytest.mark.parametrize(
    ("known", "readings", "calls"),
    [
        (False, [SCRAMBLED, SOLVED], ["home", "scan", ("plan", SCRAMBLED, "seen 1")]),
        (
            False,
            [SOLVED, SCRAMBLED, SOLVED],
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
    for kept, name in ((None, "cubotino"), (FOUR_ARM, "four-arm")):
        machine.readings = [(cube, True) for cube in readings]
        machine.calls.clear()
        planned.clear()
        bench = Bench(machine, CUBOTINO, kept=kept)
        found = proof._prove(bench, ProofRequest(solved=known))
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
        proof._prove(Bench(machine, CUBOTINO), ProofRequest())
    assert raised.value.look_again == ("F",)


def test_four_grippers_beside_the_cube_are_a_ring() -> None:
    supports = {
        str(name) for name in list_profiles() if finder_for(load_profile(str(name))) is RingFinder
    }
    assert supports == {"four-arm"}


@pytest.mark.parametrize(
    ("size", "layers", "other"), [(None, 3, None), (3, 3, None), (5, 5, "5"), (2, 2, "2")]
)
def test_values_of_another_size_have_their_own_place(
    size: int | None, layers: int, other: str | None
) -> None:
    crane = load_profile("crane")
    sizes = CubeSizes(crane, size)
    assert (sizes.layers, sizes.other, sizes.profile.cube.size) == (layers, other, layers)
    values = {
        "colours": 1,
        "colours.U": 2,
        "cameras.top.views.U.quad": 3,
        "cameras.top.gain": 4,
        "actuators.x.quad": 5,
        "actuators.turntable.max_speed_steps_per_s": 6,
        "actuators.elevator.positions_steps.row-1": 7,
    }
    common, own = sizes.split(values)
    assert sorted(common.values()) == [4, 5, 6]
    assert sorted(own.values()) == [1, 2, 3, 7]
