"""Import of CUBOTino's own settings file as a calibration: pulses and times of its two servos.

In that file, positions run from -1 to +1 between a servo's shortest and longest pulse (in
milliseconds). Times are the seconds that CUBOTino's program sleeps.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robot.calibration.values import BadCalibration
from robot.mechanism.flipper import FlipperSettings
from robot.settings import RobotProfile, Servo
from robot.settings.actuators import LEAST_CLEAR_PART
from solver.errors import shortened
from solver.files import JsonObject, parse_json, read_text

MAX_BYTES = 64 * 1024

SAME_PART = 0.005
"""Largest difference of two lid positions, as fractions of its travel, that nobody would see."""
POSITIONS: Mapping[str, Mapping[str, str]] = {
    "lid": {"open": "t_servo_open", "close": "t_servo_close", "flip": "t_servo_flip"},
    "holder": {"ccw": "b_servo_CCW", "home": "b_home", "cw": "b_servo_CW"},
}
"""Actuator -> position -> key of CUBOTino's file."""
READ = "t_servo_read"
PULSES = {"lid": "t", "holder": "b"}
"""First letter of the keys for a servo's shortest and longest pulse."""
WITHOUT_COUNTERPART: Mapping[str, str] = {
    "t_servo_rel_delta": "the lid closes exactly to its position",
    "b_rel_CCW": "calibrate the holder's overshoot instead",
    "b_rel_CW": "calibrate the holder's overshoot instead",
    "b_extra_sides": "calibrate the holder's overshoot instead",
    "b_extra_home": "calibrate the holder's overshoot instead",
    "b_extra_home_CCW": "calibrate the holder's overshoot instead",
    "b_extra_home_CW": "calibrate the holder's overshoot instead",
}


@dataclass(frozen=True, slots=True)
class ImportedSettings:
    """Values for a calibration, and the file's keys that have no counterpart, with the reason."""

    values: JsonObject
    unused: Mapping[str, str]


def import_cubotino(path: Path, profile: RobotProfile) -> ImportedSettings:
    """Read the servo values for a CUBOTino's profile from a settings file.

    Raises :class:`BadCalibration` for any other kind of file, and :class:`solver.files.BadFile`.
    """
    found = parse_json(read_text(path, MAX_BYTES), str(path))
    if not isinstance(found, dict) or "t_servo_open" not in found:
        raise BadCalibration(
            f"{path}: not a CUBOTino's servo settings; give its Cubotino_T_servo_settings.txt"
        )
    file = _ServoFile(path, found)
    values: JsonObject = {}
    for name in POSITIONS:
        values |= _pulses(file, name)
    values |= _lid_times(file) | _holder_times(file, profile)
    unused = {
        key: WITHOUT_COUNTERPART.get(key, "Cubist does not know it")
        for key in found
        if key not in file.used
    }
    if READ in unused and (place := _reading_place(file, profile)):
        unused[READ] = place
    else:
        unused.pop(READ, None)
    return ImportedSettings(values, unused)


def _reading_place(file: _ServoFile, profile: RobotProfile) -> str:
    """Return the profile setting that matches the file's lid position for reading the cube, as
    calibration cannot change it. Empty if the profile already has this position.
    """
    read, opened, flipped = (file.number(key) for key in (READ, "t_servo_open", "t_servo_flip"))
    mechanism = profile.mechanism
    own = mechanism.arms[0].look_part if isinstance(mechanism, FlipperSettings) else None
    part = (read - flipped) / (opened - flipped) if opened != flipped else 1.0
    if not LEAST_CLEAR_PART <= part < 1:
        return "the camera looks with the lid open"
    if own is not None and abs(part - own) < SAME_PART:
        return ""
    said = f"this position would need look_part: {part:.3f} for the lid in the profile"
    return said if own is None else f"{said}, which has {own:g}"


class _ServoFile:
    """The numbers in a settings file, and the keys used so far."""

    def __init__(self, path: Path, found: Mapping[str, object]) -> None:
        self._path, self._found = path, found
        self.used: set[str] = set()

    def number(self, key: str) -> float:
        """Return a number of the file. Some versions write numbers as text."""
        self.used.add(key)
        if key not in self._found:
            raise BadCalibration(f"{self._path}: {key} is missing")
        with contextlib.suppress(ValueError):
            if math.isfinite(number := float(str(self._found[key]))):
                return number
        given = shortened(str(self._found[key]))
        raise BadCalibration(f"{self._path}: {key}: {given} is not a number")

    def milliseconds(self, key: str) -> float:
        """Return a time in milliseconds (the file has seconds), at least 1."""
        return max(1.0, round(1000 * self.number(key), 3))


def _pulses(file: _ServoFile, name: str) -> JsonObject:
    """Return a servo's positions. Its limits stay; a servo with wider ones needs a new profile."""
    shortest, longest = (
        1000 * file.number(f"{PULSES[name]}_{end}_pulse_width") for end in ("min", "max")
    )
    middle, reach = (shortest + longest) / 2, (longest - shortest) / 2
    places = {
        place: round(middle + reach * file.number(key)) for place, key in POSITIONS[name].items()
    }
    return {f"actuators.{name}.positions_us.{at}": us for at, us in places.items()}


def _lid_times(file: _ServoFile) -> JsonObject:
    rows = [
        {"between": ["open", "close"], "ms": file.milliseconds("t_open_close_time")},
        {"between": ["open", "flip"], "ms": file.milliseconds("t_flip_open_time")},
        *(
            {"between": list(way), "ms": file.milliseconds(key), "one_way": True}
            for way, key in (
                (("close", "flip"), "t_close_to_flip_time"),
                (("flip", "close"), "t_flip_to_close_time"),
            )
        ),
    ]
    settle = round(1000 * file.number("t_rel_time"), 3)
    return {"actuators.lid.travel": rows, "actuators.lid.settle_ms": {"close": settle}}


def _holder_times(file: _ServoFile, profile: RobotProfile) -> JsonObject:
    """Return the holder's times, with the profile's ratio of half turns to quarter turns."""
    free, held = file.milliseconds("b_spin_time"), file.milliseconds("b_rotate_time")
    holder = profile.actuators_of(Servo)["holder"]
    quarter, half = (holder.transition_us(*way) for way in (("ccw", "home"), ("ccw", "cw")))
    assert quarter is not None and half is not None, "every CUBOTino's profile has these ways"
    longer = half[0] / quarter[0]
    rows = [
        {"between": ["ccw", "home"], "ms": free, "held_ms": held},
        {"between": ["home", "cw"], "ms": free, "held_ms": held},
        {
            "between": ["ccw", "cw"],
            "ms": round(longer * free, 3),
            "held_ms": round(longer * held, 3),
        },
    ]
    settle = round(1000 * file.number("b_rel_time"), 3)
    return {"actuators.holder.travel": rows, "actuators.holder.held_settle_ms": settle}
