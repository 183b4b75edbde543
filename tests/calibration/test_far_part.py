"""The part of a face beyond the layer of a gripper beside the cube, in pictures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

from robot.calibration.auto.far_part import TOWARDS, FarPart
from robot.calibration.auto.fitting import TiltGauge
from robot.settings.base import Site
from robot.text.faults import CalibrationError

PALETTE = [(236, 238, 232), (178, 24, 32), (16, 138, 62), (232, 208, 32), (20, 66, 156)]
NOISE = 4.0
STICKER_PX = 40
SITES: tuple[Site, ...] = ("R", "L", "F", "B")


class View:
    """A camera above a cube's face. The face tilts as a whole, or without the layer at a gripper.

    That layer turns by ``layer`` quarters instead, which shows other stickers.
    """

    def __init__(self, site: Site, size: int) -> None:
        self.profile = SimpleNamespace(cube=SimpleNamespace(size=size))
        self.site, self.size = site, size
        self.tilt, self.layer, self.shift = 0.0, 0, 0
        self.trembles: tuple[float, ...] = (0.0,)
        self.random = np.random.default_rng(1)
        self.taken = 0

    def flat_picture(self, reach: float, half_width_px: int) -> Any:
        """See :meth:`RotationGauge.flat_picture`."""
        count = round(2 * reach * half_width_px)
        self.taken += 1
        degrees = self.tilt + self.trembles[self.taken % len(self.trembles)]
        corners = TiltGauge(self.site).corners(degrees)
        edge = self.size * STICKER_PX
        drawn = np.float32([(0, 0), (edge, 0), (edge, edge), (0, edge)])
        pixels = np.float32((corners + reach) * half_width_px)
        matrix = cv2.getPerspectiveTransform(drawn, pixels)
        picture = cv2.warpPerspective(
            self.face, matrix, (count, count), borderMode=cv2.BORDER_CONSTANT, borderValue=(90,) * 3
        )
        return np.float32(picture + NOISE * self.random.standard_normal(picture.shape))

    @property
    def face(self) -> Any:
        """Return the stickers on black, uint8[h, w, 3]."""
        size = self.size
        numbers = (np.arange(size * size).reshape(size, size) * 2 + self.shift) % len(PALETTE)
        right, down = TOWARDS[self.site]
        line = -1 if right + down > 0 else 0
        if self.layer:
            row = numbers[:, line] if right else numbers[line]
            row[:] = (row + self.layer) % len(PALETTE)
        drawn = np.full((size * STICKER_PX, size * STICKER_PX, 3), 18, np.uint8)
        for y, x in np.ndindex(size, size):
            inner = slice(y * STICKER_PX + 3, (y + 1) * STICKER_PX - 3)
            drawn[inner, x * STICKER_PX + 3 : (x + 1) * STICKER_PX - 3] = PALETTE[numbers[y, x]]
        return drawn


def watched(site: Site = "R", size: int = 3) -> tuple[View, FarPart]:
    view: Any = View(site, size)
    part = FarPart(view, site)
    part.begin()
    return view, part


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("site", SITES)
def test_a_cube_that_tilts_is_told_from_one_that_stays(site, size):
    view, part = watched(site, size)
    for degrees in (-4.0, -2.0, 0.0, 2.0, 4.0):
        view.tilt = degrees
        assert part.degrees() == pytest.approx(degrees, abs=0.25 * abs(degrees) + 0.2)
    view.tilt, view.layer = 0.0, 1
    assert part.degrees() == pytest.approx(0.0, abs=0.2), "only the layer of the gripper turned"


def test_a_cube_that_trembles_is_measured_by_the_middle_and_one_that_moves_is_refused():
    view, part = watched()
    view.trembles = (-0.5, 0.5)
    assert part.degrees() == pytest.approx(0.0, abs=0.8)
    view.trembles = (-4.0, 4.0)
    with pytest.raises(CalibrationError, match="keeps moving"):
        part.degrees()
