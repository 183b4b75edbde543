"""The Gantt chart of a plan: each motion is a bar in the row of its part, at its time."""

import xml.etree.ElementTree as ET

from robot.planner import build_mechanism, plan_composites
from robot.records.timeline import COLOURS, operations_svg
from robot.settings import load_profile
from solver.cost import composite_index

SVG = "{http://www.w3.org/2000/svg}"


def op(kind: str, start_ms: float, lasts_ms: float, **fields: object) -> dict[str, object]:
    times = {"start_us": round(1000 * start_ms), "duration_us": round(1000 * lasts_ms)}
    return {"op": kind, **times, **fields}


OPERATIONS = [
    op("home", 0, 300, arm="lid"),
    op("look", 300, 50),
    op("move", 400, 100, arm="lid", to="open"),
    op("move", 500, 100, arm="lid", to="close"),
    op("turn", 600, 400, site="D", table="holder", quarter_turns=-1),
    op("rotate", 1000, 500, axis="y", grippers=["R", "L"], quarter_turns=2),
    op("release", 1500, 120.5, gripper="R"),
    op("grip", 1700, 100, gripper="R"),
    op("turn", 2000, 400, site="U", layers=2),
    op("turn", 2000, 250, site="D"),
]


def test_a_bar_names_part_motion_and_time_and_has_the_colour_of_its_kind():
    svg = operations_svg(OPERATIONS, "run <1>")
    kinds = {colour: kind for kind, colour in reversed(COLOURS.items())}
    bars = ET.fromstring(svg).iter(f"{SVG}g")
    found = [
        (bar.find(f"{SVG}title").text, kinds[bar.find(f"{SVG}rect").get("fill")]) for bar in bars
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
    assert all(f">{text}</text>" in svg for text in ("cube", "lid", "holder", "R", "L", "2.4 s"))


def test_a_planned_turn_of_two_layers_shares_a_bar_of_the_cube():
    mechanism = build_mechanism(load_profile("six-motor"))
    plan = plan_composites(mechanism, mechanism.start, [composite_index(1, 1, 2)])
    assert "cube: R L2, 0 s to" in operations_svg([one.as_dict() for one in plan.operations], "")
