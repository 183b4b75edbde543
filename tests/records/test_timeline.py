"""The Gantt chart of a plan: every motion is a bar at its place."""

import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest

from robot.planner import build_mechanism, plan_composites, plan_solve
from robot.records.timeline import draw, operations_svg
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
