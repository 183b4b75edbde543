"""Which tests `make mutants` tries, in which order, and how it leaves its copies."""

from __future__ import annotations

import importlib.util
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.audit.copy import Copy, spread
from tests.audit.lines import telling_lines
from tests.audit.selection import FOLDERS, folders_for, in_order

ROOT = Path(__file__).resolve().parents[2]


def test_tests_of_the_line_come_first_then_quick_ones_file_by_file() -> None:
    durations = {"a::1": 0.1, "b::1": 0.2, "a::2": 0.25, "a::slow": 9.0, "b::2": 1.0, "c::1": 0.0}
    ranks = dict.fromkeys(durations, 0) | {"c::1": 1}
    by_duration = sorted(durations, key=lambda test: (ranks[test], durations[test]))
    ordered = ["a::1", "a::2", "b::1", "b::2", "a::slow", "c::1"]
    assert in_order(by_duration, ranks, durations) == ordered


def test_every_source_has_tests_that_are_there() -> None:
    for places in FOLDERS.values():
        assert all((ROOT / "tests" / place).exists() for place in places)
    assert folders_for("robot/calibration/trials/stepper_trials.py") != folders_for(
        "robot/calibration/store.py"
    )
    assert folders_for("solver/native/bindings.cpp") == FOLDERS["solver/native"]


def test_a_changed_source_is_put_back_and_nothing_compiled_of_it_stays(tmp_path: Path) -> None:
    copy = Copy(ROOT, tmp_path)
    source = copy.root / "robot/api/paths.py"
    source.parent.mkdir(parents=True)
    source.write_text("a = 1\n")
    compiled = Path(importlib.util.cache_from_source(str(source)))
    compiled.parent.mkdir()
    with pytest.raises(KeyboardInterrupt), copy.changed("robot/api/paths.py", b"a = 2\n"):
        assert source.read_text() == "a = 2\n"
        compiled.write_bytes(b"of the mutant")
        raise KeyboardInterrupt
    assert source.read_text() == "a = 1\n"
    assert not compiled.exists()


class Idle:
    """In place of a copy."""

    def __init__(self) -> None:
        self.given_up = threading.Event()

    def give_up(self) -> None:
        self.given_up.set()


def test_one_that_fails_ends_the_others() -> None:
    """Two at a time: one waits until it is told to give up, the other breaks."""
    copies: list[Any] = [Idle(), Idle()]
    waits = threading.Event()
    ended: list[str] = []

    def work(copy: Any, item: str) -> None:
        if item == "breaks":
            assert waits.wait(60)
            raise KeyboardInterrupt
        waits.set()
        assert copy.given_up.wait(60)
        ended.append(item)

    with pytest.raises(KeyboardInterrupt):
        spread(copies, work, ["waits", "breaks", "never begun"])
    assert ended in (["waits"], ["waits", "never begun"])


SOURCE = b"""\
LIMIT = 3
def f(a, b=4):
    return (
        a
        + b
    )
class A:
    size: int = 5
    def g(self):
        if self.size > 2:
            return f(
                self.size
            )
        return LIMIT
"""


@pytest.mark.parametrize(
    ("line", "telling"),
    [
        (5, {3, 4, 5, 6}),  # one statement
        (1, {1, 14}),  # a constant: where it is used
        (2, {3, 4, 5, 6}),  # a default: what its function does
        (8, {8, 10, 12}),  # a field
        (10, {10}),  # a condition without what depends on it
        (12, {11, 12, 13}),
    ],
)
def test_what_tells_which_tests_see_a_line(line: int, telling: set[int]) -> None:
    assert telling_lines(SOURCE, line) == telling
