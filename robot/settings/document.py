"""YAML documents that remember the line of every key.

PyYAML's own loader turns values into dates, sets and binaries, raises bare ValueErrors for values
that contradict their tags, and needs gigabytes for a few hundred bytes of aliases. A profile has
text, numbers, booleans, lists and mappings, so this loader accepts nothing else. It reports
anything else in the file as a complaint with file, line and key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import yaml

from solver.errors import CubistError, ExitCode, one_line, printable, shortened
from solver.files import JsonObject

Path = tuple[str | int, ...]
"""Path to a value in a document: keys and list indexes from the top."""

Finding = tuple[Path, str]
"""A path, and the fault of the value there."""

MOST_VALUES = 5_000
DEEPEST = 50
"""Limits, because aliases can make a short text endless. A robot needs a few hundred values, some
levels deep."""

LONGEST_NUMBER = 30
"""Maximum characters of a number."""

_TOO_LARGE = "too large or too deeply nested"


@dataclass(frozen=True, slots=True)
class Complaint:
    """One fault of a profile: ``key`` is a dotted path, ``line`` counts from 1 (0: unknown)."""

    file: str
    line: int
    key: str
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return printable(": ".join(filter(None, (place, self.key, self.text))))


class BadProfile(CubistError, ValueError):
    """A robot's profile cannot be used. ``complaints`` lists every fault found."""

    code = "bad-profile"
    exit_code = ExitCode.USAGE

    def __init__(self, complaints: Sequence[Complaint], text: str = "") -> None:
        super().__init__(text or "\n".join(map(str, complaints)))
        self.complaints = tuple(complaints)


def no_such(what: str, known: Iterable[str]) -> str:
    """Return the complaint about a name that is not among those ``known``."""
    return f"no such {what}; known: {', '.join(sorted(known)) or 'none'}"


@dataclass(frozen=True)
class ProfileDocument:
    """The parsed ``data`` of a YAML text and the line of each of its values."""

    file: str
    data: JsonObject
    lines: dict[Path, int]

    def line_of(self, path: Path) -> int:
        """Return the line of the value at ``path``, or of its nearest enclosing value."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)

    def complaint(self, path: Path, text: str) -> Complaint:
        """Return a complaint about the value at ``path``, with its file and line."""
        return Complaint(self.file, self.line_of(path), dotted_path(path), text)


def dotted_path(path: Path) -> str:
    """Return ``("cameras", 0, "name")`` as ``cameras[0].name``."""
    steps = (
        f"[{step}]" if isinstance(step, int) else f".{shortened(one_line(step))}" for step in path
    )
    text = "".join(steps)
    return text.removeprefix(".")


def parse_document(text: str, file: str) -> ProfileDocument:
    """Parse one YAML document. Raise :class:`BadProfile` for repeated keys and non-plain data."""
    try:
        node = _compose(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _not_yaml(file, line, str(error.problem)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _not_yaml(file, line, error.reason) from None
    except (ValueError, OverflowError) as error:
        # From the scanner, for escapes beyond Unicode and versions of thousands of digits.
        raise _not_yaml(file, 1, str(error)) from None
    return _Reader(file).read(node)


def _not_yaml(file: str, line: int, problem: str) -> BadProfile:
    return BadProfile([Complaint(file, line, "", f"not YAML: {shortened(problem, 200)}")])


_MAP, _SEQ, _STR, _INT, _FLOAT, _BOOL, _NULL, _DATE, _MERGE, _VALUE = (
    f"tag:yaml.org,2002:{name}"
    for name in ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value")
)


class _BoundedLoader(yaml.SafeLoader):
    """Composes nodes until they are too many or too deep. It does not follow aliases."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._count = 0
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Return the next node, with all nodes below it."""
        self._count += 1
        self._depth += 1
        if self._count > 2 * MOST_VALUES or self._depth > DEEPEST:
            raise yaml.MarkedYAMLError(problem=_TOO_LARGE, problem_mark=self.get_mark())
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node


# A date is text unless a tag says otherwise, and so is a lone equals sign.
_BoundedLoader.yaml_implicit_resolvers = {
    first: [entry for entry in entries if entry[0] not in {_DATE, _VALUE}]
    for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _compose(text: str) -> yaml.Node | None:
    loader = _BoundedLoader(text)
    try:
        node: yaml.Node | None = loader.get_single_node()
    finally:
        loader.dispose()
    return node


@dataclass
class _Reader:
    """Converts nodes to plain data, noting lines and collecting complaints."""

    file: str
    lines: dict[Path, int] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)
    work: int = 0

    def read(self, node: yaml.Node | None) -> ProfileDocument:
        """Return the document. Raise :class:`BadProfile` with all complaints."""
        if not (isinstance(node, yaml.MappingNode) and node.tag == _MAP):
            line = 1 if node is None else _line_of(node)
            text = "not a mapping of keys to values"
            raise BadProfile([Complaint(self.file, line, "", text)])
        self._note((), _line_of(node))
        data = self._mapping(node, ())
        if self.complaints:
            raise BadProfile(self.complaints)
        return ProfileDocument(self.file, data, self.lines)

    def _value(self, node: yaml.Node, path: Path, line: int) -> object:
        """Return the value of a node. A mapping's value has the line of its key."""
        self._note(path, line)
        if isinstance(node, yaml.MappingNode) and node.tag == _MAP:
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _SEQ:
            parts = enumerate(node.value)
            return [self._value(part, (*path, index), _line_of(part)) for index, part in parts]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        return self._complain(path, line, f"{_tag_name(node)} is not allowed here")

    def _note(self, path: Path, line: int) -> None:
        self._count(1, path, line)
        self.lines[path] = line

    def _count(self, values: int, path: Path, line: int) -> None:
        """Count the work, since aliases are followed again at each use."""
        self.work += values
        if self.work > MOST_VALUES or len(path) > DEEPEST:
            raise BadProfile([Complaint(self.file, line, dotted_path(path[:2]), _TOO_LARGE)])

    def _mapping(self, node: yaml.MappingNode, path: Path) -> JsonObject:
        """Return a mapping with its own keys, then those that it takes over with ``<<``."""
        found: JsonObject = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                continue
            name, line = self._key(key, path), _line_of(key)
            if name in found:
                self._complain((*path, name), line, "given twice; keep one")
            elif name is not None:
                found[name] = self._value(value, (*path, name), line)
        for name, (value, line) in self._taken_over(node, path).items():
            if name not in found:
                found[name] = self._value(value, (*path, name), line)
        return found

    def _key(self, key: yaml.Node, path: Path) -> str | None:
        """Return a key as it is written: ``on`` and ``1`` are names, too."""
        if isinstance(key, yaml.ScalarNode):
            return self._text(key, (*path, str(key.value)), _line_of(key))
        self._complain((*path, "?"), _line_of(key), "a key must be a name, not a list or a mapping")
        return None

    def _taken_over(self, node: yaml.MappingNode, path: Path) -> dict[str, tuple[yaml.Node, int]]:
        """Return values, with their lines, that ``<<`` takes over. The first of each key counts."""
        found: dict[str, tuple[yaml.Node, int]] = {}
        pending = [(value, _line_of(key), 1) for key, value in node.value if key.tag == _MERGE]
        while pending:
            source, line, depth = pending.pop(0)
            self._count(1 + len(source.value), (*path, *[0] * depth), line)
            if isinstance(source, yaml.SequenceNode):
                pending = [(part, line, depth + 1) for part in source.value] + pending
            elif isinstance(source, yaml.MappingNode):
                further = [value for key, value in source.value if key.tag == _MERGE]
                pending = [(part, line, depth + 1) for part in further] + pending
                for key, value in source.value:
                    if key.tag != _MERGE and isinstance(key, yaml.ScalarNode):
                        name = self._text(key, (*path, str(key.value)), _line_of(key))
                        found.setdefault(name, (value, _line_of(key)))
            else:
                self._complain((*path, "<<"), line, "<< merges a mapping, as in <<: *name")
        return found

    def _text(self, node: yaml.ScalarNode, path: Path, line: int) -> str:
        """Return the text of a key or value. Complain about control characters and line breaks."""
        text = str(node.value)
        if printable(text) != text or "\n" in text or "\t" in text:
            self._complain(path, line, f"control characters in {shortened(text)!r}")
        return text

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> object:
        line = self.lines[path]
        text = self._text(node, path, line)
        if node.tag not in _SCALARS:
            return self._complain(path, line, f"{_tag_name(node)} is not allowed here")
        if node.tag in {_INT, _FLOAT} and len(text) > LONGEST_NUMBER:
            return self._complain(path, line, f"{shortened(text)} is too long for a number")
        try:
            return _SCALARS[node.tag](text)
        except (ValueError, LookupError, OverflowError):
            return self._complain(path, line, f"{shortened(text)!r} is not {_tag_name(node)}")

    def _complain(self, path: Path, line: int, text: str) -> object:
        """Record a complaint; return None as the value."""
        self.complaints.append(Complaint(self.file, line, dotted_path(path), text))
        return None


def _line_of(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _tag_name(node: yaml.Node) -> str:
    return shortened(str(node.tag).replace("tag:yaml.org,2002:", "!!"))


def _construct(tag: str) -> Callable[[str], object]:
    """Return PyYAML's own conversion of a text with this tag."""
    construct = yaml.SafeLoader.yaml_constructors[tag]
    loader = yaml.SafeLoader("")
    return lambda text: construct(loader, yaml.ScalarNode(tag, text))


_SCALARS: dict[str, Callable[[str], object]] = {
    _STR: str,
    _NULL: lambda _: None,
    **{tag: _construct(tag) for tag in (_BOOL, _INT, _FLOAT)},
}
