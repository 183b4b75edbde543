"""Where the simulated camera stands: found from how the profile says it sees the robot's sites."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from robot.settings.profile import CameraSettings
from robot.twin.cube import face_axes

FloatArray = NDArray[np.float64]
FOCAL_TRIALS = np.geomspace(0.6, 4.0, 40)
"""Focal lengths tried, in picture widths: from a wide angle to a long lens."""


@dataclass(frozen=True, eq=False)
class Optics:
    """A pinhole camera; the cube's faces are at +-1 in the robot frame."""

    width: int
    height: int
    focal: float
    rotation: FloatArray
    translation: FloatArray

    @property
    def position(self) -> FloatArray:
        """float64[3]: where the lens is in the robot frame."""
        return np.asarray(-self.rotation.T @ self.translation)

    def project(self, points: FloatArray) -> FloatArray:
        """float64[..., 2]: pixel coordinates (x right, y down) of points in the robot frame."""
        seen = points @ self.rotation.T + self.translation
        centre = np.array([self.width / 2, self.height / 2])
        return np.asarray(seen[..., :2] / seen[..., 2:] * self.focal + centre)


def site_corners(site: str) -> FloatArray:
    """float64[4, 3]: corners of a face at the site, in the order of its drawing."""
    normal, right, down = face_axes(site)
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return np.array([normal + right * x + down * y for x, y in signs], dtype=float)


def place_camera(camera: CameraSettings) -> Optics:
    """The pinhole camera that sees the views' quadrilaterals best."""
    width, height = camera.resolution
    corners = np.concatenate([site_corners(view.site) for view in camera.views])
    pixels = np.concatenate([np.array(view.quad) * (width, height) for view in camera.views])
    trials = [_fit(corners, pixels, width, height, part * width) for part in FOCAL_TRIALS]
    return min(trials, key=lambda optics: _miss(optics, corners, pixels))


def _fit(corners: FloatArray, pixels: FloatArray, width: int, height: int, focal: float) -> Optics:
    matrix = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]])
    flag = cv2.SOLVEPNP_IPPE if len(corners) == 4 else cv2.SOLVEPNP_SQPNP
    _, vectors, shifts, _ = cv2.solvePnPGeneric(corners, pixels, matrix, None, flags=flag)
    found = [
        Optics(width, height, focal, np.asarray(cv2.Rodrigues(vector)[0]), np.ravel(shift))
        for vector, shift in zip(vectors, shifts, strict=True)
    ]
    return min(found, key=lambda optics: _miss(optics, corners, pixels))


def _miss(optics: Optics, corners: FloatArray, pixels: FloatArray) -> float:
    """Worst distance in pixels between calibrated and seen corners; infinite for no camera."""
    miss = float(np.abs(optics.project(corners) - pixels).max())
    return miss if math.isfinite(miss) else math.inf
