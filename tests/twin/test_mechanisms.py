"""Effects of face motors, grippers, a crane's parts and a flipper on a cube, and violations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Self

import numpy as np
import pytest

from robot.settings import Stepper, load_profile
from robot.settings.profile import for_cube
from robot.twin.cube import NORMALS, CubeBody, scrambled, turned
from robot.twin.flipper import ArmPlace, Flipper, SimulatedArm
from robot.twin.misadjustment import BUILT_AS_DRAWN, Misadjustment
from robot.twin.registry import parts_of
from robot.twin.simulated import SimulatedRobot

CRANE_SIZE = 5
ACTUATORS = {"u": "up", "r": "right", "f": "front", "d": "down", "l": "left", "b": "back"}

Move = tuple[str, str, int]
"""``turn`` or ``rotate``, a site, and quarter turns."""


class Parts:
    """The parts of a robot around a cube, moved in small steps.

    Rotations count in quarter turns, all other positions in the motors' own units.
    """

    def __init__(self, name: str, misadjusted: Misadjustment | None = None) -> None:
        profile = load_profile(name)
        if name == "crane":
            profile = for_cube(profile, CRANE_SIZE)
        self.places = {motor: one.places for motor, one in profile.actuators.items()}
        made = parts_of(profile, misadjusted)
        self.starts = made.start_places
        self.body = scrambled(profile.cube.size, 1)
        self._every_report: list[str] = []
        self.mechanism = made.around(self.body, lambda kind, *_: self._every_report.append(kind))
        self.positions = {
            motor: 0.0 if motor in made.rotations else float(places[self.starts[motor]])
            for motor, places in self.places.items()
        }
        self.mechanism.update(self.positions)

    @property
    def reported(self) -> list[str]:
        return list(dict.fromkeys(self._every_report))

    def move(self, steps: int = 8, **targets: float) -> Self:
        begin = dict(self.positions)
        for step in range(1, steps + 1):
            for name, target in targets.items():
                self.positions[name] = begin[name] + (target - begin[name]) * step / steps
            self.mechanism.update(self.positions)
        return self

    def do(self, *steps: str) -> Self:
        """Run steps such as ``"r1 f-1"``, which turns R to 1 and F to -1 together.

        ``"r+"`` closes jaws, ``"r-"`` opens them.
        """
        for step in steps:
            targets: dict[str, float] = {}
            for word in step.split():
                motor, what = ACTUATORS[word[0]], word[1:]
                if what in "+-":
                    jaw = f"{motor}-jaw"
                    targets[jaw] = self.places[jaw]["closed" if what == "+" else "open"]
                else:
                    targets[motor] = float(what)
            self.move(**targets)
        return self

    def raised(self, rows: float) -> Self:
        return self.move(elevator=252.0 * rows)

    def held(self, held: bool = True) -> Self:
        return self.move(squisher=1600.0 if held else 1200.0)

    def turned(self, quarters: float) -> Self:
        return self.move(turntable=self.positions["turntable"] + quarters)

    def rolled(self, steps: int = 8, *, back: bool = False) -> Self:
        return self.move(steps, flipper=1000.0 if back else 2000.0)


def is_changed(body: CubeBody, *moves: Move) -> bool:
    """Return whether the cube of seed 1 has changed by exactly these moves."""
    other = scrambled(body.size, 1)
    for what, site, quarters in moves:
        if what == "rotate":
            other.rotate(NORMALS[site], quarters)
        else:
            other.turn(site, quarters, int(what.removeprefix("turn") or 1))
    return other.facelets() == body.facelets()


def test_a_motor_turns_while_its_driver_is_enabled():
    """Check the enable input, which is active low and undriven when the robot is switched on."""
    profile = load_profile("six-motor")
    motor = profile.actuators_of(Stepper)["right"]
    robot, time_us = SimulatedRobot(profile, scrambled(3, 1)), 0.0
    for level, turns in ((None, False), (False, True), (True, False)):
        before, violations = robot.body.facelets(), len(robot.violations)
        if level is not None:
            robot.pin_changed(time_us, motor.pins.enable, level)
        robot.pin_changed(time_us, motor.pins.direction, True)
        time_us += 1e6  # otherwise it is the same incident as before
        for _ in range((motor.steps_per_turn or 0) // 4):
            time_us += 2_000
            robot.pin_changed(time_us, motor.pins.step, True)
            robot.pin_changed(time_us + 5, motor.pins.step, False)
        assert (robot.body.facelets() != before) is turns
        kinds = [one.kind for one in robot.violations[violations:]]
        assert kinds == ([] if turns else ["lost-steps"])
    assert "driver was off" in robot.violations[0].text


def test_motors_turn_their_faces():
    parts = Parts("six-motor").do("r1", "u-1 d2")
    assert is_changed(parts.body, ("turn", "R", 1), ("turn", "U", -1), ("turn", "D", 2))
    assert parts.reported == []
    parts.mechanism.slips.wanted += 1
    parts.do("f2", "f3")
    assert is_changed(
        parts.body, ("turn", "R", 1), ("turn", "U", -1), ("turn", "D", 2), ("turn", "F", 2)
    )
    assert not parts.mechanism.pose().layers_open
    assert parts.do("f3.76").mechanism.pose().layers_open


@pytest.mark.parametrize(
    ("robot", "steps", "moves"),
    [
        ("two-arm", ("r1", "r-", "r0", "r+", "d-1"), [("turn", "R", 1), ("turn", "D", -1)]),
        ("two-arm", ("d-", "r1", "d+"), [("rotate", "R", 1)]),
        (
            "four-arm",
            ("f- b-", "r1 l-1", "f+ b+", "r-", "r0", "r+", "l-", "l0", "l+", "f1"),
            [("rotate", "R", 1), ("turn", "F", 1)],
        ),
        ("soltvvo", ("f- b-", "r1"), [("turn", "R", 1)]),
        ("soltvvo", ("f- b-", "r1", "l-1"), [("rotate", "R", 1)]),
    ],
)
def test_grippers_turn_layers_or_the_cube(robot, steps, moves):
    """Check that the other holders of the cube decide, and that regripping turns nothing."""
    parts = Parts(robot).do(*steps)
    assert is_changed(parts.body, *moves)
    assert parts.reported == []


@pytest.mark.parametrize(
    ("robot", "steps", "kind"),
    [
        ("two-arm", ("r1", "d1"), "jaws-collide"),
        ("two-arm", ("r1 d1",), "jaws-collide"),
        ("two-arm", ("d-", "r1", "d1", "d+"), "jaws-collide"),
        ("four-arm", ("r-", "r1", "r+", "f1"), "jaws-collide"),
        ("four-arm", ("f- b-", "r1"), "layer-not-held"),
        ("two-arm", ("r- d-",), "dropped"),
        ("two-arm", ("r0.5", "r-"), "layer-not-square"),
        ("two-arm", ("d-", "r0.5", "d+"), "grip-not-square"),
    ],
)
def test_what_grippers_must_not_do_is_told(robot, steps, kind):
    parts = Parts(robot).do(*steps)
    assert kind in parts.reported
    assert kind != "layer-not-square" or [site for site, _ in parts.mechanism.pose().layers] == [
        "R"
    ]
    parts.mechanism.set_square()
    assert not parts.mechanism.pose().layers


@pytest.mark.parametrize(
    ("turn", "kind"), [("r1", "turn-while-jaws-move"), ("d1", "cube-hits-jaws")]
)
def test_half_open_jaws_are_in_the_way(turn, kind):
    parts = Parts("two-arm").move(**{"right-jaw": 1450.0})
    assert parts.reported == []
    assert parts.do(turn).reported == [kind]


def test_a_cube_stands_as_the_jaws_do_that_hold_it_alone():
    off = 3.0 / 90
    # The layer at R is turned by three degrees while the other jaws hold the rest.
    parts = Parts("two-arm").do(f"r{off}", "d-")
    pose = parts.mechanism.pose()
    assert np.degrees(np.arccos(pose.whole[1, 1])) == pytest.approx(3.0, abs=0.01)
    assert pose.layers == ()
    # Jaws that close on the cube square it again; the others release a cube held askew.
    parts.do(f"d{off}", "d+", "r-")
    whole = parts.mechanism.pose().whole
    assert np.degrees(np.arccos(whole[0, 0])) == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_as_many_rows_turn_as_were_raised(rows):
    parts = Parts("crane").raised(rows).held().turned(-1).held(False).raised(0)
    assert is_changed(parts.body, (f"turn{rows}", "U", -1))
    assert parts.reported == []


@pytest.mark.parametrize(
    ("act", "moves"),
    [
        (lambda crane: crane.raised(5).turned(2).raised(0), [("rotate", "U", 2)]),
        (lambda crane: crane.rolled(2), [("rotate", "R", 1)]),
        (lambda crane: crane.rolled(7), [("rotate", "R", 1)]),
        (lambda crane: crane.rolled(4).rolled(4, back=True), []),
        # Below a raised cube the flipper moves empty.
        (lambda crane: crane.raised(5).rolled().raised(0).rolled(back=True), [("rotate", "R", -1)]),
    ],
)
def test_a_crane_turns_and_rolls_the_whole_cube(act, moves):
    parts = act(Parts("crane"))
    assert is_changed(parts.body, *moves)
    assert parts.reported == []


@pytest.mark.parametrize(("squisher", "degrees"), [(1200, 0.0), (1594.5, 2.0), (1600, 4.0)])
def test_rows_that_a_crane_holds_too_softly_follow_those_that_it_turns(squisher, degrees):
    parts = Parts("crane", BUILT_AS_DRAWN)
    parts.raised(5).raised(2).move(squisher=squisher).turned(4 / 90).held(False).raised(0)
    twist = sum(quarters for _, quarters in parts.mechanism.pose().layers)
    assert 90 * twist == pytest.approx(degrees, abs=0.6)
    # In the turntable as a whole the cube becomes square.
    assert parts.raised(5).mechanism.pose().layers == ()
    assert parts.reported == []


WRONG: dict[str, Callable[[Parts], Parts]] = {
    "turn-unheld": lambda crane: crane.raised(2).turned(1),
    "lift-held": lambda crane: crane.raised(2).held().raised(3),
    "lift-not-square": lambda crane: crane.raised(5).turned(0.4).raised(0),
    "row-between": lambda crane: crane.raised(1.5).held(),
    "hold-not-square": lambda crane: crane.raised(5).turned(0.4).move(1, elevator=504.0).held(),
    "layer-not-square": lambda crane: crane.raised(2).held().turned(0.3).held(False),
    "flip-blocked": lambda crane: crane.raised(2).rolled(),
    "flip-held": lambda crane: crane.held().rolled(),
    "lift-flipping": lambda crane: crane.move(flipper=1500.0).raised(1),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_a_crane_must_not_do_is_told(kind):
    assert kind in WRONG[kind](Parts("crane")).reported


ROLL = (NORMALS["R"], 1)
PLACES = (
    ArmPlace("free", 0.0, "open"),
    ArmPlace("close", 10.0, "hold"),
    ArmPlace("flip", -10.0, "block", ROLL),
)
TOLERANCE = 0.125
"""In quarters. All values here have few bits, so that borders are hit exactly."""
LITTLE = 2.0**-10
FREE, HELD, HALF_WAY = 0.0, 10.0, 5.0


class Table:
    """A flipper with a table and a lid, or other arms, and the violations it reports."""

    def __init__(self, *arms: SimulatedArm) -> None:
        self.reported: list[str] = []
        arms = arms or (SimulatedArm("lid", PLACES),)
        self.flipper = Flipper(scrambled(3, 1), "table", arms, TOLERANCE, self._hear)
        self.flipper.update({"table": 0.0} | {arm.name: FREE for arm in arms})

    def _hear(self, kind: str, *_: str) -> None:
        self.reported.append(kind)

    def at(self, table: float, lid: float = FREE) -> None:
        self.flipper.update({"table": table, "lid": lid})

    def lift(self, part: float) -> float:
        """Return the lid's position after this fraction of a lift."""
        return -10 * (0.2 + 0.8 * part)

    def angles(self) -> tuple[float, float]:
        """Return the quarters by which cube and bottom layer are askew."""
        pose = self.flipper.pose()
        whole = math.atan2(pose.whole[0, 2], pose.whole[0, 0]) / (math.pi / 2)
        assert np.allclose(pose.whole, turned(NORMALS["D"], whole))
        return whole, dict(pose.layers).get("D", 0.0)


def test_an_arm_does_what_a_place_does_about_a_third_of_the_way():
    arm = SimulatedArm("lid", PLACES)
    roles = {0: "open", 3.49: "open", 3.51: "moving", 6.49: "moving", 6.51: "hold", 13.49: "hold"}
    assert {at: arm.role(at) for at in roles} == roles
    assert arm.role(13.51) == arm.role(-3.51) == "moving" and arm.role(-6.51) == "block"
    zoned = SimulatedArm("lid", [*PLACES[:1], ArmPlace("close", 10, "hold", zone=(4, 12))])
    roles = {3.51: "moving", 3.99: "moving", 4: "hold", 12: "hold", 12.01: "moving"}
    assert {at: zoned.role(at) for at in roles} == roles


@pytest.mark.parametrize("sign", [1, -1])
def test_closing_is_square_up_to_the_tolerance(sign):
    for askew, reported in ((TOLERANCE, []), (TOLERANCE + LITTLE, ["hold-not-square"])):
        table = Table()
        table.at(sign * askew)
        table.at(sign * askew, HALF_WAY)
        table.at(sign * askew, HELD)
        assert table.reported == reported
        assert table.angles() == pytest.approx((sign * askew, 0))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_layer_is_square_up_to_the_tolerance(sign):
    for askew, reported in ((TOLERANCE, []), (TOLERANCE + LITTLE, ["layer-not-square"])):
        table = Table()
        table.at(0, HELD)
        table.at(sign * (1 + askew), HELD)
        assert table.angles() == pytest.approx((0, sign * askew))
        table.at(sign * (1 + askew), HALF_WAY)
        assert table.reported == reported
        assert table.angles() == pytest.approx((sign * askew, 0)), "the cube stands as its layer"
        assert is_changed(table.flipper.body, ("turn", "D", sign))


@pytest.mark.parametrize(
    "highest, reported", [(0.19, []), (0.21, ["flip-incomplete"]), (0.74, ["flip-incomplete"])]
)
def test_a_cube_falls_back_or_over(highest, reported):
    table = Table()
    for part in (highest / 2, highest, highest / 2):
        table.at(0, table.lift(part))
        turn = turned(ROLL[0], part)
        assert np.allclose(table.flipper.pose().whole, turn)
    table.at(0)
    assert table.reported == reported and is_changed(table.flipper.body)
    table.reported.clear()
    table.at(0, table.lift(highest))
    table.flipper.note_reset()
    table.at(0)
    assert not table.reported, "that was a reset's fault"


def test_a_cube_that_was_lifted_far_enough_rolls_once():
    table = Table()
    seen = {0.5: 0.5, 0.76: -0.24, 0.9: -0.1, 0.7: -0.1, 0.1: -0.1}
    for part, off in seen.items():
        table.at(0, table.lift(part))
        assert np.allclose(table.flipper.pose().whole, turned(ROLL[0], off))
        assert is_changed(table.flipper.body, ("rotate", "R", int(off < 0)))
    table.at(0)
    assert not table.reported and is_changed(table.flipper.body, ("rotate", "R", 1))
    assert np.allclose(table.flipper.pose().whole, np.eye(3))
    table.flipper.slips.wanted = 1
    for rolls in (1, 2):
        table.at(0, table.lift(1.0))
        table.at(0)
        assert is_changed(table.flipper.body, ("rotate", "R", rolls))


def test_a_cube_that_an_arm_holds_is_not_rolled_by_another():
    tipper = SimulatedArm("tipper", (PLACES[0], PLACES[2]))
    table = Table(SimulatedArm("lid", PLACES[:2]), tipper)
    for held, tipped in ((FREE, FREE), (HALF_WAY, FREE), (HELD, FREE), (HELD, -5.0), (HELD, -10.0)):
        table.flipper.update({"table": 0.0, "lid": held, "tipper": tipped})
    assert table.reported == ["flip-held"]
