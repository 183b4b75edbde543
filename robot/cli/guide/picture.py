"""A picture in the terminal: two pixels in each character."""

from __future__ import annotations

import cv2
import numpy as np
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from robot.cli.terminal_picture import Image


class Picture(Widget):
    """Shows an image as large as there is room, in its proportions."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  # Textual's name
        super().__init__(id=id)
        self._image: Image | None = None
        self._lines: list[Strip] = []
        self._drawn_for = (0, 0)

    def show(self, image: Image) -> None:
        """Show uint8[H, W, 3], RGB."""
        self._image = image
        self._drawn_for = (0, 0)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """See Textual: one line of characters."""
        size = (self.size.width, self.size.height)
        if self._drawn_for != size:
            self._drawn_for, self._lines = size, self._strips(*size)
        return self._lines[y] if y < len(self._lines) else Strip.blank(size[0])

    def _strips(self, columns: int, rows: int) -> list[Strip]:
        if self._image is None or not columns or not rows:
            return []
        height, width = self._image.shape[:2]
        scale = min(columns / width, 2 * rows / height)
        fitting = (max(1, round(width * scale)), max(2, round(height * scale) // 2 * 2))
        small = cv2.resize(self._image, fitting, interpolation=cv2.INTER_AREA)
        pairs = np.concatenate([small[0::2], small[1::2]], axis=2).tolist()
        return [Strip([_cell(*pair) for pair in line]) for line in pairs]


def _cell(*rgb: int) -> Segment:
    upper, lower = Color.from_rgb(*rgb[:3]), Color.from_rgb(*rgb[3:])
    return Segment("▀", Style.from_color(upper, lower))
