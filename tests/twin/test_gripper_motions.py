"""What servo pulses do to a cube between grippers, and which of them are violations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from robot.settings import RobotProfile, parse_profile
from robot.settings.actuators import Servo
from robot.twin.cube import NORMALS, CubeBody, scrambled
from robot.twin.registry import parts_of
from robot.twin.simulated import SimulatedRobot

ROTATION_US = {-1: 700, 0: 1300, 1: 1900, 2: 2500}


def profile_text(sites: str, size: int = 3, others: str = "hold") -> str:
    """Servo grippers at ``sites``: actuators ``turn-r`` and ``jaw-r`` and so on."""
    lines = ["format: 1", "name: arms", "title: arms", f"cube: {{size: {size}}}", "mechanism:"]
    lines += ["  kind: grippers", f"  others: {others}", "  grippers:"]
    for site in sites:
        name = site.lower()
        lines.append(
            f"    {site}: {{rotation: turn-{name}, jaw: jaw-{name}, start: zero,"
            " angles: {minus: -1, zero: 0, plus: 1, two: 2}}"
        )
    lines.append("actuators:")
    for number, site in enumerate(sites.lower()):
        lines.append(
            f"  turn-{site}: {{kind: servo, pins: {{pulse: {2 * number + 2}}},"
            " positions_us: {minus: 700, zero: 1300, plus: 1900, two: 2500}, speed_us_per_s: 2000}"
        )
        lines.append(
            f"  jaw-{site}: {{kind: servo, pins: {{pulse: {2 * number + 3}}},"
            " positions_us: {closed: 1200, open: 1800}, speed_us_per_s: 2000}"
        )
    return "\n".join(lines) + "\n"


FRAME_US = 20_000


@dataclass
class PulseHand:
    """Drives every servo of a robot at 50 Hz, slewing its pulses as told."""

    robot: SimulatedRobot
    pulses: dict[str, float]
    time_us: float = 0.0
    pins: dict[str, int] = field(default_factory=dict)

    def move(self, duration_us: float, **targets: float) -> None:
        """Slew the named servos' pulses to their targets, all in ``duration_us``."""
        start, begin = self.time_us, dict(self.pulses)
        while self.time_us < start + duration_us:
            part = min(1.0, (self.time_us + FRAME_US - start) / duration_us)
            for name, target in targets.items():
                self.pulses[name] = begin[name] + (target - begin[name]) * part
            self._frame()

    def rest(self, duration_us: float = 200_000) -> None:
        """Keep all pulses as they are."""
        self.move(duration_us)

    def _frame(self) -> None:
        frame = self.time_us
        edges = []
        for number, (name, pin) in enumerate(self.pins.items()):
            rise = frame + 2_300 * number
            edges += [(rise, pin, True), (rise + self.pulses[name], pin, False)]
        for time, pin, level in sorted(edges):
            self.robot.pin_changed(time, pin, level)
        self.time_us = frame + FRAME_US
        self.robot.advance(self.time_us)


def servo_hand(profile: RobotProfile, body: CubeBody) -> PulseHand:
    """A hand on every servo of a robot, pulses where the robot stands when switched on."""
    robot = SimulatedRobot(profile, body)
    starts = parts_of(profile).start_places
    servos = {name: s for name, s in profile.actuators.items() if isinstance(s, Servo)}
    pulses = {name: float(servo.positions_us[starts[name]]) for name, servo in servos.items()}
    hand = PulseHand(robot, pulses)
    hand.pins = {name: servo.pins.pulse for name, servo in servos.items()}
    hand.rest(100_000)
    return hand


class Arms:
    """Moves rotations (quarters) and jaws by name, one step after the other."""

    def __init__(self, hand: PulseHand) -> None:
        self.hand = hand
        self.body = hand.robot.body

    def step(self, text: str) -> None:
        """``"r1 f-1"`` turns R to 1 and F to -1 together; ``"r+"`` closes, ``"r-"`` opens."""
        targets = {}
        for word in text.split():
            site, what = word[0], word[1:]
            if what in "+-":
                targets[f"jaw-{site}"] = 1200 if what == "+" else 1800
            else:
                targets[f"turn-{site}"] = ROTATION_US[int(what)]
        self.hand.move(400_000, **targets)
        self.hand.rest(150_000)

    def do(self, *steps: str) -> list[str]:
        """Perform steps; the kinds of violations so far."""
        for step in steps:
            self.step(step)
        return [violation.kind for violation in self.hand.robot.violations]


def make_arms(sites: str, size: int = 3, others: str = "hold") -> Arms:
    """A simulated robot with grippers at these sites, at rest."""
    profile = parse_profile(profile_text(sites, size, others))
    return Arms(servo_hand(profile, scrambled(size, 1)))


def expected(change: Callable[[CubeBody], None], size: int = 3) -> str:
    body = scrambled(size, 1)
    change(body)
    return body.facelets()


def test_regripping_does_not_turn_anything() -> None:
    arms = make_arms("RD")
    assert arms.do("r1", "r-", "r0", "r+", "d-1") == []

    def change(body: CubeBody) -> None:
        body.turn("R", 1)
        body.turn("D", -1)

    assert arms.body.facelets() == expected(change)


def test_one_gripper_alone_turns_the_whole_cube() -> None:
    arms = make_arms("RD")
    assert arms.do("d-", "r1", "d+") == []
    assert arms.body.facelets() == expected(lambda body: body.rotate(NORMALS["R"], 1))


def test_a_pair_tilts_the_cube() -> None:
    arms = make_arms("RLFB")
    assert arms.do("f- b-", "r1 l-1", "f+ b+", "r-", "r0", "r+", "l-", "l0", "l+", "f1") == []

    def change(body: CubeBody) -> None:
        body.rotate(NORMALS["R"], 1)
        body.turn("F", 1)

    assert arms.body.facelets() == expected(change)


def test_two_layers_of_a_pocket_cube_between_two_arms() -> None:
    arms = make_arms("RLFB", 2, "release")
    assert arms.do("f- b-", "r1") == []
    assert arms.body.facelets() == expected(lambda body: body.turn("R", 1), 2)
    # The other arm follows: now the whole cube is tilted.
    assert arms.do("l-1") == []
    assert arms.body.facelets() == expected(lambda body: body.rotate(NORMALS["R"], 1), 2)


@pytest.mark.parametrize(
    ("sites", "steps", "kind"),
    [
        ("RD", ("r1", "d1"), "jaws-collide"),
        ("RD", ("r1 d1",), "jaws-collide"),
        ("RD", ("d-", "r1", "d1", "d+"), "jaws-collide"),
        ("RLFB", ("r-", "r1", "r+", "f1"), "jaws-collide"),
        ("RLFB", ("f- b-", "r1"), "layer-not-held"),
        ("RD", ("r- d-",), "dropped"),
    ],
)
def test_violations(sites: str, steps: tuple[str, ...], kind: str) -> None:
    assert kind in make_arms(sites).do(*steps)


def test_letting_go_between_quarters_is_a_violation() -> None:
    arms = make_arms("RD")
    arms.hand.move(300_000, **{"turn-r": 1600})
    arms.hand.rest()
    assert arms.do("r-") == ["layer-not-square"]
    assert list(dict(arms.hand.robot.pose().layers)) == ["R"]
    arms.hand.robot.set_square()
    assert not arms.hand.robot.pose().layers


def test_closing_on_a_slanted_cube_is_a_violation() -> None:
    arms = make_arms("RD")
    arms.do("d-")
    arms.hand.move(300_000, **{"turn-r": 1600})
    arms.hand.rest()
    assert arms.do("d+") == ["grip-not-square"]


def test_turning_half_open_jaws_is_a_violation() -> None:
    arms = make_arms("RD")
    arms.hand.move(300_000, **{"jaw-r": 1500})
    assert arms.do("r1") == ["turn-while-jaws-move"]


def test_a_cube_that_turns_against_half_open_jaws_is_a_violation() -> None:
    arms = make_arms("RD")
    arms.hand.move(300_000, **{"jaw-r": 1500})
    assert arms.do("d1") == ["cube-hits-jaws"]


def test_a_cube_stands_as_the_jaws_do_that_hold_it_alone() -> None:
    arms = make_arms("RD")
    arms.hand.robot.drift(3.0)
    # The layer at R is turned by three degrees while the other jaws hold the rest.
    arms.do("r0", "d-")
    whole = arms.hand.robot.pose().whole
    assert np.degrees(np.arccos(whole[1, 1])) == pytest.approx(3.0, abs=0.01)
    assert arms.hand.robot.pose().layers == ()
    # Jaws that close on it set it square again; the others let go of a cube that they hold so.
    arms.do("d+", "r-")
    whole = arms.hand.robot.pose().whole
    assert np.degrees(np.arccos(whole[0, 0])) == pytest.approx(3.0, abs=0.01)
