"""The Gantt chart of a plan: each motion is a bar in the row of its part, at its time."""

import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.planner import build_mechanism, plan_composites
from robot.records.timeline import COLOURS, LONGEST_SINGLE_US, Bar, draw, operations_svg
from robot.settings import load_profile
from solver.cost import composite_index

SVG = "{http://www.w3.org/2000/svg}"


def bars(svg):
    return [
        (group.find(f"{SVG}title").text, group.find(f"{SVG}rect"))
        for group in ET.fromstring(svg).iter(f"{SVG}g")
    ]


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


def test_a_bar_names_part_motion_and_time_and_has_the_colour_of_its_kind():
    svg = operations_svg(OPERATIONS, "run <1>")
    found = [
        (title, next(kind for kind, colour in COLOURS.items() if colour == box.get("fill")))
        for title, box in bars(svg)
    ]
    assert found == [
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
    assert "run &lt;1&gt;" in svg
    assert all(f">{row}</text>" in svg for row in ("cube", "lid", "holder", "R", "L"))


def test_a_planned_turn_of_two_layers_shares_a_bar_of_the_cube():
    mechanism = build_mechanism(load_profile("six-motor"))
    plan = plan_composites(mechanism, mechanism.start, [composite_index(1, 1, 2)])
    assert "cube: R L2, 0 s to" in operations_svg([one.as_dict() for one in plan.operations], "")


@given(st.lists(st.integers(100_000, 900_000), min_size=1, max_size=60))
def test_a_bar_is_as_long_as_its_time_and_bars_of_a_row_do_not_overlap(durations):
    """Long plans are broken into bands. A bar that the end of a band cuts is drawn in both."""
    starts = [sum(durations[:n]) for n in range(len(durations))]
    plan = [
        Bar("cube", start, took, f"R{n}", "turn")
        for n, (start, took) in enumerate(zip(starts, durations, strict=True))
    ]
    rows, lengths = {}, {}
    for title, box in bars(draw(plan, ["cube"], "many")):
        x, y, width = (float(box.get(name)) for name in ("x", "y", "width"))
        rows.setdefault(y, []).append((x, width))
        lengths.setdefault(title, []).append(width + 1)
    for row in rows.values():
        row.sort()
        assert all(x + width <= following + 0.5 for (x, width), (following, _) in pairwise(row))
    if sum(durations) > LONGEST_SINGLE_US:
        assert len(rows) > 1
    us = max(durations) / max(map(sum, lengths.values()))
    whole = [sum(parts) * us for parts in lengths.values()]
    assert whole == pytest.approx(durations, abs=3 * us)


@pytest.mark.parametrize("span_us", [7, 900, 26_000, 400_000, 3_100_000, 11_999_999, 90_000_000])
def test_each_band_has_an_axis_of_round_equal_ticks(span_us):
    plan = [Bar("cube", 0, span_us, "R", "turn"), *[Bar("cube", 0, 300_000, "R", "turn")] * 9]
    plan = plan if span_us > 300_000 else plan[:1]
    bands = {}
    for line in ET.fromstring(draw(plan, ["cube"], "")).iter(f"{SVG}line"):
        bands.setdefault(line.get("y1"), []).append(float(line.get("x1")))
    assert (len(bands) > 1) == (span_us > LONGEST_SINGLE_US)
    for ticks in bands.values():
        assert 7 <= len(ticks) <= 26
        steps = [b - a for a, b in pairwise(ticks)]
        assert max(steps) == pytest.approx(min(steps), abs=0.3)


def test_all_of_a_chart_is_in_its_box_and_an_empty_chart_is_a_chart():
    rows = ["cube", "lid", "holder"]
    for drawn in ([Bar(row, 0, 500_000, row, "place") for row in rows], []):
        root = ET.fromstring(draw(drawn, rows, "names"))
        for box in root.iter(f"{SVG}rect"):
            for at, size in (("x", "width"), ("y", "height")):
                assert 0 <= float(box.get(at)) <= float(root.get(size)) - float(box.get(size)) + 0.1


def test_a_label_is_smaller_in_a_short_bar_and_left_out_in_a_shorter_one():
    def label(duration_us):
        drawn = [Bar("cube", 0, duration_us, "R2 L2", "turn"), Bar("cube", 10**7, 10, "", "turn")]
        group = next(ET.fromstring(draw(drawn, ["cube"], "")).iter(f"{SVG}g"))
        return group.find(f"{SVG}text")

    assert label(300_000).get("font-size") is None
    assert label(250_000).get("font-size") is not None
    assert label(200_000) is None
