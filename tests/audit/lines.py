"""Lines that tell which tests see a change of a line.

A statement over several lines is run as one. What is run when a file is imported is run by every
test of it, or by none while it is traced: what tells there is where its names are used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef


def telling_lines(source: bytes, line: int) -> set[int]:
    """The lines of a statement, or those that use what an import defines there."""
    inside: Function | None = None
    statement: ast.stmt | None = None
    for node in _around(ast.parse(source), line):
        statement = node
        if isinstance(node, Function):
            inside = node if line >= node.body[0].lineno else None
            if inside is None:  # a default
                return {each for part in node.body for each in _own_lines(part)}
    if statement is None:
        return {line}
    own = _own_lines(statement)
    if inside is not None:
        return own
    return own | _uses(ast.parse(source), set(_names(statement)))


def _around(tree: ast.AST, line: int) -> Iterator[ast.stmt]:
    """The statements that hold a line, outermost first."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt):
            assert child.end_lineno is not None
            if not child.lineno <= line <= child.end_lineno:
                continue
            yield child
        yield from _around(child, line)


def _own_lines(statement: ast.stmt) -> set[int]:
    """Of a compound statement, those before what it holds."""
    assert statement.end_lineno is not None
    end = statement.end_lineno
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if body:
        first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
        end = max(statement.lineno, first.lineno - 1)
    return set(range(statement.lineno, end + 1))


def _names(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _uses(tree: ast.Module, names: set[str]) -> set[int]:
    """Lines of functions that read a name, or an attribute of that name."""
    return {
        node.lineno
        for function in ast.walk(tree)
        if isinstance(function, Function)
        for part in function.body
        for node in ast.walk(part)
        if (isinstance(node, ast.Name) and node.id in names)
        or (isinstance(node, ast.Attribute) and node.attr in names)
    }
