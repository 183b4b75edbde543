"""What step edges do to a cube with a motor on each face."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from robot.settings import RobotProfile, parse_profile
from robot.twin.cube import CubeBody, scrambled
from robot.twin.simulated import SimulatedRobot

SITES = "URFDLB"
STEPS_PER_QUARTER = 50
STEP_US = 2_000.0
ENABLE = 20


@pytest.fixture(scope="module")
def six_motors() -> RobotProfile:
    lines = ["format: 1", "name: six", "title: six", "cube: {size: 3}", "mechanism:"]
    lines += [
        "  kind: direct",
        "  motors: {U: mu, R: mr, F: mf, D: md, L: ml, B: mb}",
        "actuators:",
    ]
    lines += [
        f"  m{site.lower()}: {{kind: stepper, steps_per_turn: 200, max_speed_steps_per_s: 4000,"
        f" max_acceleration_steps_per_s2: 100000, pins: {{step: {pin}, direction: {pin + 1}}}}}"
        for pin, site in zip(range(2, 14, 2), SITES, strict=True)
    ]
    return parse_profile("\n".join(lines) + "\n")


class StepHand:
    """Turns motors by slow, even steps."""

    def __init__(self, profile: RobotProfile) -> None:
        self.robot = SimulatedRobot(profile, scrambled(3, 1))
        self.time_us = 0.0

    def turn(self, **steps: int) -> None:
        """Turn the motors of the named sites by these steps, all at once."""
        for site, count in steps.items():
            self.robot.pin_changed(self.time_us, 2 * SITES.index(site) + 3, count > 0)
        for number in range(max(map(abs, steps.values()))):
            self.time_us += STEP_US
            for site, count in steps.items():
                if number < abs(count):
                    pin = 2 * SITES.index(site) + 2
                    self.robot.pin_changed(self.time_us, pin, True)
                    self.robot.pin_changed(self.time_us + 5, pin, False)
        self.time_us += 20_000
        self.robot.advance(self.time_us)

    @property
    def kinds(self) -> list[str]:
        return [violation.kind for violation in self.robot.violations]


def test_a_motor_turns_while_its_driver_is_enabled(six_motors: RobotProfile) -> None:
    """The enable input is active low; nothing drives it when the robot is switched on."""
    document = six_motors.model_dump(mode="json", exclude_unset=True)
    document["actuators"]["mr"]["pins"]["enable"] = ENABLE
    hand = StepHand(RobotProfile.model_validate(document))
    for level, turns in ((None, False), (False, True), (True, False)):
        before = hand.robot.body.facelets()
        if level is not None:
            hand.robot.pin_changed(hand.time_us, ENABLE, level)
        hand.time_us += 1e6  # or it is the same incident as before
        violations = len(hand.kinds)
        hand.turn(R=STEPS_PER_QUARTER)
        assert (hand.robot.body.facelets() != before) is turns
        assert hand.kinds[violations:] == ([] if turns else ["lost-steps"])
    assert "driver was off" in hand.robot.violations[0].text


def expected(change: Callable[[CubeBody], None]) -> str:
    body = scrambled(3, 1)
    change(body)
    return body.facelets()


def test_motors_turn_their_faces(six_motors: RobotProfile) -> None:
    hand = StepHand(six_motors)
    hand.turn(R=STEPS_PER_QUARTER)
    hand.turn(U=-STEPS_PER_QUARTER, D=2 * STEPS_PER_QUARTER)

    def change(body: CubeBody) -> None:
        for site, quarters in (("R", 1), ("U", -1), ("D", 2)):
            body.turn(site, quarters)

    assert hand.robot.body.facelets() == expected(change)
    assert hand.kinds == []


def test_lost_steps_leave_the_cube_visibly_unsolved(six_motors: RobotProfile) -> None:
    hand = StepHand(six_motors)
    hand.robot.lose_steps("mr", 12)
    hand.turn(R=STEPS_PER_QUARTER)
    assert any(abs(twist) > 0.2 for _, twist in hand.robot.pose().layers)
    assert not hand.robot.solved


def test_a_coupling_that_slips_costs_a_quarter(six_motors: RobotProfile) -> None:
    hand = StepHand(six_motors)
    hand.robot.slip_cube()
    hand.turn(R=2 * STEPS_PER_QUARTER)
    hand.turn(R=STEPS_PER_QUARTER)
    assert hand.robot.body.facelets() == expected(lambda body: body.turn("R", 2))
    assert hand.kinds == []
