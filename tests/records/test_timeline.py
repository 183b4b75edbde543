"""The Gantt chart of a plan: every motion is a bar at its place."""

import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

from robot.planner import build_mechanism, plan_composites, plan_solve
from robot.records.timeline import (
    BAND_WIDTH,
    COLOURS,
    LEFT,
    LEGEND,
    LONGEST_SINGLE_US,
    Bar,
    _bars,
    draw,
    operations_svg,
    write_chart,
)
from robot.settings import load_profile
from solver.cost import composite_index
from solver.cube.cube import Cube

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def plan():
    mechanism = build_mechanism(load_profile("four-arm"))
    return plan_solve(Cube.random(np.random.default_rng(1)), mechanism, time_limit=0.3)


def bars(svg):
    root = ET.fromstring(svg)
    return [
        (group.find(f"{SVG}title").text, group.find(f"{SVG}rect")) for group in root.iter(f"{SVG}g")
    ]


def chart(plan):
    return operations_svg([operation.as_dict() for operation in plan.operations], "a plan")


def test_every_operation_has_a_bar_and_every_gripper_a_row(plan):
    svg = chart(plan)
    starts = {operation.start_us for operation in plan.operations if operation.op == "turn"}
    found = [title for title, _ in bars(svg)]
    assert sum(title.startswith("cube: ") for title in found) >= len(starts)
    for site in "RLFB":
        assert f">{site}</text>" in svg


def test_bars_of_a_row_do_not_overlap(plan):
    rows = {}
    for title, box in bars(chart(plan)):
        row = rows.setdefault((title.split(":")[0], box.get("y")), [])
        row.append((float(box.get("x")), float(box.get("width"))))
    assert any(len(row) > 1 for row in rows.values())
    for row in rows.values():
        row.sort()
        assert all(x + w <= y + 0.5 for (x, w), (y, _) in pairwise(row))


def test_recorded_operations_make_a_chart_too(plan):
    operations = [operation.as_dict() for operation in plan.operations]
    svg = operations_svg(operations, "run <1>")
    assert "run &lt;1&gt;" in svg
    assert {title.split(":")[0] for title, _ in bars(svg)} >= {"cube", "R", "L", "F", "B"}


def test_turns_made_together_share_a_bar():
    mechanism = build_mechanism(load_profile("six-motor"))
    plan = plan_composites(mechanism, mechanism.start, [composite_index(1, 1, 2)])
    assert "cube: R L2, 0 s to" in chart(plan)


def test_an_empty_chart_is_a_chart():
    assert ET.fromstring(draw([], ["cube"], "nothing")).tag == f"{SVG}svg"


OPERATIONS = [
    {"op": "home", "arm": "lid", "start_us": 0, "duration_us": 300_000},
    {"op": "look", "start_us": 300_000, "duration_us": 50_000},
    {"op": "move", "arm": "lid", "to": "open", "start_us": 400_000, "duration_us": 100_000},
    {"op": "move", "arm": "lid", "to": "close", "start_us": 500_000, "duration_us": 100_000},
    {
        "op": "turn",
        "site": "D",
        "table": "holder",
        "quarter_turns": -1,
        "start_us": 600_000,
        "duration_us": 400_000,
    },
    {
        "op": "rotate",
        "axis": "y",
        "grippers": ["R", "L"],
        "quarter_turns": 2,
        "start_us": 1_000_000,
        "duration_us": 500_000,
    },
    {"op": "release", "gripper": "R", "start_us": 1_500_000, "duration_us": 120_500},
    {"op": "grip", "gripper": "R", "start_us": 1_700_000, "duration_us": 100_000},
    {"op": "turn", "site": "U", "layers": 2, "start_us": 2_000_000, "duration_us": 400_000},
    {"op": "turn", "site": "D", "start_us": 2_000_000, "duration_us": 250_000},
]


def test_a_bar_says_what_which_part_does_and_its_colour_of_what_kind():
    told = [
        (title, next(kind for kind, colour in COLOURS.items() if colour == box.get("fill")))
        for title, box in bars(operations_svg(OPERATIONS, "all"))
    ]
    assert told == [
        ("cube: , 300 ms to 350 ms", "look"),
        ("cube: D', 600 ms to 1 s", "turn"),
        ("cube: y2, 1 s to 1.5 s", "rotate"),
        ("cube: Uw D, 2 s to 2.4 s", "turn"),
        ("lid: home, 0 s to 300 ms", "free"),
        ("lid: open, 400 ms to 500 ms", "open"),
        ("lid: close, 500 ms to 600 ms", "place"),
        ("holder: D', 600 ms to 1 s", "turn"),
        ("R: y2, 1 s to 1.5 s", "rotate"),
        ("L: y2, 1 s to 1.5 s", "rotate"),
        ("R: open, 1.5 s to 1.621 s", "open"),
        ("R: close, 1.7 s to 1.8 s", "place"),
        ("holder: Uw, 2 s to 2.4 s", "turn"),
        ("holder: D, 2 s to 2.25 s", "turn"),
    ]


def axes(root):
    """For each band: top, bottom, and the time in seconds with the place of every tick."""
    lines = [child for child in root if child.tag == f"{SVG}line"]
    texts = [(text.get("x"), text.get("y"), text.text) for text in root.iter(f"{SVG}text")]
    found = {}
    for line in lines:
        x, top, bottom = (float(line.get(name)) for name in ("x1", "y1", "y2"))
        assert line.get("x2") == line.get("x1")
        (told,) = [t for at, y, t in texts if float(at) == x and bottom < float(y) < bottom + 26]
        found.setdefault((top, bottom), []).append((seconds(told), x))
    return found


def seconds(told):
    number, unit = told.split()
    return float(number) * {"ms": 1e-3, "s": 1.0}[unit]


def sequence(count, duration_us):
    return [Bar("cube", n * duration_us, duration_us, f"R{n}", "turn") for n in range(count)]


@pytest.mark.parametrize(("count", "duration_us"), [(3, 400_000), (40, 260_000), (90, 731_000)])
def test_bars_stand_where_the_axis_of_their_band_says(count, duration_us):
    root = ET.fromstring(draw([*sequence(count, duration_us)], ["cube", "lid"], "many"))
    bands = axes(root)
    assert (len(bands) > 1) == (count * duration_us > LONGEST_SINGLE_US)
    for ticks in bands.values():
        (t0, _), (t1, _), (_, x2) = *ticks[:2], ticks[-1]
        assert t0 / (t1 - t0) == pytest.approx(round(t0 / (t1 - t0)), abs=1e-6)
        if len(bands) > 1:
            assert x2 == pytest.approx(LEFT + BAND_WIDTH, abs=0.2), "a band ends at a round time"
    shown = {}
    for group in root.iter(f"{SVG}g"):
        box = group.find(f"{SVG}rect")
        x, y, width, height = (float(box.get(name)) for name in ("x", "y", "width", "height"))
        ((_, ticks),) = [
            item for item in bands.items() if item[0][0] < y and y + height < item[0][1]
        ]
        (t0, x0), (t1, x1) = ticks[0], ticks[-1]
        a_second = (x1 - x0) / (t1 - t0)
        begin, end = (seconds(part) for part in group[0].text.split(", ")[1].split(" to "))
        last_s = t0 + (LEFT + BAND_WIDTH - x0) / a_second
        assert x == pytest.approx(x0 + (max(begin, t0) - t0) * a_second, abs=0.2)
        assert x + width + 1 == pytest.approx(x0 + (min(end, last_s) - t0) * a_second, abs=0.2)
        shown[group[0].text] = shown.get(group[0].text, 0.0) + (width + 1) / a_second
    assert len(shown) == count
    assert all(took == pytest.approx(duration_us / 1e6, abs=0.01) for took in shown.values())


@pytest.mark.parametrize("span_us", [7, 900, 26_000, 400_000, 3_100_000, 11_999_999])
def test_an_axis_has_ten_to_twenty_five_round_ticks(span_us):
    ((ticks),) = axes(ET.fromstring(draw([Bar("cube", 0, span_us, "R", "turn")], ["cube"], "")))
    root = ET.fromstring(draw([Bar("cube", 0, span_us, "R", "turn")], ["cube"], ""))
    places = [float(line.get("x1")) for line in root if line.tag == f"{SVG}line"]
    assert len(ticks) == 2 and 8 <= len(places) <= 26
    assert {round(b - a) for a, b in pairwise(places)} <= {
        round(places[1] - places[0]) + near for near in (-1, 0, 1)
    }


@pytest.mark.parametrize("rows", [["cube"], ["cube", "lid", "holder"]])
def test_names_stand_beside_their_rows_and_all_is_in_the_picture(rows):
    bars_of_rows = [Bar(row, 0, 500_000, row, "place") for row in rows]
    root = ET.fromstring(draw(bars_of_rows, rows, "names"))
    middles = {}
    for group in root.iter(f"{SVG}g"):
        box, label = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        left, top = float(box.get("x")), float(box.get("y"))
        width, height = float(box.get("width")), float(box.get("height"))
        assert float(label.get("x")) == pytest.approx(left + width / 2, abs=0.1)
        assert top < float(label.get("y")) < top + height
        middles[label.text] = top, top + height
    for text in root.iter(f"{SVG}text"):
        if text.get("text-anchor") == "end":
            top, bottom = middles.pop(text.text)
            assert top < float(text.get("y")) < bottom
            assert float(text.get("x")) < LEFT
    assert not middles
    for box in root.iter(f"{SVG}rect"):
        for at, size in (("x", "width"), ("y", "height")):
            assert 0 <= float(box.get(at)) <= float(root.get(size)) - float(box.get(size)) + 0.1


def test_a_label_is_smaller_in_a_short_bar_and_left_out_in_a_shorter_one():
    def label(duration_us):
        drawn = [Bar("cube", 0, duration_us, "R2 L2", "turn"), Bar("cube", 10**7, 10, "", "turn")]
        group = next(ET.fromstring(draw(drawn, ["cube"], "")).iter(f"{SVG}g"))
        box, text = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        top, height = float(box.get("y")), float(box.get("height"))
        assert text is None or top + height / 2 < float(text.get("y")) < top + height
        return box.get("width"), text

    for duration_us, size in ((300_000, None), (250_000, "9")):
        width, text = label(duration_us)
        assert text is not None and text.get("font-size") == size, width
    assert label(200_000)[1] is None


def test_the_legend_shows_each_kind_beside_the_next():
    root = ET.fromstring(draw([], ["cube"], "nothing"))
    boxes = {b.get("fill"): float(b.get("x")) for b in root if b.get("width") == "12.0"}
    words = {t.text: float(t.get("x")) for t in root if t.text in LEGEND.values()}
    for kind, meaning in LEGEND.items():
        assert 12 < words[meaning] - boxes[COLOURS[kind]] < 30
    places = sorted(words.values())
    assert all(b - a > 100 for a, b in pairwise(places)) and places[-1] < LEFT + BAND_WIDTH


def test_a_chart_is_written_with_what_it_takes(tmp_path):
    write_chart(tmp_path / "plan.svg", OPERATIONS, 2_400_000)
    assert ">2.40 s</text>" in (tmp_path / "plan.svg").read_text()


@pytest.mark.parametrize(
    ("start_us", "end_us", "drawn"),
    [
        (0, 1_000, None),
        (2_000, 3_000, None),
        (999, 1_001, (LEFT, 0.2)),
        (1_999, 2_001, (LEFT + BAND_WIDTH - 1.2, 0.2)),
        (1_500, 1_600, (LEFT + BAND_WIDTH / 2, BAND_WIDTH / 10 - 1)),
        (0, 9_000, (LEFT, BAND_WIDTH - 1)),
        (1_500, 1_501, (LEFT + BAND_WIDTH / 2, 1.0)),
    ],
)
def test_of_a_bar_what_lies_in_the_band_is_drawn(start_us, end_us, drawn):
    bar = Bar("lid", start_us, end_us - start_us, "", "open")
    found = list(_bars([bar], ["cube", "lid"], 100, (1_000, 2_000)))
    assert len(found) == (drawn is not None)
    if drawn is not None:
        box = ET.fromstring(found[0]).find("rect")
        left, width = float(box.get("x")), float(box.get("width"))
        assert (left, width) == pytest.approx((drawn[0], max(drawn[1], 1.0)), abs=0.06)
        assert float(box.get("y")) == 100 + 26 + 4
        assert box.get("fill") == COLOURS["open"]
