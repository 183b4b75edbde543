"""Times, colours and proofs by themselves: what is asked of a robot that is all pretence, and what
is made of its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from robot.calibration.auto.finder import finder_for
from robot.calibration.auto.finding import CalibrationError
from robot.calibration.auto.grippers import RingFinder
from robot.calibration.auto.motors import (
    MotorWiring,
    _slowed,
    common_speeds,
    let_turn,
    wiring_finding,
    wiring_of,
)
from robot.calibration.cubotino import _holder_times, _lid_times, _pulses, _ServoFile
from robot.calibration.steps import colours, timing
from robot.calibration.steps.colours import CubeColours
from robot.calibration.steps.timing import OperationTimes, _Timed
from robot.calibration.trials import proof
from robot.calibration.trials.proof import ProofRequest
from robot.calibration.trials.trial import Bench
from robot.calibration.versions import CubeSizes, _leaves
from robot.mechanism.graph import Operation
from robot.planner import build_mechanism
from robot.settings import list_profiles, load_profile
from robot.settings.actuators import Servo
from robot.settings.stepper import Stepper
from robot.text.faults import ScanError
from solver.cube.cube import Cube
from solver.errors import InvalidRequest

CUBOTINO = load_profile("cubotino")
FOUR_ARM = load_profile("four-arm")


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (Operation("turn", 1, site="D", quarter_turns=1), "turn D"),
        (Operation("turn", 1, site="D", quarter_turns=-1), "turn D"),
        (Operation("turn", 1, site="D", quarter_turns=2), "turn D half"),
        (Operation("rotate", 1, axis="x", quarter_turns=-2), "rotate x half"),
        (Operation("lid", 1, fields={"to": "close", "part": 3}), "lid close"),
        (Operation("grip", 1, site="R", fields={"site": "R"}), "grip R"),
        (Operation("home", 1), "home"),
    ],
)
def test_operations_have_the_words_of_people(operation: Operation, words: str) -> None:
    assert timing._words(operation) == words


def test_times_are_averaged_and_only_slow_servos_corrected() -> None:
    one, other = _Timed("lid close", "lid", 100, 103), _Timed("lid close", "lid", 200, 208)
    average = timing._average("lid close", [one, other])
    assert average.model_dump() == {
        "operation": "lid close",
        "count": 2,
        "planned_us": 150,
        "measured_us": 156,
    }
    for took, slow in ((100_900, False), (101_000, False), (101_100, True), (90_000, False)):
        timed = [
            _Timed("lid", "lid", 40_000, 40_000),
            _Timed("lid", "lid", 60_000, took - 40_000),
            _Timed("both", None, 1000, 9000),
            _Timed("turn", "holder", 1000, 1005),
        ]
        values = timing._corrections(CUBOTINO, timed)
        assert list(values) == (["actuators.lid.travel"] if slow else [])
    lid = CUBOTINO.actuators_of(Servo)["lid"]
    rows = timing._slower(lid, 1.1111)
    for row, before in zip(rows, lid.travel, strict=True):
        assert row["ms"] == round(before.ms * 1.1111, 1)
        held = before.held_ms
        assert row["held_ms"] == (None if held is None else round(held * 1.1111, 1))
    holder = CUBOTINO.actuators_of(Servo)["holder"]
    assert [row["held_ms"] for row in timing._slower(holder, 2.0)] == [
        2 * (row.held_ms or 0) for row in holder.travel
    ]


def test_a_schedule_moves_one_actuator_or_several() -> None:
    def schedule(*names: str) -> Any:
        return SimpleNamespace(profiles=[SimpleNamespace(actuator=name) for name in names])

    assert timing._only_actuator(schedule("lid", "lid")) == "lid"
    assert timing._only_actuator(schedule("lid", "holder")) is None
    assert timing._only_actuator(schedule()) is None


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

    def scrambled(self, moves: None) -> str:
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
        found = proof._proved(bench, ProofRequest(solved=known))
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
        proof._proved(Bench(machine, CUBOTINO), ProofRequest())
    assert raised.value.look_again == ("F",)


def test_four_grippers_beside_the_cube_are_a_ring() -> None:
    supports = {
        str(name) for name in list_profiles() if finder_for(load_profile(str(name))) is RingFinder
    }
    assert supports == {"four-arm"}


def stepper(**changes: Any) -> Stepper:
    return FOUR_ARM.actuators_of(Stepper)["right"].model_copy(update=changes)


@pytest.mark.parametrize("inverted", [True, False])
def test_wiring_is_what_a_switch_makes_of_a_turn(inverted: bool) -> None:
    motor = stepper(steps_per_turn=1600, invert_direction=inverted)
    for per_degree, turn, misses in (
        (1600 / 360, 1600, 0.0),
        (-1600 / 360, 1600, 0.0),
        (3200 / 360 * 1.07, 3200, 0.07),
        (100 / 360 * 0.93, 100, -0.07),
        (25_600 / 360, 25_600, 0.0),
    ):
        found = wiring_of(motor, "right", per_degree, 3.6)
        assert found == MotorWiring(
            inverted != (per_degree < 0), turn, 4, pytest.approx(misses, abs=1e-9)
        )
    for per_degree in (1600 / 360 * 1.09, 25_600 / 360 * 1.09, 100 / 360 * 0.9):
        with pytest.raises(CalibrationError, match="right makes"):
            wiring_of(motor, "right", per_degree, 0.0)
    odd = stepper(steps_per_turn=200)
    assert wiring_of(odd, "right", 100 / 360, 0.0).turn_steps == 100
    with pytest.raises(CalibrationError):
        wiring_of(odd, "right", 50 / 360, 0.0)  # no quarter turn would be whole steps


@pytest.mark.parametrize(("inverted", "way"), [(True, "the other way round"), (False, "the right")])
def test_what_is_found_of_a_motor_is_told_and_kept(inverted: bool, way: str) -> None:
    motor = stepper(invert_direction=False)
    wiring = MotorWiring(inverted, 3200, 7, 0.01234)
    found = wiring_finding("right", motor, wiring, {"seen": 1})
    key = "actuators.right"
    assert found.values == {
        f"{key}.invert_direction": inverted,
        f"{key}.steps_per_turn": 3200,
        f"{key}.backlash_steps": 7,
    }
    assert found.text.startswith(f"right: turns {way}")
    assert found.text.endswith("3200 steps are a turn, 7 of play")
    assert found.evidence == {"seen": 1, "steps_off_percent": 1.23}
    assert list(found.uncertain.items()) == [(f"{key}.backlash_steps", 4)]


def test_motors_are_let_turn_as_they_are_wired() -> None:
    tried: list[Mapping[str, Any]] = []
    session: Any = SimpleNamespace(profile=FOUR_ARM, try_out=tried.append)
    let_turn(session, ["right", "front"])
    wired = {name: FOUR_ARM.actuators[name].is_inverted for name in ("right", "front")}
    assert tried == [{f"actuators.{name}.invert_direction": on for name, on in wired.items()}]


def test_speeds_keep_their_proportions_and_none_grows() -> None:
    turns = {name: one.steps_per_turn or 0 for name, one in FOUR_ARM.actuators_of(Stepper).items()}

    def slower(**factors: float) -> dict[str, Any]:
        found = {f"actuators.{n}.steps_per_turn": round(turns[n] * f) for n, f in factors.items()}
        told = list(common_speeds(FOUR_ARM, found))
        assert len(told) <= 1
        return dict(told[0].values) if told else {}

    speed = FOUR_ARM.actuators_of(Stepper)["right"].max_speed_steps_per_s
    key = "actuators.{}.max_speed_steps_per_s".format
    assert slower() == {} == slower(right=1.0, left=1.0) == slower(right=2.0, left=2.0)
    half = slower(right=1.0, left=2.0)
    assert half[key("right")] == round(speed / 2) and key("left") not in half
    less = slower(right=0.5, left=1.0)
    assert less[key("right")] == round(speed / 2) and key("left") not in less
    assert slower(right=0.5)[key("right")] == round(speed / 2)
    tiny = _slowed(FOUR_ARM, {"right": 1e-9})
    assert tiny[key("right")] == 1


class File:
    """CUBOTino's settings as a file has them."""

    def __init__(self, tmp_path: Any, **values: Any) -> None:
        self.file = _ServoFile(tmp_path, values)


def test_pulses_are_between_those_of_the_servo(tmp_path: Any) -> None:
    ends = {"t_min_pulse_width": "1", "t_max_pulse_width": 2}
    places = {"t_servo_open": "-0.5", "t_servo_close": 0, "t_servo_flip": "1"}
    found = _pulses(File(tmp_path, **ends, **places).file, "lid")
    assert found == {
        "actuators.lid.positions_us.open": 1250,
        "actuators.lid.positions_us.close": 1500,
        "actuators.lid.positions_us.flip": 2000,
    }


def test_lid_times_are_milliseconds_each_for_its_way(tmp_path: Any) -> None:
    file = File(
        tmp_path,
        t_open_close_time=0.3,
        t_flip_open_time="0.5",
        t_close_to_flip_time=0.25,
        t_flip_to_close_time=0.0001,
        t_rel_time=0.02,
    ).file
    assert _lid_times(file) == {
        "actuators.lid.travel": [
            {"between": ["open", "close"], "ms": 300.0},
            {"between": ["open", "flip"], "ms": 500.0},
            {"between": ["close", "flip"], "ms": 250.0, "one_way": True},
            {"between": ["flip", "close"], "ms": 1.0, "one_way": True},
        ],
        "actuators.lid.settle_ms": {"close": 20.0},
    }
    assert file.used >= {"t_rel_time", "t_flip_open_time"}


def test_half_turns_take_as_many_times_longer_as_in_the_profile(tmp_path: Any) -> None:
    file = File(tmp_path, b_spin_time=0.333337, b_rotate_time=0.444447, b_rel_time=0.0201237).file
    quarter, half = (row.ms for row in CUBOTINO.actuators_of(Servo)["holder"].travel[1:])
    longer = half / quarter
    assert longer != 2
    assert _holder_times(file, CUBOTINO) == {
        "actuators.holder.travel": [
            {"between": ["ccw", "home"], "ms": 333.337, "held_ms": 444.447},
            {"between": ["home", "cw"], "ms": 333.337, "held_ms": 444.447},
            {
                "between": ["ccw", "cw"],
                "ms": round(longer * 333.337, 3),
                "held_ms": round(longer * 444.447, 3),
            },
        ],
        "actuators.holder.held_settle_ms": 20.124,
    }


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
    assert list(_leaves({"a": {"b": 1, "c": {"d": 2}}, "e": 3})) == ["a.b", "a.c.d", "e"]
