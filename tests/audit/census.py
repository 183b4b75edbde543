"""Counts of the project's sizes and words: ``make census`` prints JSON lines.

Each line has ``census``, ``value`` and, if there is a limit, ``limit``. ``make lint`` runs this
with ``--check``, which fails if a count exceeds its limit in :data:`ENFORCED` and lists all places.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("robot", "solver", "vision")
SOURCES = (".py", ".c", ".cpp", ".h", ".hpp", ".js")

CLAUSES = {"what", "how", "whether", "where", "of", "from", "by", "as", "it", "so"}
"""First words of docstrings that describe something before they name it."""

PARTICIPLES = re.findall(
    r"\w+",
    "told kept found shown held made begun taken seen known given left lost done felt sent built "
    "brought caught chosen drawn driven grown heard hidden laid led lit meant said sold slept "
    "spoken spent stood struck thought understood woken won worn written bound broken fed got "
    "gone hung lent lain paid sat sought swung thrown torn",
)
NOT_PARTICIPLES = {"feed", "need", "seed", "speed", "red"}
PREPOSITIONS = re.findall(
    r"\w+",
    "at by of in on beyond after before for into over under without within per until about above "
    "below beside between behind past through against along among around off out than like "
    "since toward",
)
"""Conversions are not included (``from_moves``, ``to_classes``, ``as_jpeg``, ``with_lines``)."""

PICTURES = re.compile(r"Picture|Face|View|Frame|Image|Photo|Look|Shot|Sight|Seen")

ENFORCED = {
    "loose modules of robot": 0,
    "files of solver/native": 95,
    "exception classes": 30,
    "docstrings that begin with a clause, percent": 4,
    "functions named by a participle or preposition": 60,
    "classes for a picture, face or view": 18,
    "lines of docs/benchmarks": 600,
}
LIMITS = ENFORCED | {
    "files of robot": 205,
    "lines of robot": 39_500,
    "lines of tests": 40_000,
    "files of tests": 260,
}


@dataclass(frozen=True)
class Figure:
    """One count, and the places counted if they can be listed."""

    name: str
    value: float
    places: tuple[str, ...] = ()


def main(arguments: list[str]) -> int:
    """Print all figures, or with ``--places NAME`` the places of one. Return the exit code."""
    figures = list(count())
    match arguments:
        case ["--places", *words]:
            chosen = [figure for figure in figures if " ".join(words) in figure.name]
            print(*(place for figure in chosen for place in figure.places), sep="\n")
        case ["--check", *_]:
            too_much = [one for one in figures if one.value > ENFORCED.get(one.name, one.value)]
            for figure in too_much:
                limit = f"at most {ENFORCED[figure.name]}"
                print(f"{figure.name}: {figure.value:g}, {limit}", *figure.places, sep="\n  ")
            return 1 if too_much else 0
        case _:
            for figure in figures:
                limits = {"limit": LIMITS[figure.name]} if figure.name in LIMITS else {}
                print(json.dumps({"census": figure.name, "value": figure.value} | limits))
    return 0


def count() -> Iterator[Figure]:
    tracked = list_files()
    python = [one for one in tracked if one.suffix == ".py"]
    robot = [one for one in python if one.parts[0] == "robot"]
    tests = [one for one in tracked if one.parts[0] == "tests" and one.suffix in SOURCES]
    kernel = [one for one in tracked if one.parts[:2] == ("solver", "native")]
    loose = [one for one in robot if len(one.parts) == 2 and one.name != "__init__.py"]
    yield Figure("loose modules of robot", len(loose), tuple(map(str, loose)))
    for name, files in (("robot", robot), ("solver/native", kernel), ("tests", tests)):
        yield from _sizes(name, files)
    for room in sorted({one.parts[1] for one in robot if len(one.parts) > 2}):
        yield from _sizes(f"robot/{room}", [one for one in robot if one.parts[1] == room])
    for package in ("solver", "vision"):
        yield from _sizes(package, [one for one in python if one.parts[0] == package])
    firmware = [one for one in tracked if one.parts[0] == "firmware" and one.suffix in SOURCES]
    yield from _sizes("firmware", firmware)
    yield from _words([one for one in python if one.parts[0] in PRODUCT])
    benchmarks = [one for one in tracked if one.parts[:2] == ("docs", "benchmarks")]
    yield Figure("lines of docs/benchmarks", _lines(benchmarks))


def list_files() -> list[Path]:
    """Return the files known to git, except deleted ones, relative to the checkout."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    names = [Path(name) for name in listed.stdout.split("\0") if name]
    return [name for name in names if (ROOT / name).is_file()]


def _sizes(name: str, files: list[Path]) -> Iterator[Figure]:
    yield Figure(f"files of {name}", len(files))
    yield Figure(f"lines of {name}", _lines(files))


def _lines(files: list[Path]) -> int:
    return sum((ROOT / one).read_bytes().count(b"\n") for one in files)


def _words(files: list[Path]) -> Iterator[Figure]:
    trees = {one: ast.parse((ROOT / one).read_bytes()) for one in files}
    documented, clauses, names, pictures = 0, [], [], []
    bases: dict[str, tuple[str, list[str]]] = {}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            for line, text in _docstrings(node):
                documented += 1
                if _first_word(text) in CLAUSES:
                    clauses.append(f"{path}:{line}: {text.splitlines()[0]}")
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_no_verb(node.name):
                names.append(f"{path}:{node.lineno}: {node.name}")
            if isinstance(node, ast.ClassDef):
                bases[node.name] = (f"{path}:{node.lineno}", [ast.unparse(b) for b in node.bases])
                if PICTURES.search(node.name):
                    pictures.append(f"{path}:{node.lineno}: {node.name}")
    share = round(100 * len(clauses) / documented, 1)
    yield Figure("docstrings that begin with a clause, percent", share, tuple(clauses))
    yield Figure("functions named by a participle or preposition", len(names), tuple(names))
    yield Figure("classes for a picture, face or view", len(pictures), tuple(pictures))
    exceptions = tuple(f"{bases[name][0]}: {name}" for name in bases if _is_exception(name, bases))
    yield Figure("exception classes", len(exceptions), exceptions)


def _docstrings(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of a node's docstring and of those after constants in its body."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
        return
    for one in node.body:
        value = one.value if isinstance(one, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield one.lineno, value.value.strip()


def _first_word(text: str) -> str:
    found = re.match(r"\W*(\w+)", text)
    return found[1].lower() if found else ""


def _is_no_verb(name: str) -> bool:
    words = name.strip("_").split("_")
    if name.startswith("__") or not words[0]:
        return False
    if words[0] in PREPOSITIONS:
        return True
    is_participle = words[0].endswith("ed") and words[0] not in NOT_PARTICIPLES
    return len(words) == 1 and (is_participle or words[0] in PARTICIPLES)


def _is_exception(name: str, bases: dict[str, tuple[str, list[str]]]) -> bool:
    if name not in bases:
        known = getattr(builtins, name, None)
        return isinstance(known, type) and issubclass(known, BaseException)
    return any(_is_exception(base.rpartition(".")[2], bases) for base in bases[name][1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
