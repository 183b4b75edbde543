"""Draw docs/pictures/rooms.svg from the imports: `python docs/draw_rooms.py`.

A room is a folder of `robot/`, `vision/` or `solver/`, or a module beside the folders. Each room is
above all rooms that it imports. Arrows implied by a path of other arrows are omitted, so the
picture shows the fewest arrows that determine all dependencies.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

import grimp

PICTURE = Path(__file__).parent / "pictures" / "rooms.svg"
PACKAGES = ("robot", "vision", "solver")
EVERYWHERE = frozenset({"solver.errors"})
"""Rooms that all others import. Their arrows would hide the rest."""
COLOURS = {"robot": "#dbe7f6", "vision": "#e3f1dd", "solver": "#f8e8cf"}
LINE = "#6b7785"
BOX_HEIGHT, ROW_GAP, GAP, MARGIN = 34, 44, 16, 24
LETTER, PADDING, LEAST_WIDTH = 7.4, 22, 84
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
font-family="system-ui, sans-serif" font-size="13">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" \
orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{line}"/></marker></defs>"""


def imports() -> dict[str, set[str]]:
    """Return the rooms that each room imports, without native code and the packages' own files."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    arrows: dict[str, set[str]] = defaultdict(set)
    for module in graph.modules - set(PACKAGES):
        room = room_of(module)
        arrows[room] |= {
            room_of(other)
            for other in graph.find_modules_directly_imported_by(module)
            if other not in PACKAGES
        }
    return {
        room: others - {room} - EVERYWHERE
        for room, others in arrows.items()
        if room not in EVERYWHERE
    }


def room_of(module: str) -> str:
    """Return the folder below a package, or the module beside the folders."""
    return ".".join(module.split(".")[:2])


def floors(arrows: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the lowest floor of each room that is above all its imports."""
    known: dict[str, int] = {}

    def floor(room: str) -> int:
        if room not in known:
            known[room] = 1 + max((floor(other) for other in arrows[room]), default=-1)
        return known[room]

    for room in sorted(arrows):
        floor(room)
    return known


def fewest(arrows: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the arrows without those that others imply."""
    reached: dict[str, set[str]] = {}

    def reach(room: str) -> set[str]:
        if room not in reached:
            reached[room] = set(arrows[room]).union(*(reach(other) for other in arrows[room]))
        return reached[room]

    return {
        room: {o for o in others if not any(o in reach(via) for via in others - {o})}
        for room, others in arrows.items()
    }


def drawn() -> str:
    """Return the picture as SVG."""
    arrows = imports()
    floor_of = floors(arrows)
    kept = fewest(arrows)
    rows = [
        sorted(room for room in arrows if floor_of[room] == floor)
        for floor in range(max(floor_of.values()), -1, -1)
    ]
    rows = untangled(rows, kept)
    boxes, width = placed(rows)
    height = MARGIN * 2 + len(rows) * (BOX_HEIGHT + ROW_GAP) - ROW_GAP
    parts = [
        HEAD.format(width=round(width), height=height, line=LINE),
        f'<rect width="{width:.0f}" height="{height}" fill="#fdfdfc"/>',
    ]
    parts += [
        arrow(boxes[room], boxes[other]) for room in sorted(kept) for other in sorted(kept[room])
    ]
    parts += [box(room, *boxes[room]) for row in rows for room in row]
    return "\n".join([*parts, "</svg>\n"])


def untangled(rows: list[list[str]], arrows: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the rows with each room near the middle of its neighbours on other floors."""
    neighbours: dict[str, set[str]] = defaultdict(set)
    for room, others in arrows.items():
        for other in others:
            neighbours[room].add(other)
            neighbours[other].add(room)
    for _ in range(12):
        place = {room: (number + 0.5) / len(row) for row in rows for number, room in enumerate(row)}
        middle = {
            room: round(math.fsum(place[n] for n in near) / len(near), 6)
            for room, near in neighbours.items()
        }
        rows = [sorted(row, key=lambda room: (middle.get(room, 0), room)) for row in rows]
    return rows


def placed(rows: list[list[str]]) -> tuple[dict[str, tuple[float, float, float]], float]:
    """Return left, top and width of each room's box, and the width of the picture."""
    widths = {room: max(LEAST_WIDTH, len(room) * LETTER + PADDING) for row in rows for room in row}
    lengths = [sum(widths[room] + GAP for room in row) - GAP for row in rows]
    width = max(lengths) + 2 * MARGIN
    boxes = {}
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        space = (width - 2 * MARGIN - length) / (len(row) + 1)
        left = MARGIN + space
        for room in row:
            boxes[room] = (left, MARGIN + number * (BOX_HEIGHT + ROW_GAP), widths[room])
            left += widths[room] + GAP + space
    return boxes, width


def box(room: str, left: float, top: float, width: float) -> str:
    """Draw a room with its name."""
    colour = COLOURS[room.partition(".")[0]]
    middle = left + width / 2
    return (
        f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{BOX_HEIGHT}" rx="6" '
        f'fill="{colour}" stroke="#9aa5b1"/>'
        f'<text x="{middle:.1f}" y="{top + 22}" text-anchor="middle">'
        f"{escape(room.replace('.', '/'))}</text>"
    )


def arrow(start: tuple[float, float, float], end: tuple[float, float, float]) -> str:
    """Draw an arrow from the lower edge of a box to the upper edge of another."""
    x1, y1 = start[0] + start[2] / 2, start[1] + BOX_HEIGHT
    x2, y2 = end[0] + end[2] / 2, end[1]
    bend = max(ROW_GAP * 0.6, (y2 - y1) / 3)
    path = f"M{x1:.1f},{y1} C{x1:.1f},{y1 + bend:.1f} {x2:.1f},{y2 - bend:.1f} {x2:.1f},{y2 - 1}"
    return f'<path d="{path}" fill="none" stroke="{LINE}" marker-end="url(#tip)"/>'


if __name__ == "__main__":
    PICTURE.write_text(drawn())
