"""A sample of small changes to the product's sources, such as a tired programmer makes.

Python is changed by its syntax tree, C and C++ by their tokens.
"""

from __future__ import annotations

import ast
import difflib
import random
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the bytes from ``start`` to ``end`` of a file by ``text``."""

    start: int
    end: int
    text: bytes
    kind: str


OPERATORS: dict[type[ast.AST], tuple[bytes, str, tuple[bytes, ...]]] = {
    ast.Lt: (rb"<", "comparison", (b"<=", b">=")),
    ast.LtE: (rb"<=", "comparison", (b"<", b">")),
    ast.Gt: (rb">", "comparison", (b">=", b"<=")),
    ast.GtE: (rb">=", "comparison", (b">", b"<")),
    ast.Eq: (rb"==", "comparison", (b"!=",)),
    ast.NotEq: (rb"!=", "comparison", (b"==",)),
    ast.Is: (rb"\bis\b", "comparison", (b"is not",)),
    ast.IsNot: (rb"\bis\s+not\b", "comparison", (b"is",)),
    ast.In: (rb"\bin\b", "comparison", (b"not in",)),
    ast.NotIn: (rb"\bnot\s+in\b", "comparison", (b"in",)),
    ast.Add: (rb"\+", "sign", (b"-",)),
    ast.Sub: (rb"-", "sign", (b"+",)),
    ast.Mult: (rb"\*", "arithmetic", (b"/",)),
    ast.Div: (rb"/", "arithmetic", (b"*",)),
    ast.FloorDiv: (rb"//", "arithmetic", (b"*",)),
    ast.Mod: (rb"%", "arithmetic", (b"//",)),
    ast.LShift: (rb"<<", "arithmetic", (b">>",)),
    ast.RShift: (rb">>", "arithmetic", (b"<<",)),
    ast.BitAnd: (rb"&", "arithmetic", (b"|",)),
    ast.BitOr: (rb"\|", "arithmetic", (b"&",)),
    ast.BitXor: (rb"\^", "arithmetic", (b"&",)),
    ast.And: (rb"\band\b", "condition", (b"or",)),
    ast.Or: (rb"\bor\b", "condition", (b"and",)),
}
"""Pattern of a Python operator, kind of the change, and the replacements."""
COMMENT = re.compile(rb"#[^\n]*")
UNCHANGED_FIELDS = {"annotation", "returns", "decorator_list", "type_params", "bases"}
LAYOUT = {"padding", "bar_width", "indent"}
"""Arguments for spacing on a screen or in a file."""
DIARY = {"debug", "info"}
"""Methods that log normal events. Their arguments are only texts."""


def python_edits(source: bytes) -> list[Edit]:
    """Return every change to a file, except to annotations, decorators, assertions, texts, floats.

    Most floats are limits found by measurement, and many values are right. Code without an effect
    is not changed either: ``del`` of an unused argument, log entries for normal events, spacing on
    a screen, imports for the type checker.
    """
    return _ordered(_Reader(source).edits_in(ast.parse(source)))


def _ordered(edits: Iterable[Edit]) -> list[Edit]:
    return sorted(set(edits), key=lambda edit: (edit.start, edit.end, edit.text))


class _Reader:
    """A file's bytes and the positions of its tree's nodes in them."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._line_starts = [0]
        for line in source.splitlines(keepends=True):
            self._line_starts.append(self._line_starts[-1] + len(line))

    def edits_in(self, node: ast.AST) -> Iterator[Edit]:
        """Yield the changes to a node and all nodes below it."""
        if _does_nothing(node):
            return
        yield from self._edits_of(node)
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and name not in UNCHANGED_FIELDS:
                    yield from self.edits_in(child)

    def _edits_of(self, node: ast.AST) -> Iterator[Edit]:
        for left, operator, right in _operations(node):
            yield from self._swap(left, operator, right)
        match node:
            case ast.UnaryOp(op=ast.USub() | ast.Not() as operator):
                is_minus = isinstance(operator, ast.USub)
                start, length = self._place(node)[0], 1 if is_minus else 3
                kind = "sign" if is_minus else "condition"
                yield Edit(start, start + length, b" " * length, kind)
            case ast.Constant(value=bool(value)):
                yield Edit(*self._place(node), str(not value).encode(), "constant")
            case ast.Constant(value=int(value)):
                for number in (value - 1, value + 1):
                    yield Edit(*self._place(node), str(number).encode(), "constant")
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                start, end = self._place(test)
                negated = b"not (" + self._source[start:end] + b")"
                yield Edit(start, end, negated, "condition")
            case (
                ast.Raise()
                | ast.Break()
                | ast.Continue()
                | ast.Delete()
                | ast.AugAssign()
                | ast.Expr(value=ast.Call() | ast.Await())
                | ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
            ):
                yield Edit(*self._place(node), b"pass", "statement")

    def _place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._line_starts[node.lineno - 1] + node.col_offset
        return start, self._line_starts[node.end_lineno - 1] + node.end_col_offset

    def _swap(self, left: ast.expr, operator: ast.AST, right: ast.expr) -> Iterator[Edit]:
        """Yield the changes to the operator between two operands."""
        if type(operator) not in OPERATORS:
            return
        pattern, kind, others = OPERATORS[type(operator)]
        start, end = self._place(left)[1], self._place(right)[0]
        gap = COMMENT.sub(lambda comment: b" " * len(comment[0]), self._source[start:end])
        found = re.search(pattern, gap)
        assert found is not None
        for other in others:
            yield Edit(start + found.start(), start + found.end(), other, kind)


def _operations(node: ast.AST) -> Iterator[tuple[ast.expr, ast.AST, ast.expr]]:
    """Yield each operator of a node with its operands, except the ``%`` of a text."""
    match node:
        case ast.Compare():
            operands = [node.left, *node.comparators]
            yield from zip(operands, node.ops, operands[1:], strict=False)
        case ast.BinOp(left=left) if not isinstance(getattr(left, "value", None), str):
            yield left, node.op, node.right
        case ast.AugAssign():
            yield node.target, node.op, node.value
        case ast.BoolOp():
            yield from ((left, node.op, right) for left, right in pairwise(node.values))


def _does_nothing(node: ast.AST) -> bool:
    """Return true if no test could notice a change to this node or its children."""
    match node:
        case (
            ast.Assert()
            | ast.keyword(arg="strict")
            | ast.Call(func=ast.Name(id="Padding" | "Pattern"))  # spacing; blinking of a light
            | ast.If(test=ast.Name(id="TYPE_CHECKING"))
        ):
            return True
        case ast.keyword(arg=str(name)):
            return name in LAYOUT
        case ast.Delete(targets=targets):
            return all(isinstance(target, ast.Name) for target in targets)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=method))):
            return of.strip("_") == "log" and method in DIARY
    return False


TOKEN = re.compile(
    rb"""
    (?P<skip> //[^\n]* | /\*.*?\*/ | \n[ \t]*\#(?:[^\n\\]|\\.|\\\n)* | "(?:[^"\\]|\\.)*" )
  | (?P<character> '(?:[^'\\]|\\.)+' )
  | (?P<number> \b(?:0[xX][0-9a-fA-F']+ | 0[bB][01']+ | \d[\d']*(?:\.\d*)?(?:[eE][-+]?\d+)?)
                [uUlLfF]*\b )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<operator> <<= | >>= | <=> | -> | \+\+ | -- | && | \|\| | [-+*/%&|^<>=!]= | << | >> | ::
                | [-+*/%&|^<>=!~?:;,.(){}\[\]] )
    """,
    re.VERBOSE | re.DOTALL,
)
BINARY: dict[bytes, tuple[str, tuple[bytes, ...]]] = {
    b"<": ("comparison", (b"<=", b">=")),
    b"<=": ("comparison", (b"<", b">")),
    b">": ("comparison", (b">=", b"<=")),
    b">=": ("comparison", (b">", b"<")),
    b"==": ("comparison", (b"!=",)),
    b"!=": ("comparison", (b"==",)),
    b"+": ("sign", (b"-",)),
    b"-": ("sign", (b"+",)),
    b"+=": ("sign", (b"-=",)),
    b"-=": ("sign", (b"+=",)),
    b"*": ("arithmetic", (b"/",)),
    b"/": ("arithmetic", (b"*",)),
    b"%": ("arithmetic", (b"/",)),
    b"<<": ("arithmetic", (b">>",)),
    b">>": ("arithmetic", (b"<<",)),
    b"&": ("arithmetic", (b"|",)),
    b"|": ("arithmetic", (b"&",)),
    b"|=": ("arithmetic", (b"&=",)),
    b"&=": ("arithmetic", (b"|=",)),
    b"&&": ("condition", (b"||",)),
    b"||": ("condition", (b"&&",)),
}
OTHERS = {
    b"++": (b"--", "sign"),
    b"--": (b"++", "sign"),
    b"true": (b"false", "constant"),
    b"false": (b"true", "constant"),
}
OPERAND_ENDS = (b")", b"]")
AFTER_A_TARGET = {b"(", b".", b"->", b"[", b"=", b"+=", b"-=", b"|=", b"&=", b"++", b"--"}
NO_STATEMENT = {b"static_assert", b"return", b"case", b"default", b"using", b"sizeof", b"throw"}
DROPPED_WORDS = {b"break", b"continue", b"return"}


@dataclass(frozen=True, slots=True)
class _Token:
    """A word, number or operator with its position."""

    start: int
    end: int
    text: bytes
    kind: str

    @property
    def is_operand(self) -> bool:
        return self.kind in ("number", "word", "character") or self.text in OPERAND_ENDS


def c_edits(source: bytes) -> list[Edit]:
    """Return every change to a file, except to floats, as in Python.

    The sources are formatted: an operator with a space on both sides has two operands, and a
    template's angle brackets have no spaces.
    """
    found = [
        _Token(each.start(), each.end(), each[0], each.lastgroup or "")
        for each in TOKEN.finditer(source)
        if each.lastgroup != "skip"
    ]
    reserves = list(_reserve_calls(found))
    return _ordered(
        edit
        for edits in (
            _token_edits(source, found),
            _condition_edits(source, found),
            _statement_edits(found),
        )
        for edit in edits
        if not any(start <= edit.start < end for start, end in reserves)
    )


def _reserve_calls(found: list[_Token]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each statement that only reserves memory, which has no effect."""
    first = 0
    for number, token in enumerate(found[:-1]):
        if token.text in (b";", b"{", b"}"):
            first = number + 1
        elif token.text == b"reserve" and found[number + 1].text == b"(":
            yield found[first].start, found[_closing(found, number + 1)].end


def _token_edits(source: bytes, found: list[_Token]) -> Iterator[Edit]:
    for before, token in pairwise([_Token(0, 0, b";", "operator"), *found]):
        spaced = source[: token.start][-1:].isspace() and source[token.end :][:1].isspace()
        if token.kind == "number":
            yield from _number_edits(token)
        elif token.text in BINARY and spaced and before.is_operand:
            kind, others = BINARY[token.text]
            yield from (Edit(token.start, token.end, other, kind) for other in others)
        elif token.text in OTHERS:
            yield Edit(token.start, token.end, *OTHERS[token.text])
        elif token.text in (b"-", b"!") and not before.is_operand:
            kind = "sign" if token.text == b"-" else "condition"
            yield Edit(token.start, token.end, b"", kind)


def _number_edits(token: _Token) -> Iterator[Edit]:
    digits = token.text.rstrip(b"uUlL" if token.text[:2].lower() == b"0x" else b"uUlLfF")
    suffix = token.text[len(digits) :]
    if b"." in digits or (b"e" in digits.lower() and digits[:2].lower() != b"0x"):
        return
    plain = digits.replace(b"'", b"").decode()
    octal = len(plain) > 1 and plain.isdigit() and plain[0] == "0"
    value = int(plain, 8 if octal else 0)
    for number in (value - 1, value + 1):
        if number >= 0:
            yield Edit(token.start, token.end, str(number).encode() + suffix, "constant")


def _condition_edits(source: bytes, found: list[_Token]) -> Iterator[Edit]:
    for number, (word, bracket) in enumerate(pairwise(found)):
        if word.text in (b"if", b"while") and bracket.text == b"(":
            start, end = bracket.end, found[_closing(found, number + 1)].start
            inside = source[start:end]
            if b";" not in inside and b"=" not in re.sub(rb"[<>=!]=", b"", inside):
                yield Edit(start, end, b"!(" + inside + b")", "condition")


def _closing(found: list[_Token], opening: int) -> int:
    depth = 0
    for number in range(opening, len(found)):
        depth += {b"(": 1, b")": -1}.get(found[number].text, 0)
        if depth == 0:
            return number
    raise ValueError("a bracket is not closed")


def _statement_edits(found: list[_Token]) -> Iterator[Edit]:
    """Drop calls, assignments and jumps. Dropping a declaration breaks the build or, if it is
    ``= delete``, has no effect."""
    for number in range(1, len(found) - 3):
        before, first, second = found[number - 1 : number + 2]
        if before.text not in (b";", b"{", b"}") or first.kind != "word":
            continue
        jump = first.text in DROPPED_WORDS and second.text == b";"
        library_call = second.text == b"::" and found[number + 3].text == b"("
        acts = second.text in AFTER_A_TARGET and first.text not in NO_STATEMENT
        if jump or acts or library_call:
            end = _semicolon(found, number)
            if end is not None and found[end - 1].text not in (b"delete", b"default"):
                yield Edit(first.start, found[end].start, b"", "statement")


def _semicolon(found: list[_Token], first: int) -> int | None:
    """Return the end of a simple statement; None if a brace comes first."""
    depth = 0
    for number in range(first, len(found)):
        text = found[number].text
        depth += {b"(": 1, b")": -1}.get(text, 0)
        if text in (b"{", b"}"):
            return None
        if text == b";" and depth == 0:
            return number
    return None


READERS = {".py": python_edits, **dict.fromkeys((".c", ".cpp", ".h", ".hpp"), c_edits)}
GENERATED = b"enerated"
"""A mark in the first lines of generated files, which a test compares with the generator."""
NOT_THE_PRODUCT = ("docs/", "firmware/tests/", "firmware/fuzz/", "firmware/tools/", "tests/")
DRAWINGS = ("vision/explain.py", "robot/display/drawing.py", "robot/records/timeline.py")
"""Files whose integers are positions on a canvas, chosen by eye: constants are not changed."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one change."""

    path: str
    line: int
    kind: str
    before: bytes
    after: bytes

    @property
    def is_python(self) -> bool:
        """True if no build is needed."""
        return self.path.endswith(".py")

    def difference(self) -> str:
        """Return the changed lines in the format of ``diff -U0``."""
        old, new = (text.decode().splitlines() for text in (self.before, self.after))
        return "\n".join(list(difflib.unified_diff(old, new, lineterm="", n=0))[3:])


def source_files(root: Path, places: str) -> list[str]:
    """Return the product's sources in a comma-separated list of files and folders.

    Raises ``SystemExit`` for a folder or file without any.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.split("\0") if name and (root / name).is_file()]
    files: set[str] = set()
    for place in (place.rstrip("/") for place in places.split(",")):
        found = {
            name
            for name in names
            if (place in (".", name) or name.startswith(place + "/"))
            and Path(name).suffix in READERS
            and not name.startswith(NOT_THE_PRODUCT)
            and GENERATED not in (root / name).read_bytes()[:300]
        }
        if not found:
            raise SystemExit(f"{place}: no source of the product is there")
        files |= found
    return sorted(files)


def sample(root: Path, files: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Return ``count`` mutants of different lines, or fewer if there are not enough lines.

    Draws lines first, then a change of each, so that a line with many constants is not preferred.
    """
    draw = random.Random(seed)
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for name in files:
        before = (root / name).read_bytes()
        for change in READERS[Path(name).suffix](before):
            if change.kind == "constant" and name.startswith(DRAWINGS):
                continue
            after = before[: change.start] + change.text + before[change.end :]
            line = before.count(b"\n", 0, change.start) + 1
            mutant = Mutant(name, line, change.kind, before, after)
            lines.setdefault((name, line), []).append(mutant)
    chosen = draw.sample(sorted(lines), min(count, len(lines)))
    return [draw.choice(lines[place]) for place in chosen]
