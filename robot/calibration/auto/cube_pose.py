"""The pose of a cube in front of a camera that sees several of its faces at once.

The profile says where the faces should be in the picture, but a camera mounted by hand sees them
elsewhere. One face is found on its own. If the camera sees all of them too obliquely for that, the
places that a camera mounted somewhat askew would show are tried. One face of a cube determines the
places of the others, and those found there make the pose exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.calibration.auto.fitting import fit_values
from robot.calibration.steps.camera import Image, nearest_turn
from robot.settings.base import Site
from robot.settings.profile import CameraSettings
from robot.text.faults import CalibrationError
from solver.cube.facelets import NORMALS, READING
from vision.decide.causes import require_face
from vision.locate.face import FaceGrid, HintedSearch, confirm_grid, locate_grids
from vision.locate.view_check import OddView

Floats = NDArray[np.float64]
Quads = Mapping[Site, Floats]

FOCAL_PARTS = (0.6, 0.9, 1.3, 1.9, 2.8)
"""Focal lengths from which a fit starts, in widths of the picture."""

FARTHEST_PITCHES = 2.0
"""Maximum distance of a face from its place in the profile, in stickers."""

NEAR_PITCHES = 0.5
"""Maximum distance of a face from its place given by the others, in stickers."""

CERTAIN = 0.6
"""Minimum fit of a face that is found on its own."""

ASKEW_DEGREES = (0, -4, 4, -8, 8)
ASKEW_SHIFTS = (0.0, -0.03, 0.03, -0.06, 0.06)
ASKEW_SCALES = (1.0, 0.93, 1.07)
"""Turns, shifts (fractions of the picture's width) and scales of an askew camera to try."""

CLOSE_PITCHES = 0.04
"""Distance of corners from those of a cube, in stickers, below which no other place is tried."""

FEWEST_FACES = 2
"""Minimum number of faces that determine the pose of a cube."""

MOST_MISS_PITCHES = 0.15
"""Maximum distance of corners from those of the fitted cube, in stickers."""


@dataclass(frozen=True, eq=False)
class CubePose:
    """A pinhole camera in front of a cube with edges of length 2 around the origin.

    Rodrigues vector, shift, and the focal length and middle of the picture in pixels.
    """

    turn: Floats
    shift: Floats
    focal: float
    middle: tuple[float, float]

    def corners(self, site: Site) -> Floats:
        """Return the corners of the face at a site, float64[4, 2], in the order of its drawing."""
        return self._project(site_corners(site))

    @classmethod
    def fit(cls, quads: Quads, resolution: tuple[int, int], start: CubePose | None) -> CubePose:
        """Fit the pose to corners in pixels. Without a ``start`` at least two faces are needed."""
        solid = np.concatenate([site_corners(site) for site in quads])
        pixels = np.concatenate(list(quads.values()))
        middle = (resolution[0] / 2, resolution[1] / 2)
        if start is not None:
            return cls._nearest(solid, pixels, start, fixed=len(quads) == 1)
        trials = []
        for part in FOCAL_PARTS:
            focal = part * resolution[0]
            matrix = np.array([[focal, 0, middle[0]], [0, focal, middle[1]], [0, 0, 1]], np.float64)
            _, turn, shift = cv2.solvePnP(
                solid, pixels, matrix, np.empty(0), flags=cv2.SOLVEPNP_SQPNP
            )
            begin = cls(np.ravel(turn), np.ravel(shift), focal, middle)
            trials.append(cls._nearest(solid, pixels, begin, fixed=False))
        return min(trials, key=lambda pose: float(np.abs(pose._project(solid) - pixels).max()))

    @classmethod
    def _nearest(cls, solid: Floats, pixels: Floats, start: CubePose, *, fixed: bool) -> CubePose:
        """Fit by least squares; ``fixed``: keep the focal length of the start."""

        def pose_at(values: Floats) -> CubePose:
            focal = start.focal if fixed else float(np.exp(values[6]))
            return cls(values[:3], values[3:6], focal, start.middle)

        def misses(values: Floats) -> Floats:
            return (pose_at(values)._project(solid) - pixels).ravel()

        begin = [*start.turn, *start.shift, *([] if fixed else [np.log(start.focal)])]
        return pose_at(fit_values(misses, np.array(begin)))

    def _project(self, points: Floats) -> Floats:
        rotation = np.asarray(cv2.Rodrigues(self.turn)[0])
        seen = points @ rotation.T + self.shift
        return np.asarray(seen[:, :2] / seen[:, 2:] * self.focal + self.middle)


def site_corners(site: Site) -> Floats:
    """Return the corners of a face in the robot's frame, float64[4, 3], as it is drawn."""
    down, right = (np.array(direction, dtype=np.float64) for direction in READING[site])
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return np.array([np.array(NORMALS[site]) + right * x + down * y for x, y in signs])


def faces_in_view(camera: CameraSettings, image: Image, size: int) -> Quads:
    """Return the corners in pixels of every face that a camera shows in a picture uint8[H, W, 3].

    Raise :class:`CalibrationError` if they are not those of one cube, or not all in view.
    """
    drawn: Quads = {
        view.site: np.asarray(np.array(view.quad) * camera.resolution) for view in camera.views
    }
    usual = CubePose.fit(drawn, camera.resolution, None)
    found = _first_face(image, drawn, size) or _faces_askew(image, drawn, size, usual)
    if found is None:
        raise CalibrationError(
            f"camera {camera.name} sees no face of a cube near where the profile expects one: put "
            "a scrambled cube in, square to the motors, and check light and focus (`cubist "
            f"calibrate camera --live --camera {camera.name}`)"
        )
    pose = CubePose.fit(found, camera.resolution, usual)
    for site in drawn.keys() - found.keys():
        hint = FaceGrid.from_corners(pose.corners(site), size)
        grid = confirm_grid(image, hint)
        if grid is not None and _apart(grid.corners, hint) < NEAR_PITCHES:
            found = {**found, site: nearest_turn(grid.corners, hint.corners)}
    pose = CubePose.fit(found, camera.resolution, pose)
    quads = {view.site: pose.corners(view.site) for view in camera.views}
    _check(camera, found, quads, size)
    _check_seen(camera, image, quads, size)
    return quads


def _first_face(image: Image, drawn: Quads, size: int) -> Quads | None:
    """Return the face found with the best fit, at the site whose place in the profile is nearest;
    None if there is none."""
    grids = [one for one in locate_grids(image, (size,)) if one.fit >= CERTAIN]
    if not grids:
        return None
    grid = max(grids, key=lambda one: one.fit)
    near = {site: nearest_turn(grid.corners, quad) for site, quad in drawn.items()}
    site = min(near, key=lambda one: float(np.abs(near[one] - drawn[one]).max()))
    if np.abs(near[site] - drawn[site]).max() > FARTHEST_PITCHES * grid.pitch:
        return None
    return {site: near[site]}


def _faces_askew(image: Image, drawn: Quads, size: int, usual: CubePose) -> Quads | None:
    """Return the faces found where a camera mounted askew would show them, if they fit one cube.

    As many as possible, but two are enough, because one may be too dark. None if there are fewer.
    """
    best: dict[int, tuple[float, Quads | None]] = {}
    resolution = (image.shape[1], image.shape[0])
    middle = np.array(resolution) / 2
    faces = HintedSearch(image)
    for scale, degrees, right, down in product(
        ASKEW_SCALES, ASKEW_DEGREES, ASKEW_SHIFTS, ASKEW_SHIFTS
    ):
        turn, _ = cv2.Rodrigues(np.array([0, 0, np.radians(degrees)]))
        move = scale * turn[:2, :2].T
        shift = middle + np.array([right, down]) * resolution[0]
        hints = {site: (quad - middle) @ move + shift for site, quad in drawn.items()}
        found = _near(faces, hints, size)
        if len(found) < FEWEST_FACES:
            continue
        pose = CubePose.fit(found, resolution, usual)
        miss = _miss(found, {site: pose.corners(site) for site in found}, size)
        if miss < best.get(len(found), (MOST_MISS_PITCHES, None))[0]:
            best[len(found)] = (miss, found)
        if miss < CLOSE_PITCHES and len(found) == len(drawn):
            break
    return best[max(best)][1] if best else None


def _near(faces: HintedSearch, hints: Quads, size: int) -> Quads:
    """Return the faces that are near their hints. Stop as soon as there cannot be enough."""
    found: dict[Site, Floats] = {}
    for left, (site, hint) in zip(range(len(hints), 0, -1), hints.items(), strict=True):
        if len(found) + left < FEWEST_FACES:
            break
        grid = faces.near(FaceGrid.from_corners(hint, size))
        if grid is not None:
            found[site] = nearest_turn(grid.corners, hint)
    return found


def _miss(found: Quads, quads: Quads, size: int) -> float:
    """Return the maximum distance of found corners from those of a cube, in its smallest
    stickers."""
    pitch = min(FaceGrid.from_corners(quad, size).pitch for quad in quads.values())
    return max(float(np.abs(found[site] - quads[site]).max()) for site in found) / pitch


def _apart(corners: Floats, hint: FaceGrid) -> float:
    """Return the maximum distance of corners from a hint's, in its pitches."""
    off = np.linalg.norm(nearest_turn(corners, hint.corners) - hint.corners, axis=1)
    return float(off.max()) / hint.pitch


def _check(camera: CameraSettings, found: Quads, quads: Quads, size: int) -> None:
    """Raise ``CalibrationError`` if the faces are not of one cube, or not wholly in the picture."""
    pitch = min(FaceGrid.from_corners(quad, size).pitch for quad in quads.values())
    miss = _miss(found, quads, size)
    if miss > MOST_MISS_PITCHES:
        raise CalibrationError(
            f"camera {camera.name}: its faces are up to {miss * pitch:.0f} pixels off those of a "
            "single cube. Is there a second cube in view?"
        )
    corners = np.concatenate(list(quads.values()))
    if corners.min() < -pitch / 4 or (corners > np.array(camera.resolution) + pitch / 4).any():
        raise CalibrationError(
            f"camera {camera.name} does not show its faces whole: move it farther from the cube or "
            "turn it back"
        )


def _check_seen(camera: CameraSettings, image: Image, quads: Quads, size: int) -> None:
    """Raise :class:`CalibrationError` if a face is not visible at its place."""
    grids = {site: FaceGrid.from_corners(quad, size) for site, quad in quads.items()}
    for site, grid in grids.items():
        beside = [other for at, other in grids.items() if at != site]
        try:
            seen = require_face(image, size, grid, beside)
        except OddView as odd:
            raise CalibrationError(f"camera {camera.name}, face {site}: {odd}") from odd
        if _apart(seen.corners, grid) > NEAR_PITCHES:
            raise CalibrationError(
                f"camera {camera.name} does not show face {site} where it should be"
            )
