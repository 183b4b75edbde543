"""Homing of grippers, which must neither drop the cube nor close where a neighbour blocks them."""

from __future__ import annotations

from collections.abc import Iterator

from robot.mechanism.grippers import GripperSettings, GrippersSettings
from robot.mechanism.registry import HomeActuator, HomingRequest, HomingStep, MoveActuator
from robot.settings.actuators import Servo
from robot.settings.profile import RobotProfile
from robot.settings.stepper import Stepper

BETWEEN_DEGREES = 10.0
"""Deviation from the nearest quarter turn above which closing jaws do not square a layer."""


def home_grippers(
    profile: RobotProfile, mechanism: GrippersSettings, request: HomingRequest
) -> list[HomingStep]:
    """Return the steps that home all actuators of the request's order.

    Grippers left open turn back to their start before they close, because a neighbour at a quarter
    turn may block their jaws elsewhere. Then all grippers hold the cube. Those that are not at
    their start let go, turn back and close again, in pairs that share jaws or one by one. So do
    those that find their start by a sensor, since they would turn a layer with closed jaws. But a
    layer between two quarter turns, after a fault or moved by hand, is squared before its gripper
    lets go.
    Servos at unknown positions turn back before any jaw moves: open jaws may be beside a gripper
    that carries the cube askew, and closed ones square a layer. But jaws that a fault stopped half
    way close first: they were closing, or could have closed, with everything else where it is.
    """
    names = dict.fromkeys(gripper.jaw for gripper in mechanism.grippers.values())
    jaws = [_Jaw(profile, name, mechanism) for name in names]
    opened = [jaw for jaw in jaws if jaw.is_open(request)]
    turned = [jaw for jaw in jaws if jaw not in opened and jaw.is_turned(request)]
    steps: dict[HomingStep, None] = {}
    for jaw in opened:
        steps |= dict.fromkeys(jaw.turn_back())
    steps |= dict.fromkeys(step for jaw in jaws for step in jaw.close_caught(request))
    steps |= dict.fromkeys(step for jaw in jaws for step in jaw.turn_unknown(request))
    squared = {
        one.rotation
        for one in mechanism.grippers.values()
        if _is_squared(one.rotation, request) or _stands_between(profile, one, request)
    }
    late = {name for jaw in turned for name in jaw.rotations if name not in squared}
    steps |= dict.fromkeys(HomeActuator(name) for name in request.order if name not in late)
    for jaw in turned:
        if late & set(jaw.rotations):
            steps |= dict.fromkeys(jaw.regrip())
    return list(steps)


def _is_squared(name: str, request: HomingRequest) -> bool:
    """Return true if a fault stopped a gripper in a turn and it homes by a sensor.

    Homing with closed jaws then squares the layer, whatever else these jaws hold.
    """
    return name in request.caught and name in request.seek


def _stands_between(
    profile: RobotProfile, gripper: GripperSettings, request: HomingRequest
) -> bool:
    """Return true if a gripper rests between two quarter turns.

    With closed jaws it then turns its layer back.
    """
    place = request.places.get(gripper.rotation)
    if place is None:
        return False
    degrees_off = 0.0
    if (servo := profile.actuators_of(Servo).get(gripper.rotation)) is not None:
        away = min(abs(place - servo.positions_us[name]) for name in gripper.angles)
        degrees_off = away / abs(gripper.degree_us(servo))
    elif turn := profile.actuators_of(Stepper)[gripper.rotation].steps_per_turn:
        degrees_off = abs((360 * place / turn + 45) % 90 - 45)
    return degrees_off > BETWEEN_DEGREES


class _Jaw:
    """An actuator that opens and closes one or more grippers, and the motors that rotate them."""

    def __init__(self, profile: RobotProfile, name: str, mechanism: GrippersSettings) -> None:
        grippers = [one for one in mechanism.grippers.values() if one.jaw == name]
        places = profile.actuators[name].places
        self.rotations = [gripper.rotation for gripper in grippers]
        self._servos = [one for one in self.rotations if profile.actuators[one].limits]
        self._name = name
        self._open, self._closed = places[grippers[0].open], places[grippers[0].closed]

    def is_open(self, request: HomingRequest) -> bool:
        """Return true if its position is known and nearer to open than to closed."""
        place = request.places.get(self._name)
        return place is not None and abs(place - self._open) < abs(place - self._closed)

    def is_turned(self, request: HomingRequest) -> bool:
        """Return true if one of its grippers must turn: it is away from its start, or seeks it."""
        seeking = [name for name in self.rotations if name in request.seek]
        return any(name in request.away for name in self.rotations) or any(
            name not in request.caught for name in seeking
        )

    def close_caught(self, request: HomingRequest) -> Iterator[HomingStep]:
        """Yield the step that closes jaws stopped in motion, unless only steppers rotate them."""
        caught = self._name in request.caught and self._name not in request.places
        if caught and self._servos:
            yield HomeActuator(self._name)

    def turn_unknown(self, request: HomingRequest) -> Iterator[HomingStep]:
        """Yield the homing of servos at unknown positions; they go straight to their start."""
        if self._name not in request.places:
            unknown = [name for name in self._servos if name not in request.places]
            yield from (HomeActuator(name) for name in unknown)

    def turn_back(self) -> Iterator[HomingStep]:
        """Yield the homing of all rotations."""
        yield from (HomeActuator(name) for name in self.rotations)

    def regrip(self) -> Iterator[HomingStep]:
        """Yield steps that let go, turn back and close a homed jaw while others hold the cube."""
        yield MoveActuator(self._name, self._open)
        yield from self.turn_back()
        yield MoveActuator(self._name, self._closed)
