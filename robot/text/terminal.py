"""Drawings for all terminal screens: cubes, pictures, and moves in progress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.color import Color
from rich.progress_bar import ProgressBar
from rich.style import Style
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FACE_COLOURS = {
    "U": "#f4f4ee",
    "R": "#c8202c",
    "F": "#14a44c",
    "D": "#f4dc28",
    "L": "#f4801c",
    "B": "#2858d0",
}
"""Colours of a common cube, for stickers whose own colour was not measured."""

_NET_ROWS = (" U", "LFRB", " D")
_WIDE_CELLS = 3
"""Largest number of layers for which a cube is drawn with gaps between its stickers."""


def net_of(colours: Sequence[str | None]) -> Text:
    """Return the unfolded cube as coloured cells: U above, L F R B in a row, D below.

    ``colours``: of the 6 N^2 stickers, faces in the order URFDLB, as #rrggbb; None is unknown.
    """
    size = round((len(colours) / 6) ** 0.5)
    gap = " " if size <= _WIDE_CELLS else ""
    text = Text()
    for faces in _NET_ROWS:
        for row in range(size):
            for face in faces:
                _append_row(text, colours, face, row, gap)
            text.append("\n")
    text.rstrip()
    return text


def picture_cells(
    image: NDArray[np.uint8], columns: int, rows: int
) -> list[list[tuple[str, Style]]]:
    """Return a picture, uint8[H, W, 3] RGB, as lines of characters, as large as fits.

    Proportions stay. Each character shows two pixels, one above the other. Terminals without 24-bit
    colours show the nearest that they have.
    """
    import cv2
    import numpy as np

    height, width = image.shape[:2]
    scale = min(columns / width, 2 * rows / height)
    fitting = (max(1, round(width * scale)), max(2, round(height * scale) // 2 * 2))
    small = cv2.resize(image, fitting, interpolation=cv2.INTER_AREA)
    pairs = np.concatenate([small[0::2], small[1::2]], axis=2).tolist()
    return [[("▀", _two_colours(*pair)) for pair in line] for line in pairs]


def picture_text(image: NDArray[np.uint8], columns: int, rows: int) -> Text:
    """Return the picture as one text."""
    lines = picture_cells(image, columns, rows)
    return Text("\n").join(Text.assemble(*line) for line in lines)


def _two_colours(*rgb: int) -> Style:
    return Style.from_color(Color.from_rgb(*rgb[:3]), Color.from_rgb(*rgb[3:]))


_BAR_WIDTH = 34
_LEAST_BAR = 6


def progress_bar(share: float | None, text: str, width: int, most: int = _BAR_WIDTH) -> Table:
    """Return a bar of at most ``most`` columns and its ``text``, within ``width`` columns.

    ``share`` is 0..1; None draws a bar that pulses.
    """
    room = max(_LEAST_BAR, min(most, width - cell_len(text) - 1))
    bar = ProgressBar(total=None if share is None else 1.0, completed=share or 0, width=room)
    row = Table.grid(padding=(0, 1))
    row.add_row(bar, Text(text, style="dim"))
    return row


def moves_text(moves: Sequence[str], done: int) -> Text:
    """Return the moves, with the first ``done`` struck off and the next one highlighted."""
    text = Text()
    for number, move in enumerate(moves):
        style = "dim strike" if number < done else "bold yellow" if number == done else ""
        text.append(move, style=style or "default")
        text.append(" ")
    return text


def _append_row(text: Text, colours: Sequence[str | None], face: str, row: int, gap: str) -> None:
    size = round((len(colours) / 6) ** 0.5)
    if face == " ":
        text.append(" " * ((2 + len(gap)) * size + 1))
        return
    begin = "URFDLB".index(face) * size * size + row * size
    for colour in colours[begin : begin + size]:
        text.append("██" if colour else "··", style=colour or "dim")
        text.append(gap)
    text.append(" ")
