"""Homing grippers, which must neither drop the cube nor close where a neighbour is in the way."""

from __future__ import annotations

from collections.abc import Iterator

from robot.mechanism.grippers import GripperSettings, GrippersSettings
from robot.mechanism.registry import HomeActuator, HomingRequest, HomingStep, MoveActuator
from robot.settings.actuators import Servo
from robot.settings.profile import RobotProfile
from robot.settings.stepper import Stepper

BETWEEN_DEGREES = 10.0
"""A layer that is further from the nearest quarter turn is not squared by jaws that close."""


def home_grippers(
    profile: RobotProfile, mechanism: GrippersSettings, request: HomingRequest
) -> list[HomingStep]:
    """Return the steps that home all actuators of the request's order.

    Grippers left open turn back to their start before they close: beside a neighbour that stands
    at a quarter turn the jaws of another must not close there. Then all hold the cube, and those
    that do not stand at their start let go, turn back and close again, pair by pair or one by one.
    So do those that seek their start by a sensor: with closed jaws they would turn a layer. But a
    layer between two quarter turns, where a fault has caught it or somebody has moved it to, is
    squared before anybody lets go of it.
    Servos of which nobody knows anything turn back before any jaw moves: open jaws may stand beside
    a gripper that carries the cube askew, and closed ones square a layer. But jaws caught half way
    close first: they did so, or could have, as everything else stands.
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
    """Return true if a fault has caught a gripper in a turn, whose layer homing by a sensor squares
    while its jaws are closed, whatever else these jaws hold."""
    return name in request.caught and name in request.seek


def _stands_between(
    profile: RobotProfile, gripper: GripperSettings, request: HomingRequest
) -> bool:
    """Return true if a gripper rests between two quarter turns: with its jaws closed it turns its
    layer back to where that came from."""
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
    """An actuator that opens and closes a gripper, or several at once, and what rotates them."""

    def __init__(self, profile: RobotProfile, name: str, mechanism: GrippersSettings) -> None:
        grippers = [one for one in mechanism.grippers.values() if one.jaw == name]
        places = profile.actuators[name].places
        self.rotations = [gripper.rotation for gripper in grippers]
        self._servos = [one for one in self.rotations if profile.actuators[one].limits]
        self._name = name
        self._open, self._closed = places[grippers[0].open], places[grippers[0].closed]

    def is_open(self, request: HomingRequest) -> bool:
        """Return true if it is known to be nearer to open than to closed."""
        place = request.places.get(self._name)
        return place is not None and abs(place - self._open) < abs(place - self._closed)

    def is_turned(self, request: HomingRequest) -> bool:
        """Return true if one of its grippers has to turn: it is known to stand elsewhere, or
        seeks."""
        seeking = [name for name in self.rotations if name in request.seek]
        return any(name in request.away for name in self.rotations) or any(
            name not in request.caught for name in seeking
        )

    def close_caught(self, request: HomingRequest) -> Iterator[HomingStep]:
        """Close jaws that stopped on their way, unless steppers find a layer by sensors."""
        caught = self._name in request.caught and self._name not in request.places
        if caught and self._servos:
            yield HomeActuator(self._name)

    def turn_unknown(self, request: HomingRequest) -> Iterator[HomingStep]:
        """Servos that can be anywhere; they go straight to their start."""
        if self._name not in request.places:
            unknown = [name for name in self._servos if name not in request.places]
            yield from (HomeActuator(name) for name in unknown)

    def turn_back(self) -> Iterator[HomingStep]:
        """While open."""
        yield from (HomeActuator(name) for name in self.rotations)

    def regrip(self) -> Iterator[HomingStep]:
        """Let go, turn back, close; it has been homed, and others hold the cube."""
        yield MoveActuator(self._name, self._open)
        yield from self.turn_back()
        yield MoveActuator(self._name, self._closed)
