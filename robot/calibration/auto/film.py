"""The trial "film": a servo moves from one position to another while the camera films the face."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from robot.calibration.auto.face_watch import RotationGauge, chromaticities
from robot.calibration.step import Bench, Trial
from robot.calibration.steps.travel import (
    STILL_PICTURES,
    TravelRequest,
    servo_between,
    slew_between,
    watch_slew,
)
from robot.records.documents import ApiDocument
from vision.frame import Frame
from vision.locate.view_check import OddView, face_in_view

Floats = NDArray[np.float64]

LARGEST_PICTURE = 640
"""Width of the pictures kept during a motion: two seconds of them take 60 MB."""

FEWEST_PAIRS = 3
"""Minimum number of pictures of the moving face, not counting the first of each film."""

AGREEING = 0.05
"""Maximum relative difference of times from two films of the same motion."""

MOST_OFF_DEGREES = 10.0
MOVED_DEGREES = 2.0
"""Distance from a rest position above which a face is moving."""


class FilmRequest(TravelRequest):
    """A servo to film, the camera, and two named positions.

    ``aside``: named positions to which other servos go first, so that they do not hold the cube.
    """

    camera: str | None = Field(default=None, max_length=64)
    aside: dict[str, str] = Field(default_factory=dict, max_length=16)


class FilmedPose(ApiDocument):
    """The face in one picture: its corners in pixels and the chromaticities of its stickers, row by
    row from the first corner. Both are empty if no face was in view."""

    time_us: int
    corners: list[tuple[float, float]] = Field(default_factory=list)
    colours: list[tuple[float, float, float]] = Field(default_factory=list)


class Film(ApiDocument):
    """Pictures from before the motion to after it, with times by the camera's clock."""

    pictures: list[FilmedPose]


def _film_servo(bench: Bench, asked: FilmRequest) -> Film:
    """Home, go to the first position, and film the fastest motion to the second.

    Raise ``RobotError``, and ``InvalidRequest`` if the actuator is not a servo or lacks a position.
    """
    machine = bench.machine
    slew = slew_between(bench.profile, asked.actuator, (asked.between[0], asked.between[1]))
    aside = [
        (other, servo_between(bench.profile, other, (at, at))[1][0])
        for other, at in asked.aside.items()
    ]
    machine.motion.home()
    for other, place in aside:
        machine.motion.jog(other, place)
    frames = watch_slew(machine, slew, lambda: _reduce(machine.scanner.frame(asked.camera)))
    machine.motion.home()
    return Film(pictures=[_locate_face(frame, bench.profile.cube.size) for frame in frames])


def _reduce(frame: Frame) -> tuple[Frame, float]:
    """Return a picture no wider than needed, and the factor by which it was reduced."""
    factor = frame.image.shape[1] / LARGEST_PICTURE
    if factor <= 1:
        return frame, 1.0
    size = LARGEST_PICTURE, round(frame.image.shape[0] / factor)
    image = np.asarray(cv2.resize(frame.image, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    return Frame(image, frame.camera, frame.time_us), factor


def _locate_face(taken: tuple[Frame, float], size: int) -> FilmedPose:
    frame, factor = taken
    try:
        grid = face_in_view(frame.image, size)
    except OddView:
        return FilmedPose(time_us=frame.time_us)
    corners, colours = grid.corners * factor, chromaticities(frame.image, grid)
    return FilmedPose(
        time_us=frame.time_us,
        corners=[(float(x), float(y)) for x, y in corners.round(2)],
        colours=[(float(r), float(g), float(b)) for r, g, b in colours.round(3)],
    )


def angles(watch: RotationGauge, film: Film, way: float) -> list[tuple[int, float]]:
    """Return the times of the pictures that show the face, and its angles since the first of them.

    ``way``: expected angle of the whole motion. Stickers tell one quarter turn from the next.
    """
    seen = [
        (one.time_us, (np.array(one.corners), np.array(one.colours)))
        for one in film.pictures
        if one.corners
    ]
    found: list[tuple[int, float]] = []
    for time_us, face in seen:
        degrees = watch.measure_turn(seen[0][1], face, way / 2)
        if degrees is not None:
            found.append((time_us, degrees))
    return found


FILMING = Trial("film", "Film a servo that turns the cube", FilmRequest, Film, _film_servo)


@dataclass(frozen=True)
class FilmedTravel:
    """Pictures of a face in motion: times in us, angles in degrees, and the whole turn in
    degrees."""

    times: Floats
    degrees: Floats
    way: float

    @property
    def spread(self) -> float:
        """The sum of squared deviations of the times: the weight of a slope through them."""
        return float(np.sum((self.times - self.times.mean()) ** 2))

    @property
    def duration_us(self) -> float:
        """The time of the whole turn at the speed in these pictures, two at least; infinite if they
        show the opposite direction."""
        slope = float((self.times - self.times.mean()) @ self.degrees) / self.spread
        return self.way / slope if slope * self.way > 0 else math.inf


def find_travel(
    samples: Sequence[tuple[int, float]], expected_degrees: float
) -> FilmedTravel | None:
    """Return the motion in a film of times and angles.

    None if it has too few pictures, never comes to rest or ends at another angle: a face looks the
    same after a quarter turn between two pictures.
    """
    if len(samples) < STILL_PICTURES:
        return None
    times, degrees = (np.array(column, dtype=float) for column in zip(*samples, strict=True))
    first, last = float(np.median(degrees[:3])), float(np.median(degrees[-3:]))
    rests = abs(degrees[-1] - last) < MOVED_DEGREES
    if not rests or abs(last - first - expected_degrees) > MOST_OFF_DEGREES:
        return None
    moving = (np.abs(degrees - first) > MOVED_DEGREES) & (np.abs(degrees - last) > MOVED_DEGREES)
    return FilmedTravel(times[moving], degrees[moving], last - first)


def travel_us(travels: Sequence[FilmedTravel]) -> tuple[float, float] | None:
    """Return the time of a motion that was filmed several times, and its uncertainty.

    The speed is the slope of a line through the angles of a film, whatever the time of its start. A
    board that had to wait makes a motion longer, so two films have to agree, and only films that
    agree with them count. None if no two agree, or if they have too few pictures of the motion.
    """
    shown = [one for one in travels if len(one.times) > 1]
    timed = [(one.duration_us, one) for one in shown if math.isfinite(one.duration_us)]
    pairs = [
        (abs(one - other) / (one + other), (one + other) / 2)
        for number, (one, _) in enumerate(timed)
        for other, _ in timed[:number]
    ]
    if not pairs:
        return None
    apart, middle = min(pairs)
    if not apart <= AGREEING / 2:
        return None
    agreeing = [one for took, one in timed if abs(took - middle) <= AGREEING * middle]
    if sum(len(one.times) - 1 for one in agreeing) < FEWEST_PAIRS:
        return None
    weights = np.array([one.spread for one in agreeing])
    tooks = np.array([one.duration_us for one in agreeing])
    took = float(np.average(tooks, weights=weights))
    return took, max(float(np.abs(tooks - took).max()) / len(tooks), took * 0.005)
