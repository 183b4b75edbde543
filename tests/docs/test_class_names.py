"""A class name means one thing in the whole product."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("robot", "solver", "vision")


def test_no_class_name_is_defined_twice() -> None:
    files: dict[str, list[str]] = defaultdict(list)
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                files[node.name].append(str(path.relative_to(ROOT)))
    assert len(files) > 500
    assert {name: where for name, where in files.items() if len(where) > 1} == {}
