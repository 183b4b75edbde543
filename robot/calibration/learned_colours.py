"""Learning a robot's colours, and the light on them, from the cubes that it has solved.

A robot looks at each site through the same lens, under the same lamps, with the same shadow of its
own frame. A cube whose colours are known shows that light sticker by sticker::

    light on a sticker of the site U, in solve after solve, other colours there each time
    seen    -0.31  -0.22  -0.28 | -0.24  -0.35 ...      field -0.27
    as the field says, each look is evened out before the cube is read

What is left of uneven light moves each colour about, so that red and orange overlap. The field and
the colours follow slowly as lamps age and the sun goes round. Only what a robot has proven teaches:
the cube was read beyond doubt, turned as that reading says, and is solved.
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
"""Weight of the latest solve in the slow mean; the first looks at the light count alike.

Stored colours, also a person's, count as four solves from the beginning. So no single solve
overwrites what somebody has measured, and ten solves make up for another lamp.
"""
MOST_AT_ONCE = 0.25
MOST_AT_FIRST = 0.7
"""Log light by which a solve may move a sticker's light at most: a reflection does not count."""
DARKEST = -2.5
OTHER_COLOUR = 0.7
"""Log light by which a channel of a colour differs, beside its brightness, on another cube."""
_FLOOR = 0.05
"""Share of the brightest colour below which a channel shows no more than noise."""
_DIGITS = 4


@dataclass(frozen=True, eq=False)
class Lesson:
    """A cube that was read beyond doubt: its ``facelets``, and the looks at its faces."""

    facelets: str
    looks: Sequence[tuple[FaceView, FaceColours]]

    @classmethod
    def from_images(cls, facelets: str, images: Iterable[FaceImage]) -> Lesson:
        """Return the lesson without the pictures; the last look at each face counts."""
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
    """Light float64[N*N, 3] in the drawings of the sites, the median of the faces seen there."""
    size = profile.cube.size
    faces: dict[Place, list[Floats]] = defaultdict(list)
    for view, _ in lesson.looks:
        first = FACES.index(view.face) * size**2
        there = np.empty((size**2, 3))
        there[site_stickers(view, size)] = seen[first : first + size**2]
        faces[view.camera, view.site].append(there)
    return {place: _median(np.stack(looks)) for place, looks in faces.items()}


def _median(looks: Floats) -> Floats:
    """The median over looks float64[k, n, 3] without NaN; 0 where there is nothing else."""
    known = ~np.isnan(looks).all(axis=0)
    median = np.zeros(looks.shape[1:])
    median[known] = np.nanmedian(looks[:, known], axis=0)
    return median


def _misleads(known: Mapping[Place, Floats], found: Mapping[Place, Floats]) -> bool:
    """Return whether looks would have been more even without the light that was known."""
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
    """The light after looks that still show ``found``; its brightest place is 0."""
    after = dict(known)
    for place, light in found.items():
        after[place] = known.get(place, 0.0) + weight * np.clip(light, -most, most)
    brightest = np.max([light.max(axis=0) for light in after.values()], axis=0)
    return {place: np.clip(light - brightest, DARKEST, 0.0) for place, light in after.items()}


def _blend(
    stored: ColourReferences | None, seen: ColourReferences, weight: float
) -> ColourReferences:
    """The stored colours moved towards those seen, whose letters may be others as the cube may be
    held otherwise. Those of another cube do not count.
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
    """Log colours without the brightness of each and the tint of the light."""
    tints = colours - colours.max(axis=1, keepdims=True)
    return np.asarray(tints - np.median(tints, axis=0))


def _nest_by_camera(light: Mapping[Place, Floats]) -> dict[str, dict[str, list[list[float]]]]:
    nested: dict[str, dict[str, list[list[float]]]] = defaultdict(dict)
    for (camera, site), values in light.items():
        nested[camera][site] = np.round(values, _DIGITS).tolist()
    return dict(nested)
