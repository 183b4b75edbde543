"""A simulated CUBOTino and a hand that makes servo pulses for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from robot.settings import RobotProfile, load_profile
from robot.settings.actuators import Servo
from robot.twin.cube import CubeBody, scrambled
from robot.twin.registry import parts_of
from robot.twin.simulated import SimulatedRobot

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


@pytest.fixture(scope="session")
def cubotino() -> RobotProfile:
    return load_profile("cubotino-uno")


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


@pytest.fixture
def make_hand(cubotino: RobotProfile) -> Callable[..., PulseHand]:
    def make(body: CubeBody | None = None) -> PulseHand:
        return servo_hand(cubotino, body or scrambled(3, 1))

    return make


@pytest.fixture
def make_servo_hand() -> Callable[[RobotProfile, CubeBody], PulseHand]:
    return servo_hand
