"""Adding a search: whatever is forgotten is named here.

A search is a folder of `solver/native`, a `bind_<subject>.cpp` that registers its Python names, a
module of `solver/`, a row of `ALGORITHMS` and a row of docs/solver.md.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

from solver import _native
from solver.search import ALGORITHMS

ROOT = Path(__file__).parents[2]
KERNEL = ROOT / "solver/native"


def load_check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_folders", ROOT / ".ci/check_folders.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_folders_of_the_kernel_form_no_circle() -> None:
    assert load_check().circle_in(KERNEL) == ""


def test_a_circle_is_named_with_its_files(tmp_path: Path) -> None:
    for name, text in {
        "one/a.hpp": '#include "two/b.hpp"\n',
        "two/b.hpp": '#include "three/c.hpp"\n#include <one/x>\n',
        "three/c.cpp": '#include "one/a.hpp"\n#include "three/d.hpp"\n',
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    found = load_check().circle_in(tmp_path).splitlines()
    assert sorted(found) == [
        "one includes two: one/a.hpp",
        "three includes one: three/c.cpp",
        "two includes three: two/b.hpp",
    ]


def test_every_folder_of_the_kernel_has_python_names() -> None:
    bound = {included for folder, included, _ in load_check().includes(KERNEL) if folder == "bind"}
    folders = {file.parent.name for file in KERNEL.glob("*/*.cpp")} - {"bind"}
    assert folders <= bound, "write a bind_<subject>.cpp"


def test_every_subject_registers_its_names() -> None:
    for file in KERNEL.glob("bind/bind_*.cpp"):
        subject = file.stem.removeprefix("bind_")
        assert f'const Bindings registered("{subject}"' in file.read_text(), file


def test_every_function_of_the_kernel_is_called() -> None:
    code = "".join(
        file.read_text()
        for folder in ("solver", "vision", "robot")
        for file in (ROOT / folder).rglob("*.py")
    )
    functions = [name for name, value in vars(_native).items() if inspect.isroutine(value)]
    unused = [name for name in functions if not re.search(rf"_native\.{name}\b", code)]
    assert not unused


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_can_be_loaded_and_is_described(name: str) -> None:
    algorithm = ALGORITHMS[name]
    assert callable(algorithm.load(timed=bool(algorithm.timed)))
    rows = [line.split("|") for line in (ROOT / "docs/solver.md").read_text().splitlines()]
    row = next((row for row in rows if len(row) > 4 and f"`{name}`" in row[1]), None)
    assert row, f"docs/solver.md needs a row: | `{name}` | cubes | metrics | method | memory |"
    expected = [*algorithm.metrics, *(["a robot's time"] if algorithm.timed else [])]
    assert row[3].strip().split(", ") == expected


def signatures(tree: ast.Module) -> dict[str, list[str]]:
    """Return the names of arguments by function, without types and texts."""
    found = {}
    for owner in ast.walk(tree):
        for node in getattr(owner, "body", []):
            if isinstance(node, ast.FunctionDef):
                name = f"{getattr(owner, 'name', '')}.{node.name}"
                found[name] = [one.arg for one in (*node.args.args, *node.args.kwonlyargs)]
    return found


def test_stubs_are_those_of_the_kernel() -> None:
    """The build writes solver/_native.pyi; commit it with the change."""
    stubgen = pytest.importorskip("nanobind.stubgen")
    generator = stubgen.StubGen(_native)
    generator.put(_native)
    written = (ROOT / "solver/_native.pyi").read_text()
    assert signatures(ast.parse(written)) == signatures(ast.parse(generator.get()))
