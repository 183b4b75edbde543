"""The shape of a screen in a terminal: whether anything is broken, cut or pushed aside."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console, RenderableType

TERMINALS = ((80, 24), (100, 30))
"""Columns and lines of the terminals that everything has to fit."""

STICKER = "██"
WIDE = 400

Screen = Callable[[int], RenderableType]
"""A screen, given the columns of its terminal."""


def lines_of(screen: Screen, columns: int) -> list[str]:
    """Render a screen on a terminal with so many columns, without colours."""
    stream = io.StringIO()
    console = Console(file=stream, width=columns, force_terminal=True, color_system=None)
    console.print(screen(columns))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def assert_fits(screen: Screen, columns: int, rows: int) -> list[str]:
    """Assert that all of a screen is there, whole, within the terminal; return its lines."""
    lines = lines_of(screen, columns)
    shown = "\n".join(lines)
    assert len(lines) <= rows, f"{len(lines)} lines on a terminal of {rows}:\n{shown}"
    assert max(map(len, lines), default=0) <= columns, shown
    assert "…" not in shown, f"cut:\n{shown}"
    wanted, found = words_of(lines_of(screen, WIDE)), words_of(lines)
    assert wanted <= found, f"broken or cut: {sorted(wanted - found)} in\n{shown}"
    if lines and lines[0].startswith("╭"):
        edges = {(line[0], line[-1]) for line in lines[1:-1]}
        assert edges == {("│", "│")}, f"the frame is broken:\n{shown}"
    assert_cube_is_whole(lines)
    return lines


def words_of(lines: list[str]) -> set[str]:
    """Return the words of a screen, without what is drawn."""
    text = " ".join(lines)
    for drawn in "│╭╮╰╯─━╸╺█▀·⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏":
        text = text.replace(drawn, " ")
    return set(text.split())


def assert_cube_is_whole(lines: list[str]) -> None:
    """Assert that an unfolded cube has N rows of one face, N of four and N of one."""
    counts = [line.count(STICKER) for line in lines if STICKER in line]
    if counts:
        size = counts[0]
        assert counts == [size] * size + [4 * size] * size + [size] * size, "\n".join(lines)
