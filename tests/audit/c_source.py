"""Small changes to C and C++ source, by its tokens.

The sources are formatted: an operator with a space on both sides has two operands, and the angle
brackets of a template have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tests.audit.python_source import Edit

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
STEPS = {b"++": b"--", b"--": b"++"}
OPERAND_ENDS = (b")", b"]")
AFTER_A_TARGET = {b"(", b".", b"->", b"[", b"=", b"+=", b"-=", b"|=", b"&=", b"++", b"--"}
NO_STATEMENT = {b"static_assert", b"return", b"case", b"default", b"using", b"sizeof", b"throw"}
DROPPED_WORDS = {b"break", b"continue", b"return"}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or operator and its place."""

    start: int
    end: int
    text: bytes
    kind: str


def tokens(source: bytes) -> list[Token]:
    """Return the tokens of a file without comments, texts and preprocessor lines."""
    return [
        Token(found.start(), found.end(), found[0], found.lastgroup or "")
        for found in TOKEN.finditer(source)
        if found.lastgroup != "skip"
    ]


def changes(source: bytes) -> list[Edit]:
    """Return every change to a file; floats stay, as in Python."""
    found = tokens(source)
    edits = {
        *_token_edits(source, found),
        *_condition_edits(source, found),
        *_statement_edits(found),
    }
    reserves = list(_reserve_calls(found))
    return sorted(
        (edit for edit in edits if not any(start <= edit.start < end for start, end in reserves)),
        key=lambda edit: (edit.start, edit.end, edit.text),
    )


def _reserve_calls(found: list[Token]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each statement that only reserves memory: it has no effect."""
    first = 0
    for number, token in enumerate(found[:-1]):
        if token.text in (b";", b"{", b"}"):
            first = number + 1
        elif token.text == b"reserve" and found[number + 1].text == b"(":
            yield found[first].start, found[_closing(found, number + 1)].end


def _token_edits(source: bytes, found: list[Token]) -> Iterator[Edit]:
    for before, token in zip([Token(0, 0, b";", "operator"), *found], found, strict=False):
        if token.kind == "number":
            yield from _number_edits(token)
        elif token.text in BINARY and _spaced(source, token) and _is_operand(before):
            kind, others = BINARY[token.text]
            yield from (Edit(token.start, token.end, other, kind) for other in others)
        elif token.text in STEPS:
            yield Edit(token.start, token.end, STEPS[token.text], "sign")
        elif token.text in (b"-", b"!") and not _is_operand(before):
            kind = "sign" if token.text == b"-" else "condition"
            yield Edit(token.start, token.end, b"", kind)
        elif token.text in (b"true", b"false"):
            other = b"false" if token.text == b"true" else b"true"
            yield Edit(token.start, token.end, other, "constant")


def _spaced(source: bytes, token: Token) -> bool:
    return source[token.start - 1 : token.start].isspace() and source[token.end :][:1].isspace()


def _is_operand(token: Token) -> bool:
    return token.kind in ("number", "word", "character") or token.text in OPERAND_ENDS


def _number_edits(token: Token) -> Iterator[Edit]:
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


def _condition_edits(source: bytes, found: list[Token]) -> Iterator[Edit]:
    for number, (word, bracket) in enumerate(pairwise(found)):
        if word.text in (b"if", b"while") and bracket.text == b"(":
            end = _closing(found, number + 1)
            inside = source[bracket.end : found[end].start]
            if b";" not in inside and b"=" not in _without_comparisons(inside):
                yield Edit(bracket.end, found[end].start, b"!(" + inside + b")", "condition")


def _without_comparisons(text: bytes) -> bytes:
    return re.sub(rb"[<>=!]=", b"", text)


def _closing(found: list[Token], opening: int) -> int:
    depth = 0
    for number in range(opening, len(found)):
        depth += {b"(": 1, b")": -1}.get(found[number].text, 0)
        if depth == 0:
            return number
    raise ValueError("a bracket is not closed")


def _statement_edits(found: list[Token]) -> Iterator[Edit]:
    """Drop calls, assignments and jumps. Dropping a declaration never compiles or, if it is
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


def _semicolon(found: list[Token], first: int) -> int | None:
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
