"""Calibrated values and their profile: put in place, compared, and checked.

The author of a profile had such a robot. A calibrated value is therefore close to the profile's, or
differs by the factor of a switch or a gear. Any other value is a typing mistake or a measurement
that went wrong. Values from trials, from the camera and from people are all checked here before
they are kept or tried out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from robot.api.calibrations import Calibration
from robot.machine.confirmed_range import position_key
from robot.settings import BadProfile, RobotProfile
from robot.settings.actuators import Servo
from robot.settings.checks import check_profile
from robot.settings.document import ProfileDocument, dotted_path
from robot.settings.profile import read_document
from robot.settings.stepper import Stepper, StepperLoad
from solver.errors import CubistError, ExitCode
from solver.files import JsonMapping, JsonObject

ROOMS = ("actuators", "cameras", "colours", "policy")
"""Sections of a profile that calibration may change. Those that describe the hardware stay."""


class BadCalibration(CubistError, ValueError):
    """Values do not fit the robot's profile. The text names the key and the reason."""

    code = "bad-calibration"
    exit_code = ExitCode.USAGE


Change = tuple[Any, Any]
"""A value before and after. None means the profile's value."""


def changes(before: JsonMapping, after: JsonMapping) -> dict[str, Change]:
    """Return the differences between two calibrations, by key."""
    keys = sorted(before.keys() | after.keys())
    pairs = {key: (before.get(key), after.get(key)) for key in keys}
    return {key: (old, new) for key, (old, new) in pairs.items() if old != new}


def apply(profile: RobotProfile, calibration: Calibration) -> RobotProfile:
    """Return the profile with calibrated values in place; raises :class:`BadCalibration`."""
    document = profile.model_dump(mode="json")
    unused = ignored_keys(profile, calibration.values)
    for key, value in calibration.values.items():
        if key not in unused:
            _place(document, key, value)
    source = ProfileDocument("the calibration", document, {})
    try:
        calibrated = read_document(source)
    except BadProfile as error:
        first, *_ = error.complaints
        raise BadCalibration(f"{first.key}: {first.text}") from error
    findings = check_profile(calibrated)
    if findings:
        path, text = findings[0]
        raise BadCalibration(f"{dotted_path(path)}: {text}")
    return calibrated


def require_possible(profile: RobotProfile, before: Calibration, after: Calibration) -> None:
    """Raise :class:`BadCalibration` unless the robot's calibration may change like this.

    Settings that protect the robot stay as in the profile. For each actuator that changes, all its
    calibrated positions are checked together. Positions that nobody has set yet come from the
    profile of another robot and are ignored.
    """
    set_now = [key for key in changes(before.values, after.values) if key in after.values]
    for key in ignored_keys(profile, set_now):
        raise BadCalibration(
            f"{key}: this protects the robot and comes only from its profile. Change it there if "
            "the robot is built for it; omit it here"
        )
    calibrated = apply(profile, after)
    known = {
        name: [one for one in built.places if position_key(name, built, one) in after.values]
        for name, built in profile.actuators.items()
        if any(position_key(name, built, one) in set_now for one in built.places)
    }
    found = profile.mechanism.check_built_like(profile.actuators, calibrated.actuators, known)
    for path, text in found:
        raise BadCalibration(f"{dotted_path(path)}: {text}")


def ignored_keys(profile: RobotProfile, keys: Iterable[str]) -> list[str]:
    """Return the keys that protect the robot. Calibrations may have them, but they are not used."""
    parted = ((key, key.split(".")) for key in keys)
    return [
        key
        for key, (room, *rest) in parted
        if room == "actuators"
        and rest[0] in profile.actuators
        and rest[1:2]
        and rest[1] in profile.actuators[rest[0]].fixed_keys
    ]


def differences(
    profile: RobotProfile, calibration: Calibration
) -> Iterator[tuple[str, object, object]]:
    """Yield ``(key, profile's value, calibrated value)`` for each value that differs."""
    document = profile.model_dump(mode="json")
    unused = ignored_keys(profile, calibration.values)
    for key, value in sorted(calibration.values.items()):
        if key in unused:
            continue
        before: Any = document
        for step in _path(document, key):
            before = before[step]
        if before != value:
            yield key, before, value


def _place(document: JsonObject, key: str, value: object) -> None:
    parent: Any = document
    *way, last = _path(document, key)
    for step in way:
        parent = parent[step]
    parent[last] = value


def _path(document: JsonObject, key: str) -> list[str | int]:
    """Return the path to a key, with the number of a list's member in place of its name."""
    parts = key.split(".")
    if parts[0] not in ROOMS:
        raise BadCalibration(f"{key}: only {', '.join(ROOMS)} can be calibrated")
    if parts[0] == "actuators" and len(parts) < 3:
        raise BadCalibration(f"{key}: name one setting of one actuator, not all at once")
    path: list[str | int] = []
    value: Any = document
    for part in parts:
        path.append(_step(value, part, key))
        value = value[path[-1]]
    return path


def _step(document: object, part: str, key: str) -> str | int:
    if isinstance(document, dict) and part in document:
        return part
    if isinstance(document, list):
        names = [_name_of(item) for item in document]
        if part in names:
            return names.index(part)
    raise BadCalibration(f"{key}: the profile has no {part} there")


def _name_of(item: object) -> str | None:
    """Return the name of a member of a list: a camera's name, a view's site."""
    return item.get("name", item.get("site")) if isinstance(item, dict) else None


MICROSTEPS = tuple(2.0**power for power in range(-4, 5))
"""Factors by which the steps of a turn may differ from the profile: the driver's microsteps."""

STEPS_OFF = 0.08
"""Largest relative error of the steps of a turn from one of these factors."""

MOST_PLAY_DEGREES = 15.0
"""Largest backlash in degrees of the layer: one that far off square jams."""

FASTER, SLOWER = 4.0, 100.0
"""Factors by which a motor's limits, in turns, may be above and below the profile's."""

LEAST_MS_PER_US = 0.04
"""Shortest travel time of a servo for a microsecond of pulse: 60 degrees in 27 ms."""

LONGER = 10.0
"""Factor by which a servo may be slower than in the profile."""

LONGEST_SIDE = 4.0
"""Largest ratio of a face's sides in the picture, for a camera that sees it at an angle."""


def require_plausible(
    profile: RobotProfile, calibrated: RobotProfile, keys: Collection[str]
) -> None:
    """Raise :class:`BadCalibration` for the first of these calibrated values that is implausible.

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
        for field, text in _check_stepper(original, stepper):
            if field in fields:
                yield f"actuators.{name}.{text}"
    for name, servo in calibrated.actuators_of(Servo).items():
        if f"actuators.{name}.travel" in keys:
            yield from _check_travel(name, profile.actuators_of(Servo)[name], servo)
    for camera in calibrated.cameras:
        for view in camera.views:
            key = f"cameras.{camera.name}.views.{view.site}.quad"
            if key in keys:
                yield from _check_quad(key, view.quad, camera.resolution)


def _check_stepper(original: Stepper, motor: Stepper) -> Iterator[tuple[str, str]]:
    """Yield each implausible field of a stepper, with its value and the reason."""
    factor = 1.0
    if original.steps_per_turn is not None and motor.steps_per_turn is not None:
        factor = motor.steps_per_turn / original.steps_per_turn
        if not any(abs(factor / steps - 1) <= STEPS_OFF for steps in MICROSTEPS):
            text = (
                f"steps_per_turn: no microstep setting gives {motor.steps_per_turn} steps per turn "
                f"from {original.steps_per_turn}; for another motor or gear, set it in the profile"
            )
            yield "steps_per_turn", text
    yield from _check_play(motor)
    scale = max(1.0, factor)
    for field, before, now in _limits(original, motor):
        if not before / SLOWER / max(1.0, 1 / factor) <= now <= before * scale * FASTER:
            text = f"{field}: {now:g} is far from the profile's {before:g}; change it there"
            yield field.split(".")[0], text


def _check_play(motor: Stepper) -> Iterator[tuple[str, str]]:
    play, turn = motor.backlash_steps, motor.steps_per_turn
    if turn is not None and play * 360 > MOST_PLAY_DEGREES * turn:
        degrees = f"{play * 360 / turn:.0f} degrees"
        text = f"{play} steps are {degrees} of play, more than {MOST_PLAY_DEGREES:.0f}"
        yield "backlash_steps", f"backlash_steps: {text}: find the loose part"


def _limits(original: Stepper, motor: Stepper) -> Iterator[tuple[str, float, float]]:
    """Yield speed and acceleration of a motor, free and under load: names, before and now."""
    names = ("max_speed_steps_per_s", "max_acceleration_steps_per_s2")
    for name in names:
        yield name, getattr(original, name), getattr(motor, name)
    if motor.held is not None:
        before: StepperLoad | Stepper = original.held or original
        for name in names:
            yield f"held.{name}", getattr(before, name), getattr(motor.held, name)


def _check_travel(name: str, original: Servo, servo: Servo) -> Iterator[str]:
    longest = {row.between: row.ms * LONGER for row in original.travel}
    for row in servo.travel:
        start, end = (servo.positions_us[position] for position in row.between)
        least, most = LEAST_MS_PER_US * abs(end - start), longest.get(row.between, math.inf)
        if not least <= row.ms <= most:
            way = f"{row.between[0]} to {row.between[1]}"
            most_ms = "" if math.isinf(most) else f", at most {most:.0f} ms"
            yield (
                f"actuators.{name}.travel: {row.ms:g} ms from {way} is impossible: a servo takes "
                f"at least {least:.0f} ms{most_ms}"
            )


def _check_quad(
    key: str, quad: Collection[tuple[float, float]], resolution: tuple[int, int]
) -> Iterator[str]:
    corners = [(x * resolution[0], y * resolution[1]) for x, y in quad]
    sides = [math.dist(one, corners[number - 1]) for number, one in enumerate(corners)]
    if max(sides) > LONGEST_SIDE * min(sides):
        yield (
            f"{key}: the sides of the face would be {min(sides):.0f} to {max(sides):.0f} pixels "
            "long: put each corner on a corner of the face"
        )
