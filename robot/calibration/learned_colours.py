"""Learning a robot's colours, and the light on them, from the cubes that it has solved.

A robot sees each site through the same lens, under the same lamps, with the same shadow of its own
frame. A cube with known colours shows that light sticker by sticker::

    light on one sticker of the site U over several solves, with a different colour each time
    seen    -0.31  -0.22  -0.28 | -0.24  -0.35 ...      field -0.27
    each picture is corrected by the field before the cube is read

Uneven light that is left over scatters each colour, so that red and orange overlap. The field and
the colours follow slowly as lamps age and the sun moves. The robot learns only from proven cubes:
it read the cube beyond doubt, turned it according to that reading, and the cube is solved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from robot.machine.scanner import FaceImage, as_values, site_stickers, stored_light
from robot.planner import FaceView
from robot.settings.profile import ColourSettings, RobotProfile
from vision.decide.assignment import matching
from vision.decide.learning import learn_from
from vision.measure.colour_space import ColourReferences, references_from_json
from vision.measure.sticker_colours import FACES, FaceColours, StickerColours

Floats = NDArray[np.float64]
Place = tuple[str, str]
"""A camera and a site that it sees."""

LATEST = 1 / 5
"""Weight of the latest solve in the slow mean; the first solves count equally for the light.

Stored colours, also those a person measured, count as four solves from the beginning. So no single
solve overwrites a measurement, and ten solves adapt to another lamp.
"""
MOST_AT_ONCE = 0.25
MOST_AT_FIRST = 0.7
"""Largest deviation of a sticker's light (log) that one solve may count, because of reflections."""
DARKEST = -2.5
OTHER_COLOUR = 0.7
"""Difference in a channel of a colour (log, without brightness) above which it is another cube."""
_FLOOR = 0.05
"""Share of the brightest colour below which a channel shows no more than noise."""
_DIGITS = 4


@dataclass(frozen=True, eq=False)
class Lesson:
    """A cube that was read beyond doubt: its ``facelets``, and the views of its faces."""

    facelets: str
    looks: Sequence[tuple[FaceView, FaceColours]]

    @classmethod
    def from_images(cls, facelets: str, images: Iterable[FaceImage]) -> Lesson:
        """Return the lesson without the pictures; the last picture of each face counts."""
        last = {image.face: (image.view, image.colours) for image in images}
        return cls(facelets, [(view, seen) for view, seen in last.values() if view is not None])


def learn_colours(profile: RobotProfile, lesson: Lesson, today: date) -> ColourSettings | None:
    """Return a calibrated robot's colours after a lesson; None if it teaches nothing."""
    before = profile.colours
    stored = None if before is None else references_from_json(before.model_dump_json())
    scan = StickerColours.from_faces({view.face: seen for view, seen in lesson.looks})
    cube = learn_from(scan, lesson.facelets, stored)
    if cube is None:
        return None
    solves = 0 if before is None else before.solves
    found = _sort_by_place(profile, lesson, cube.light)
    known = stored_light(profile)
    if _misleads(known, found):
        solves = 0
    weight = max(1 / (solves + 1), LATEST)
    light = _follow(known, found, weight, MOST_AT_ONCE if solves else MOST_AT_FIRST)
    values = as_values(_blend(stored, cube.colours, LATEST))["colours"]
    assert isinstance(values, dict)
    since = before.since if before is not None and solves else None
    learned = {"light": _nest_by_camera(light), "solves": solves + 1, "since": since or today}
    return ColourSettings.model_validate(values | learned)


def _sort_by_place(profile: RobotProfile, lesson: Lesson, seen: Floats) -> dict[Place, Floats]:
    """Return the light at each site, float64[N*N, 3] as drawn: the median of the faces there."""
    size = profile.cube.size
    faces: dict[Place, list[Floats]] = defaultdict(list)
    for view, _ in lesson.looks:
        first = FACES.index(view.face) * size**2
        there = np.empty((size**2, 3))
        there[site_stickers(view, size)] = seen[first : first + size**2]
        faces[view.camera, view.site].append(there)
    return {place: _median(np.stack(looks)) for place, looks in faces.items()}


def _median(looks: Floats) -> Floats:
    """Return the median over looks float64[k, n, 3], ignoring NaN; 0 if all are NaN."""
    known = ~np.isnan(looks).all(axis=0)
    median = np.zeros(looks.shape[1:])
    median[known] = np.nanmedian(looks[:, known], axis=0)
    return median


def _misleads(known: Mapping[Place, Floats], found: Mapping[Place, Floats]) -> bool:
    """Return whether the pictures would have been more even without correcting the known light."""
    places = [place for place in found if place in known]
    if not places:
        return False
    left = np.concatenate([found[place] for place in places])
    whole = left + np.concatenate([known[place] for place in places])
    return _unevenness(left) > _unevenness(whole)


def _unevenness(light: Floats) -> float:
    return float(np.median(np.abs(light - np.median(light, axis=0))))


def _follow(
    known: Mapping[Place, Floats], found: Mapping[Place, Floats], weight: float, most: float
) -> dict[Place, Floats]:
    """Return the light after pictures that still show ``found``; the brightest value is 0."""
    after = dict(known)
    for place, light in found.items():
        after[place] = known.get(place, 0.0) + weight * np.clip(light, -most, most)
    brightest = np.max([light.max(axis=0) for light in after.values()], axis=0)
    return {place: np.clip(light - brightest, DARKEST, 0.0) for place, light in after.items()}


def _blend(
    stored: ColourReferences | None, seen: ColourReferences, weight: float
) -> ColourReferences:
    """Return the stored colours moved towards those seen. Their letters may differ, as the cube may
    be held differently. Colours of another cube are ignored.
    """
    if stored is None:
        return seen
    brightest = stored.linear_rgb.max()
    scale = brightest / seen.linear_rgb.max()
    floor = _FLOOR * brightest
    before, now = np.log(stored.linear_rgb + floor), np.log(seen.linear_rgb * scale + floor)
    apart = _tints(before)[:, None] - _tints(now)
    _, same = matching(np.square(apart).sum(axis=2))
    if np.abs(apart[np.arange(6), same]).max() > OTHER_COLOUR:
        return stored
    moved = now[same] - before
    moved = moved - np.median(moved, axis=0)
    return ColourReferences(np.maximum(np.exp(before + weight * moved) - floor, 0.0))


def _tints(colours: Floats) -> Floats:
    """Return log colours without the brightness of each and the tint of the light."""
    tints = colours - colours.max(axis=1, keepdims=True)
    return np.asarray(tints - np.median(tints, axis=0))


def _nest_by_camera(light: Mapping[Place, Floats]) -> dict[str, dict[str, list[list[float]]]]:
    nested: dict[str, dict[str, list[list[float]]]] = defaultdict(dict)
    for (camera, site), values in light.items():
        nested[camera][site] = np.round(values, _DIGITS).tolist()
    return dict(nested)
