"""How to home a robot whose motion broke off, without letting go of the cube or bending a jaw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from robot.link import ActuatorSetup, StepperSetup
from robot.settings.actuators import Servo, Stepper
from robot.settings.mechanisms import Gripper, GrippersSettings
from robot.settings.profile import RobotProfile


@dataclass(frozen=True, slots=True)
class HomeActuator:
    """Home an actuator, which ends at its start."""

    actuator: str


@dataclass(frozen=True, slots=True)
class MoveTo:
    """Move a homed actuator to a position in steps or microseconds of pulse."""

    actuator: str
    position: int


HomingStep = HomeActuator | MoveTo


def homing_steps(
    profile: RobotProfile,
    setups: Sequence[ActuatorSetup],
    order: Sequence[str],
    places: Mapping[str, int],
) -> list[HomingStep]:
    """How to home all actuators of ``order``, given where some are known to rest.

    Grippers left open turn back to their start before they close: beside a neighbour that stands
    at a quarter turn the jaws of another must not close there. Then all hold the cube, and those
    that do not stand at their start let go, turn back and close again, pair by pair or one by one.
    """
    mechanism = profile.mechanism
    if not isinstance(mechanism, GrippersSettings):
        return [HomeActuator(name) for name in order]
    by_name = {setup.name: setup for setup in setups}
    jaws = [_Jaw(profile, jaw, mechanism) for jaw in _jaws(mechanism)]
    opened = [jaw for jaw in jaws if jaw.is_open(places)]
    astray = [jaw for jaw in jaws if jaw not in opened and jaw.is_astray(by_name, places)]
    steps: dict[HomingStep, None] = {}
    for jaw in opened:
        steps |= dict.fromkeys(jaw.turn_back())
    late = {name for jaw in astray for name in jaw.rotations}
    steps |= dict.fromkeys(HomeActuator(name) for name in order if name not in late)
    for jaw in astray:
        steps |= dict.fromkeys(jaw.regrip())
    return list(steps)


def _jaws(mechanism: GrippersSettings) -> list[str]:
    return list(dict.fromkeys(gripper.jaw for gripper in mechanism.grippers.values()))


class _Jaw:
    """An actuator that opens and closes a gripper, or several at once, and what rotates them."""

    def __init__(self, profile: RobotProfile, name: str, mechanism: GrippersSettings) -> None:
        grippers = [one for one in mechanism.grippers.values() if one.jaw == name]
        self.rotations = [gripper.rotation for gripper in grippers]
        self._name = name
        self._open, self._closed = _ends(profile, grippers[0])

    def is_open(self, places: Mapping[str, int]) -> bool:
        """Whether it is known to be nearer to open than to closed."""
        place = places.get(self._name)
        return place is not None and abs(place - self._open) < abs(place - self._closed)

    def is_astray(self, setups: Mapping[str, ActuatorSetup], places: Mapping[str, int]) -> bool:
        """Whether one of its grippers is known not to stand at its start."""
        return any(
            name in places and not _at_start(setups[name], places[name]) for name in self.rotations
        )

    def turn_back(self) -> Iterator[HomingStep]:
        """While open."""
        yield from (HomeActuator(name) for name in self.rotations)

    def regrip(self) -> Iterator[HomingStep]:
        """Let go, turn back, close; it has been homed, and others hold the cube."""
        yield MoveTo(self._name, self._open)
        yield from self.turn_back()
        yield MoveTo(self._name, self._closed)


def _ends(profile: RobotProfile, gripper: Gripper) -> tuple[int, int]:
    jaw = profile.actuators[gripper.jaw]
    if isinstance(jaw, Servo):
        return jaw.positions_us[gripper.open], jaw.positions_us[gripper.closed]
    assert isinstance(jaw, Stepper), "timed actuators cannot be driven"
    return jaw.positions_steps[gripper.open], jaw.positions_steps[gripper.closed]


def _at_start(setup: ActuatorSetup, place: int) -> bool:
    if isinstance(setup, StepperSetup):
        return setup.way_to_start(place) == 0
    return place == setup.start
