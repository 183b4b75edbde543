"""Every fault that the program raises has a row in the table: a wrong code would only show when
the robot fails."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from robot.text.faults import FAULTS

ROBOT = Path(__file__).parents[2] / "robot"
RAISED = {"RobotError", "LinkError"}


def codes_raised() -> Iterator[tuple[str, str]]:
    """Yield place and code of each error made with a code as text, or with a constant of one."""
    for path in ROBOT.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if not isinstance(node.func, ast.Name) or node.func.id not in RAISED:
                continue
            code = node.args[0]
            place = f"{path.name}:{node.lineno}"
            if isinstance(code, ast.Constant):
                yield place, str(code.value)
            elif isinstance(code, ast.Name) and isinstance(constants.get(code.id), str):
                yield place, str(constants[code.id])


def test_every_code_has_its_row() -> None:
    raised = list(codes_raised())
    assert raised
    assert [(place, code) for place, code in raised if code not in FAULTS] == []
