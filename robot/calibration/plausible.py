"""Bounds of what a value may be on a robot of this profile, whoever found it.

The profile's author had such a robot; a calibrated value is near to his, or is one that a switch or
a gear makes of it. Far from there it is a typing mistake, or a measurement that went wrong. Trials,
the camera and people pass here alike: whatever is kept or tried out does.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from robot.calibration.store import BadCalibration
from robot.settings import RobotProfile
from robot.settings.actuators import Servo
from robot.settings.stepper import Stepper, StepperLoad

MICROSTEPS = tuple(2.0**power for power in range(-4, 5))
"""Factors by which the steps of a turn may differ from the profile: switches of the driver."""

STEPS_OFF = 0.08
"""Largest relative error of the steps of a turn beside one of these factors."""

MOST_PLAY_DEGREES = 15.0
"""Degrees of the layer that a stepper turns: one so far off square jams."""

FASTER, SLOWER = 4.0, 100.0
"""Factors by which a motor's limits may be above and below the profile's, in turns."""

LEAST_MS_PER_US = 0.04
"""Least time of a servo for a microsecond of pulse: 60 degrees in 27 ms."""

LONGER = 10.0
"""Factor by which a servo may be slower than the profile says."""

LONGEST_SIDE = 4.0
"""Largest ratio of the sides of a face in the picture: the camera sees it at an angle."""


def require_plausible(
    profile: RobotProfile, calibrated: RobotProfile, keys: Collection[str]
) -> None:
    """Raise :class:`BadCalibration` for the first of these calibrated values that cannot be.

    ``profile``: without any calibration.
    """
    for text in _implausible(profile, calibrated, frozenset(keys)):
        raise BadCalibration(text)


def _implausible(
    profile: RobotProfile, calibrated: RobotProfile, keys: Collection[str]
) -> Iterator[str]:
    for name, stepper in calibrated.actuators_of(Stepper).items():
        fields = {key.split(".")[2] for key in keys if key.startswith(f"actuators.{name}.")}
        original = profile.actuators_of(Stepper)[name]
        for field, text in _of_stepper(original, stepper):
            if field in fields:
                yield f"actuators.{name}.{text}"
    for name, servo in calibrated.actuators_of(Servo).items():
        if f"actuators.{name}.travel" in keys:
            yield from _of_travel(name, profile.actuators_of(Servo)[name], servo)
    for camera in calibrated.cameras:
        for view in camera.views:
            key = f"cameras.{camera.name}.views.{view.site}.quad"
            if key in keys:
                yield from _of_quad(key, view.quad, camera.resolution)


def _of_stepper(original: Stepper, motor: Stepper) -> Iterator[tuple[str, str]]:
    """Fields of a stepper that cannot be, each with its value and why."""
    factor = 1.0
    if original.steps_per_turn is not None and motor.steps_per_turn is not None:
        factor = motor.steps_per_turn / original.steps_per_turn
        if not any(abs(factor / steps - 1) <= STEPS_OFF for steps in MICROSTEPS):
            text = (
                f"steps_per_turn: no microstep switch makes {motor.steps_per_turn} steps in a turn "
                f"of {original.steps_per_turn}; if motor or gear are others, set it in the profile"
            )
            yield "steps_per_turn", text
    yield from _of_play(motor)
    scale = max(1.0, factor)
    for field, before, now in _limits(original, motor):
        if not before / SLOWER / max(1.0, 1 / factor) <= now <= before * scale * FASTER:
            text = f"{field}: {now:g} is far from the {before:g} of the profile; set it there"
            yield field.split(".")[0], text


def _of_play(motor: Stepper) -> Iterator[tuple[str, str]]:
    play, turn = motor.backlash_steps, motor.steps_per_turn
    if turn is not None and play * 360 > MOST_PLAY_DEGREES * turn:
        degrees = f"{play * 360 / turn:.0f} degrees"
        text = f"{play} steps are {degrees} of play, more than {MOST_PLAY_DEGREES:.0f}"
        yield "backlash_steps", f"backlash_steps: {text}: see what is loose"


def _limits(original: Stepper, motor: Stepper) -> Iterator[tuple[str, float, float]]:
    """Speed and acceleration of a motor, free and under load: names, before and now."""
    names = ("max_speed_steps_per_s", "max_acceleration_steps_per_s2")
    for name in names:
        yield name, getattr(original, name), getattr(motor, name)
    if motor.held is not None:
        before: StepperLoad | Stepper = original.held or original
        for name in names:
            yield f"held.{name}", getattr(before, name), getattr(motor.held, name)


def _of_travel(name: str, original: Servo, servo: Servo) -> Iterator[str]:
    longest = {row.between: row.ms * LONGER for row in original.travel}
    for row in servo.travel:
        start, end = (servo.positions_us[position] for position in row.between)
        least, most = LEAST_MS_PER_US * abs(end - start), longest.get(row.between, math.inf)
        if not least <= row.ms <= most:
            way = f"{row.between[0]} to {row.between[1]}"
            most_ms = "" if math.isinf(most) else f", at most {most:.0f} ms"
            yield (
                f"actuators.{name}.travel: {row.ms:g} ms from {way} cannot be: a servo takes at "
                f"least {least:.0f} ms for it{most_ms}"
            )


def _of_quad(
    key: str, quad: Collection[tuple[float, float]], resolution: tuple[int, int]
) -> Iterator[str]:
    corners = [(x * resolution[0], y * resolution[1]) for x, y in quad]
    sides = [math.dist(one, corners[number - 1]) for number, one in enumerate(corners)]
    if max(sides) > LONGEST_SIDE * min(sides):
        yield (
            f"{key}: the sides of the face would be {min(sides):.0f} to {max(sides):.0f} pixels "
            "long: put each corner on a corner of the face"
        )
