"""A kind of mechanism from outside the package, which nobody has built."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Literal

import pytest

from robot.machine.board_configuration import actuator_setups, homing_order, homing_steps
from robot.mechanism.durations import rotation_us
from robot.mechanism.graph import (
    ActuatorMotion,
    Configuration,
    Mechanism,
    Operation,
    State,
    Transition,
    signed_quarters,
)
from robot.mechanism.registry import MECHANISMS, HomeActuator, MechanismKind, build_mechanism
from robot.planner import plan_scan, plan_solve
from robot.settings import BadProfile, parse_profile
from robot.settings.base import Name
from robot.settings.document import Finding
from robot.settings.mechanisms import (
    MECHANISM_SETTINGS,
    Actuators,
    MechanismSettings,
    check_rotates,
    missing,
)
from robot.settings.profile import RobotProfile
from robot.text.languages import catalogue
from robot.text.operations import OTHERS
from robot.twin.cube import CubeBody, Pose, Slipping, TwistingCube, scrambled
from robot.twin.misadjustment import Misadjustment
from robot.twin.registry import SIMULATED_MECHANISMS, MechanismParts
from robot.twin.studio import Studio
from robot.twin.violations import Reporter
from solver.cube.cube import Cube
from solver.cube.orientation import Orientation
from tests.rig.pins import PinDriver
from tests.rig.stickers import replay

PROFILE = """\
format: 1
name: gimbal
title: A cube in two rings, with one motor for its bottom layer
cube: {size: 3}
mechanism:
  kind: gimbal
  layer: layer
  rings: {x: pitch, z: roll}
actuators:
  layer: &motor
    kind: stepper
    pins: {step: 2, direction: 3}
    steps_per_turn: 800
    max_speed_steps_per_s: 4000
    max_acceleration_steps_per_s2: 40000
  pitch: {<<: *motor, pins: {step: 4, direction: 5}}
  roll: {<<: *motor, pins: {step: 6, direction: 7}}
cameras:
  - name: above
    kind: simulated
    views:
      - {site: U, quad: [[0.29, 0.17], [0.71, 0.17], [0.74, 0.74], [0.26, 0.74]]}
"""


class GimbalSettings(MechanismSettings):
    """Settings. ``layer`` turns the bottom layer, each of ``rings`` the whole cube on its axis."""

    kind: Literal["gimbal"]
    layer: Name
    rings: dict[Literal["x", "z"], Name]

    def check(self, actuators: Actuators, size: int) -> Iterator[Finding]:
        for key, name in {"layer": self.layer, **self.rings}.items():
            path = ("mechanism", key) if key == "layer" else ("mechanism", "rings", key)
            if name not in actuators:
                yield path, missing(name, actuators)
            else:
                yield from check_rotates(path, name, actuators[name])


def build_gimbal(profile: RobotProfile, gimbal: GimbalSettings) -> Mechanism:
    steps = [_turn(profile, gimbal.layer, quarters) for quarters in (1, 2, -1)]
    steps += [
        _rotation(profile, name, axis, quarters)
        for axis, name in gimbal.rings.items()
        for quarters in (1, 2, -1)
    ]
    positions = dict.fromkeys([gimbal.layer, *gimbal.rings.values()], 0)
    start = State(0, Orientation(0))
    return Mechanism(profile, (Configuration(positions),), tuple(steps), start)


def _turn(profile: RobotProfile, name: str, quarters: int) -> Transition:
    time_us = rotation_us(profile, name, quarters, held=True)
    operations = (
        Operation("turn", time_us, site="D", quarter_turns=signed_quarters(quarters)),
        Operation("clamp", time_us, fields={"rings": "both"}),
    )
    motions = (ActuatorMotion(name, time_us, quarters=quarters, held=True),)
    return Transition(0, 0, time_us, motions, operations, turns=(("D", quarters % 4),))


def _rotation(profile: RobotProfile, name: str, axis: str, quarters: int) -> Transition:
    time_us = rotation_us(profile, name, quarters, held=False)
    operations = (Operation("rotate", time_us, axis=axis, quarter_turns=signed_quarters(quarters)),)
    motions = (ActuatorMotion(name, time_us, quarters=quarters),)
    return Transition(0, 0, time_us, motions, operations, rotation=(axis, quarters % 4))


class Gimbal:
    """The toy in simulation: each motor's effect, read from the settings."""

    def __init__(self, cube: TwistingCube, layer: str, rings: Mapping[str, str]) -> None:
        self.slips = Slipping()
        self._cube = cube
        self._turned = {layer: (cube.turn_layer, "D")}
        self._turned |= {n: (cube.turn_whole, {"x": "R", "z": "F"}[a]) for a, n in rings.items()}
        self._at: dict[str, float] = {}

    @property
    def body(self) -> CubeBody:
        return self._cube.body

    def update(self, positions: Mapping[str, float]) -> None:
        for motor, (turn, site) in self._turned.items():
            moved = positions[motor] - self._at.get(motor, positions[motor])
            self._at[motor] = positions[motor]
            if moved:
                turn(site, moved)

    def place(self, actuator: str, position: float) -> str | None:
        return None

    def note_reset(self) -> None:
        pass

    def set_square(self) -> None:
        self._cube.set_square()

    def pose(self) -> Pose:
        return self._cube.pose()


def gimbal_parts(profile: RobotProfile, _: Misadjustment | None) -> MechanismParts:
    settings = profile.mechanism
    assert isinstance(settings, GimbalSettings)

    def around(body: CubeBody, report: Reporter) -> Gimbal:
        return Gimbal(TwistingCube(body, 0.1, report), settings.layer, settings.rings)

    motors = (settings.layer, *settings.rings.values())
    return MechanismParts({name: {} for name in motors}, {}, around)


@pytest.fixture
def gimbal(monkeypatch: pytest.MonkeyPatch) -> RobotProfile:
    kind = MechanismKind(build_gimbal)
    monkeypatch.setitem(OTHERS, "clamp", "Clamp {rings} rings")
    monkeypatch.setitem(MECHANISM_SETTINGS, "gimbal", GimbalSettings)
    monkeypatch.setitem(MECHANISMS, "gimbal", kind)
    monkeypatch.setitem(SIMULATED_MECHANISMS, "gimbal", gimbal_parts)
    return parse_profile(PROFILE, "toy.yaml")


def test_an_unregistered_kind_is_refused_with_those_there_are():
    with pytest.raises(BadProfile, match=r"toy.yaml:5: mechanism: kind must be .*'flipper'"):
        parse_profile(PROFILE, "toy.yaml")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("layer: layer", "lair: layer", "toy.yaml:7: mechanism.lair: unknown key; did you"),
        ("x: pitch", "x: pith", "toy.yaml:8: mechanism.rings.x: no actuator named pith"),
        ("x: pitch", "y: pitch", "toy.yaml:8: mechanism.rings.y"),
        (", z: roll", "", "toy.yaml:5: mechanism: nothing can ever turn"),
    ],
)
def test_faults_of_a_new_kind_are_told_as_those_of_any(gimbal, old, new, complaint):
    with pytest.raises(BadProfile) as caught:
        build_mechanism(parse_profile(PROFILE.replace(old, new), "toy.yaml"))
    assert complaint in str(caught.value)
    assert "GimbalSettings" in RobotProfile.model_json_schema()["$defs"]


def test_a_new_kind_is_planned_simulated_and_drawn(gimbal):
    body = scrambled(3, 5)
    pins = PinDriver(gimbal, body)
    mechanism = build_mechanism(gimbal)
    tour = plan_scan(mechanism)
    pictures = []
    for step in tour.steps:
        if step.moves:
            pins.play(step.plan.schedule())
        assert {pins.robot.body.face_at(look.site) for look in step.looks} == {
            look.face for look in step.looks
        }
        pictures.append(Studio(pins.robot, seed=1).shoot().image[100:300, 200:440].astype(int))
    assert {look.face for step in tour.steps for look in step.looks} == set("URFDLB")
    # Each step shows another face, with stickers of other colours.
    assert all(abs(one - other).max() > 60 for one, other in pairwise(pictures))
    cube = Cube.from_facelets(body.held_upright().facelets())
    plan = plan_solve(cube, mechanism, tour.end, time_limit=0.3)
    assert replay(plan, cube.facelets()).is_solved
    pins.play(plan.schedule())
    assert pins.robot.solved
    assert not pins.robot.violations
    words = {catalogue("en").operation(operation.as_dict()) for operation in plan.operations}
    assert words >= {"Turn the bottom layer a quarter to the left", "Clamp both rings"}


def test_a_new_kind_is_set_up_and_homed(gimbal):
    setups = actuator_setups(gimbal)
    order = homing_order(gimbal)
    assert [setup.name for setup in setups] == ["layer", "pitch", "roll"]
    assert homing_steps(gimbal, setups, order, {}) == [HomeActuator(name) for name in order]
