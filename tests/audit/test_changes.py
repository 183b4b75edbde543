"""The changes that `make mutants` makes, and the code it leaves alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.audit import c_source, python_source
from tests.audit.changes import sample, source_files
from tests.audit.python_source import Edit

ROOT = Path(__file__).resolve().parents[2]


def results(source: bytes, edits: list[Edit]) -> set[str]:
    return {(source[: e.start] + e.text + source[e.end :]).decode() for e in edits}


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("x = a < b\n", {"x = a <= b\n", "x = a >= b\n"}),
        ("x = (a) is not (b)\n", {"x = (a) is (b)\n"}),
        ("x = a not in b\n", {"x = a in b\n"}),
        ("x = a + b\n", {"x = a - b\n"}),
        ("x = -(a)\n", {"x =  (a)\n"}),
        ("x = a and b\n", {"x = a or b\n"}),
        ("x = 7\n", {"x = 6\n", "x = 8\n"}),
        ("x = True\n", {"x = False\n"}),
        ("if a:\n    b()\n", {"if not (a):\n    b()\n", "if a:\n    pass\n"}),
        ("a.b = c\n", {"pass\n"}),
        ("x: Annotated[int, 3] = y\n", set()),
        ("@cached(size=3)\ndef f() -> None:\n    return g\n", set()),
        ('x = "a < 3"  # b + 1\n', set()),
        ("assert a < 3\n", set()),
        ("for x in zip(a, b, strict=True):\n    f = x\n", set()),
        ("x = 0.25\n", set()),
        ("if TYPE_CHECKING:\n    from a import b\n", set()),
        ("del unused\n", set()),
        ("del a[b]\n", {"pass\n"}),
        ('log.info("%d", a + 1)\n', set()),
        ("log.warning(a)\n", {"pass\n"}),
        ("x = Table.grid(padding=(0, 2))\n", set()),
    ],
)
def test_python_is_changed_by_its_tree(line: str, changed: set[str]) -> None:
    source = line.encode()
    assert results(source, python_source.changes(source)) == changed


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("x = a < b;", {"x = a <= b;", "x = a >= b;"}),
        ("std::vector<int> a;", set()),
        ("uint8_t x = a + b;", {"uint8_t x = a - b;"}),
        ("int x = -a;", {"int x = a;"}),
        ("int x = 0x10u;", {"int x = 15u;", "int x = 17u;"}),
        ("int x = 1'000;", {"int x = 999;", "int x = 1001;"}),
        ("int x = 010;", {"int x = 7;", "int x = 9;"}),
        ("float x = 0.5f;", set()),
        ("// a < 3\n/* b + 1 */", set()),
        ('const char *x = "a < 3";', set()),
        ("\n#define X 3\n", set()),
        ("int x[] = {a};", set()),
        (";Table(const Table&) = delete;", set()),
        ("a.reserve(b * 2);", set()),
        (
            "a.reserve(b + 1);\nx = a - b;",
            {"a.reserve(b + 1);\nx = a + b;", "a.reserve(b + 1);\n;"},
        ),
    ],
)
def test_c_is_changed_by_its_tokens(line: str, changed: set[str]) -> None:
    source = line.encode()
    assert results(source, c_source.changes(source)) == changed


def test_c_statements_are_dropped_and_conditions_negated() -> None:
    source = (
        b"void f(void)\n{\n    if (a) {\n        g(b);\n        return;\n    }\n    *p = c;\n}\n"
    )
    assert results(source, c_source.changes(source)) == {
        source.replace(b"(a)", b"(!(a))").decode(),
        source.replace(b"g(b);", b";").decode(),
        source.replace(b"return;", b";").decode(),
    }


def test_a_sample_is_repeatable_and_of_different_lines() -> None:
    files = ["robot/mechanism/grippers/homing.py", "firmware/core/servo.c"]
    mutants = sample(ROOT, files, 30, seed=4)
    assert mutants == sample(ROOT, files, 30, seed=4)
    assert mutants != sample(ROOT, files, 30, seed=5)
    assert len({(mutant.path, mutant.line) for mutant in mutants}) == len(mutants)
    assert {mutant.path for mutant in mutants} == set(files)
    for mutant in mutants:
        assert mutant.before != mutant.after
        old, new = mutant.before.splitlines(), mutant.after.splitlines()
        assert old[: mutant.line - 1] == new[: mutant.line - 1]
        if mutant.is_python:
            ast.parse(mutant.after)


def test_only_sources_of_the_product_written_by_hand_are_taken() -> None:
    files = source_files(ROOT, "robot/link,firmware/core/servo.c")
    assert {"robot/link/link.py", "firmware/core/servo.c"} < set(files)
    assert "robot/link/protocol.py" not in files
    with pytest.raises(SystemExit, match="docs"):
        source_files(ROOT, "docs")


def test_places_in_a_drawing_are_left_alone() -> None:
    mutants = sample(ROOT, ["vision/explain/drawing.py"], 100, seed=1)
    assert {mutant.kind for mutant in mutants} > {"condition", "sign"}
    assert not [mutant for mutant in mutants if mutant.kind == "constant"]
