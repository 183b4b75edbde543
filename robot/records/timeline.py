"""A plan as a Gantt chart in SVG: one row per actuator, and one for the cube.

Long plans are split into bands below each other, like lines of music, so that every bar stays wide
enough to read. The output is plain text, without other libraries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import median

from robot.records.storage import write_given
from solver.cube.notation import Move
from solver.files import JsonMapping


def write_chart(path: Path, operations: Sequence[JsonMapping], duration_us: int) -> None:
    """Draw ``operations`` into an SVG file, ``-`` for standard output; raises ``StorageError``."""
    chart = operations_svg(operations, f"{duration_us / 1e6:.2f} s")
    write_given(path, chart.encode())


CUBE_ROW = "cube"
LEFT, TOP, BAND_WIDTH = 110, 58, 1200
ROW_HEIGHT, BAR_HEIGHT, BAND_GAP = 26, 18, 34
LONGEST_SINGLE_US = 12_000_000
WANTED_BAR_WIDTH = 42.0
LETTER_WIDTH, SMALL_LETTER_WIDTH, SMALL_SIZE = 6.6, 5.4, 9
COLOURS = {
    "turn": "#2f6fde",
    "rotate": "#8a5cd6",
    "look": "#d89b18",
    "held": "#2f6fde",
    "free": "#9aa5b4",
    "open": "#7cc4a0",
    "place": "#2d8a5c",
}
"""Colours of bars: turns, rotations of the cube, pictures; actuators with and without load."""
LEGEND = {
    "turn": "turns a layer",
    "rotate": "rotates the cube",
    "free": "turns empty",
    "open": "opens",
    "place": "closes or flips",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar in a row; times in microseconds. ``kind`` is a key of the colours."""

    row: str
    start_us: int
    duration_us: int
    label: str
    kind: str

    @property
    def end_us(self) -> int:
        """The end of the bar."""
        return self.start_us + self.duration_us


def operations_svg(operations: Sequence[JsonMapping], title: str) -> str:
    """Return the chart of recorded operations (``cubist solve --json``), a row for each part."""
    bars = [*_cube_bars(operations), *_part_bars(operations)]
    return draw(bars, list(dict.fromkeys([CUBE_ROW, *(bar.row for bar in bars)])), title)


def _cube_bars(operations: Iterable[JsonMapping]) -> Iterator[Bar]:
    """Yield bars of the cube's turns; turns that start at the same time share one."""
    together: dict[int, Bar] = {}
    for operation in operations:
        op, start = str(operation["op"]), int(operation["start_us"])
        if op not in ("turn", "rotate", "look"):
            continue
        bar = Bar(CUBE_ROW, start, int(operation["duration_us"]), _cube_label(operation), op)
        other = together.get(start)
        if other is not None:
            duration = max(bar.duration_us, other.duration_us)
            bar = Bar(CUBE_ROW, start, duration, f"{other.label} {bar.label}", op)
        together[start] = bar
    yield from together.values()


def layers_text(operation: JsonMapping) -> str:
    """Return the layers of a turn in notation: ``U``, ``Uw``, ``3Uw``; empty for no turn."""
    site = operation.get("site")
    return "" if site is None else str(Move(site, 1, 1, operation.get("layers", 1)))


def _cube_label(operation: JsonMapping) -> str:
    place = operation.get("axis") or layers_text(operation)
    return place + {1: "", 2: "2", -1: "'"}.get(operation.get("quarter_turns", 1), "")


def _part_bars(operations: Sequence[JsonMapping]) -> Iterator[Bar]:
    """Yield a bar for each part that an operation moves; a table's turns are in its own row."""
    table = next((str(o["table"]) for o in operations if "table" in o), None)
    for operation in operations:
        op = str(operation["op"])
        label = _cube_label(operation) if op in ("turn", "rotate") else _place_label(operation)
        kinds = {"turn": "held", "rotate": "rotate", "home": "free"}
        kind = kinds.get(op, "open" if label == "open" else "place")
        times = int(operation["start_us"]), int(operation["duration_us"])
        for part in _parts_of(operation, table):
            yield Bar(part, *times, label, kind)


def _parts_of(operation: JsonMapping, table: str | None) -> list[str]:
    """Return the names of the table, arms or grippers that an operation moves."""
    if "grippers" in operation:
        return [str(site) for site in operation["grippers"]]
    if operation["op"] == "turn":
        return [table or str(operation["site"])]
    part = operation.get("table") or operation.get("arm") or operation.get("gripper")
    return [] if part is None else [str(part)]


def _place_label(operation: JsonMapping) -> str:
    names = {"release": "open", "grip": "close"}
    return str(operation.get("to", names.get(operation["op"], operation["op"])))


def draw(bars: Sequence[Bar], rows: Sequence[str], title: str) -> str:
    """Return the chart of ``bars`` in ``rows``, top to bottom."""
    end_us = max((bar.end_us for bar in bars), default=1_000_000)
    band_us = _band_us(bars, end_us)
    bands = -(-end_us // band_us)
    band_height = ROW_HEIGHT * len(rows) + BAND_GAP
    height = TOP + bands * band_height + 8
    width = LEFT + BAND_WIDTH + 20
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="11">'
    )
    heading = f'<text x="16" y="28" font-size="17" font-weight="600" fill="#222">{escape(title)}'
    parts = [head, _rect(0, 0, width, height, "#fbfbfa"), heading + "</text>", *_legend()]
    for band in range(bands):
        top = TOP + band * band_height
        window = band * band_us, (band + 1) * band_us
        parts += _grid(rows, top, window)
        parts += _bars(bars, rows, top, window)
    return "\n".join([*parts, "</svg>\n"])


def _legend() -> Iterator[str]:
    """Yield the legend of the colours, at the top right."""
    x = LEFT + BAND_WIDTH - 130 * len(LEGEND)
    for kind, meaning in LEGEND.items():
        yield _rect(x, 18, 12, 12, COLOURS[kind], ' rx="3"')
        yield _text(x + 18, 28, meaning, "#555", "start")
        x += 130


def _band_us(bars: Sequence[Bar], end_us: int) -> int:
    """Return the us of a band: a whole short plan, else equal parts that leave room for labels."""
    if end_us <= LONGEST_SINGLE_US:
        return end_us
    usual = median(bar.duration_us for bar in bars)
    wanted = usual * BAND_WIDTH / WANTED_BAR_WIDTH
    bands = max(1, round(end_us / wanted))
    tick = _tick_us(-(-end_us // bands))
    return -(-end_us // (bands * tick)) * tick


def _tick_us(span_us: int) -> int:
    """Return a round time between ticks, of which ``span_us`` has ten to twenty-five."""
    tick = 1
    while tick * 25 < span_us:
        for factor in (2, 5, 10):
            if tick * factor * 25 >= span_us:
                return tick * factor
        tick *= 10
    return tick


def _grid(rows: Sequence[str], top: int, window: tuple[int, int]) -> Iterator[str]:
    start, end = window
    bottom = top + ROW_HEIGHT * len(rows)
    tick = _tick_us(end - start)
    for number, row in enumerate(rows):
        y = top + number * ROW_HEIGHT
        if number % 2 == 0:
            yield _rect(8, y, LEFT + BAND_WIDTH, ROW_HEIGHT, "#f0f1f3")
        yield _text(LEFT - 10, y + 17, row, "#333", "end")
    for time_us in range(start, end + 1, tick):
        x = _x(time_us, window)
        yield f'<line x1="{x}" y1="{top}" x2="{x}" y2="{bottom}" stroke="#d5d8dd"/>'
        yield _text(x, bottom + 14, _clock(time_us), "#777")


def _bars(
    bars: Sequence[Bar], rows: Sequence[str], top: int, window: tuple[int, int]
) -> Iterator[str]:
    for bar in bars:
        if bar.start_us >= window[1] or bar.end_us <= window[0]:
            continue
        left = _x(max(bar.start_us, window[0]), window)
        right = _x(min(bar.end_us, window[1]), window)
        y = top + rows.index(bar.row) * ROW_HEIGHT + (ROW_HEIGHT - BAR_HEIGHT) // 2
        yield _bar(bar, left, max(right - left - 1, 1.0), y)


def _bar(bar: Bar, left: float, width: float, y: int) -> str:
    tip = f"{bar.row}: {bar.label}, {_clock(bar.start_us)} to {_clock(bar.end_us)}"
    text = _label(bar.label, left, width, y)
    box = _rect(left, y, width, BAR_HEIGHT, COLOURS[bar.kind], ' rx="3"')
    return f"<g><title>{escape(tip)}</title>{box}{text}</g>"


def _label(label: str, left: float, width: float, y: int) -> str:
    """Return the bar's label, smaller if necessary, or nothing if it does not fit."""
    middle = left + width / 2
    if len(label) * LETTER_WIDTH <= width:
        return _text(middle, y + 13, label, "#fff")
    if len(label) * SMALL_LETTER_WIDTH <= width:
        return _text(middle, y + 12, label, "#fff", more=f' font-size="{SMALL_SIZE}"')
    return ""


def _rect(x: float, y: float, width: float, height: float, fill: str, more: str = "") -> str:
    place = f'x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}"'
    return f'<rect {place} fill="{fill}"{more}/>'


def _text(x: float, y: float, text: str, fill: str, anchor: str = "middle", more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:g}" text-anchor="{anchor}"'
    return f'<text {place} fill="{fill}"{more}>{escape(text)}</text>'


def _x(time_us: int, window: tuple[int, int]) -> float:
    return round(LEFT + BAND_WIDTH * (time_us - window[0]) / (window[1] - window[0]), 1)


def _clock(time_us: int) -> str:
    """Return a time for people: in seconds, or in milliseconds below one second."""
    if time_us and time_us < 1_000_000:
        return f"{round(time_us / 1000, 1):g} ms"
    return f"{round(time_us / 1e6, 3):g} s"
