"""YAML documents that remember the line of every key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from robot.settings.errors import BadProfile, Complaint

Path = tuple[str | int, ...]
"""Where a value stands in a document: keys and list indexes from the top."""


MOST_VALUES = 100_000
DEEPEST = 50
"""Aliases can make a short text endless; a robot needs a few hundred values, some levels deep."""


@dataclass(frozen=True)
class Document:
    """The parsed ``data`` of a YAML text and the line of each of its values."""

    file: str
    data: Any
    lines: dict[Path, int]

    def line_of(self, path: Path) -> int:
        """Line of the value at ``path``, or of its nearest enclosing value that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)

    def complaint(self, path: Path, text: str) -> Complaint:
        """``text`` about the value at ``path``, with its file and line."""
        return Complaint(self.file, self.line_of(path), dotted(path), text)


def dotted(path: Path) -> str:
    """``("cameras", 0, "name")`` as ``cameras[0].name``."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def parse_document(text: str, file: str) -> Document:
    """Parse one YAML document; a syntax error or a doubled key raises :class:`BadProfile`."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise BadProfile([Complaint(file, line, "", f"not YAML: {error.problem}")]) from None
    except yaml.YAMLError as error:
        raise BadProfile([Complaint(file, 0, "", f"not YAML: {error}")]) from None
    except RecursionError:
        raise _endless(file) from None
    lines: dict[Path, int] = {}
    doubled: list[Path] = []
    if node is not None:
        _note_lines(node, (), lines, doubled)
    if len(lines) > MOST_VALUES or any(len(path) > DEEPEST for path in lines):
        raise _endless(file)
    document = Document(file, data, lines)
    if doubled:
        raise BadProfile([document.complaint(path, "given twice; keep one") for path in doubled])
    return document


def _endless(file: str) -> BadProfile:
    return BadProfile([Complaint(file, 0, "", "too large or too deeply nested for a profile")])


def _note_lines(
    node: yaml.Node,
    path: Path,
    lines: dict[Path, int],
    doubled: list[Path],
    line: int | None = None,
) -> None:
    """Walk the tree below ``node``; a mapping's value is at the line of its key."""
    if len(lines) > MOST_VALUES or len(path) > DEEPEST + 1:
        return
    lines[path] = node.start_mark.line + 1 if line is None else line
    if isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            _note_lines(child, (*path, index), lines, doubled)
    elif isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            below = (*path, str(key.value))
            if below in lines:
                doubled.append(below)
            _note_lines(child, below, lines, doubled, key.start_mark.line + 1)
