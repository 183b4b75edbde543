"""Small changes to Python source, by its syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the bytes from ``start`` to ``end`` of a file by ``text``."""

    start: int
    end: int
    text: bytes
    kind: str


COMPARISONS: dict[type[ast.cmpop], tuple[bytes, tuple[bytes, ...]]] = {
    ast.Lt: (rb"<", (b"<=", b">=")),
    ast.LtE: (rb"<=", (b"<", b">")),
    ast.Gt: (rb">", (b">=", b"<=")),
    ast.GtE: (rb">=", (b">", b"<")),
    ast.Eq: (rb"==", (b"!=",)),
    ast.NotEq: (rb"!=", (b"==",)),
    ast.Is: (rb"\bis\b", (b"is not",)),
    ast.IsNot: (rb"\bis\s+not\b", (b"is",)),
    ast.In: (rb"\bin\b", (b"not in",)),
    ast.NotIn: (rb"\bnot\s+in\b", (b"in",)),
}
ARITHMETIC: dict[type[ast.operator], tuple[bytes, bytes]] = {
    ast.Add: (rb"\+", b"-"),
    ast.Sub: (rb"-", b"+"),
    ast.Mult: (rb"\*", b"/"),
    ast.Div: (rb"/", b"*"),
    ast.FloorDiv: (rb"//", b"*"),
    ast.Mod: (rb"%", b"//"),
    ast.LShift: (rb"<<", b">>"),
    ast.RShift: (rb">>", b"<<"),
    ast.BitAnd: (rb"&", b"|"),
    ast.BitOr: (rb"\|", b"&"),
    ast.BitXor: (rb"\^", b"&"),
}
COMMENT = re.compile(rb"#[^\n]*")
LAYOUT = {"padding", "bar_width", "indent"}
"""Arguments for free room on a screen or in a file."""
DIARY = {"debug", "info"}
"""Methods of a log for the normal course of things: their arguments are mere texts."""


def changes(source: bytes) -> list[Edit]:
    """Return every change to a file; annotations, decorators, assertions, texts, floats stay.

    Most floats are limits found by measuring, and many values are right. Code without an effect
    stays too: ``del`` of an unused argument, a log's normal entries, free room on a screen, imports
    for the type checker.
    """
    return sorted(set(Reader(source).edits()), key=lambda edit: (edit.start, edit.end, edit.text))


class Reader:
    """A file's bytes and the places of its tree's nodes in them."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._line_starts = [0]
        for line in source.splitlines(keepends=True):
            self._line_starts.append(self._line_starts[-1] + len(line))

    def edits(self) -> Iterator[Edit]:
        """Yield the changes, node by node."""
        return self._edits_in(ast.parse(self._source))

    def _edits_in(self, node: ast.AST) -> Iterator[Edit]:
        if _does_nothing(node):
            return
        yield from self._edits_of(node)
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "type_params", "bases"}:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._edits_in(child)

    def _edits_of(self, node: ast.AST) -> Iterator[Edit]:
        match node:
            case ast.Compare():
                yield from self._comparison(node)
            case ast.BinOp():
                yield from self._arithmetic(node)
            case ast.AugAssign():
                yield from self._swap_operator(node.target, node.value, node.op)
                yield self._drop(node)
            case ast.BoolOp():
                yield from self._boolean(node)
            case ast.UnaryOp(op=ast.USub() | ast.Not()):
                word, kind = (
                    ("-", "sign") if isinstance(node.op, ast.USub) else ("not", "condition")
                )
                start = self._start(node)
                yield Edit(start, start + len(word), b" " * len(word), kind)
            case ast.Constant():
                yield from self._constant(node)
            case ast.If() | ast.While() | ast.IfExp():
                yield self._negate(node.test)
            case ast.Raise() | ast.Break() | ast.Continue() | ast.Delete():
                yield self._drop(node)
            case ast.Expr(value=ast.Call() | ast.Await()):
                yield self._drop(node)
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield self._drop(node)

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._line_starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._line_starts[node.end_lineno - 1] + node.end_col_offset

    def _drop(self, node: ast.stmt) -> Edit:
        return Edit(self._start(node), self._end(node), b"pass", "statement")

    def _negate(self, test: ast.expr) -> Edit:
        start, end = self._start(test), self._end(test)
        return Edit(start, end, b"not (" + self._source[start:end] + b")", "condition")

    def _operator(self, left: ast.expr, right: ast.expr, pattern: bytes) -> tuple[int, int]:
        """Return start and end of the operator between two operands."""
        start = self._end(left)
        gap = COMMENT.sub(
            lambda comment: b" " * len(comment[0]), self._source[start : self._start(right)]
        )
        found = re.search(pattern, gap)
        assert found is not None
        return start + found.start(), start + found.end()

    def _comparison(self, node: ast.Compare) -> Iterator[Edit]:
        operands = [node.left, *node.comparators]
        for left, right, operator in zip(operands, operands[1:], node.ops, strict=False):
            pattern, others = COMPARISONS[type(operator)]
            start, end = self._operator(left, right, pattern)
            yield from (Edit(start, end, other, "comparison") for other in others)

    def _arithmetic(self, node: ast.BinOp) -> Iterator[Edit]:
        if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return
        yield from self._swap_operator(node.left, node.right, node.op)

    def _swap_operator(
        self, left: ast.expr, right: ast.expr, operator: ast.operator
    ) -> Iterator[Edit]:
        if type(operator) in ARITHMETIC:
            pattern, other = ARITHMETIC[type(operator)]
            start, end = self._operator(left, right, pattern)
            kind = "sign" if isinstance(operator, ast.Add | ast.Sub) else "arithmetic"
            yield Edit(start, end, other, kind)

    def _boolean(self, node: ast.BoolOp) -> Iterator[Edit]:
        word, other = (b"and", b"or") if isinstance(node.op, ast.And) else (b"or", b"and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            start, end = self._operator(left, right, rb"\b" + word + rb"\b")
            yield Edit(start, end, other, "condition")

    def _constant(self, node: ast.Constant) -> Iterator[Edit]:
        start, end = self._start(node), self._end(node)
        if isinstance(node.value, bool):
            yield Edit(start, end, str(not node.value).encode(), "constant")
        elif isinstance(node.value, int):
            for number in (node.value - 1, node.value + 1):
                yield Edit(start, end, str(number).encode(), "constant")


def _does_nothing(node: ast.AST) -> bool:
    """Return true if no test could notice a change of this node or of its children."""
    match node:
        case (
            ast.Assert()
            | ast.keyword(arg="strict")
            | ast.Call(func=ast.Name(id="Padding" | "Pattern"))  # room; a light's rhythm
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
