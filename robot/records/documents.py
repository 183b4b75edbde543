"""JSON documents as pydantic models: their base classes, and the functions that read them.

Our own files, answers of other processes and messages of the page are all read here: within limits
of size (:mod:`solver.files`), and then as a model. Programs without pydantic read objects with
:func:`solver.files.parse_object`, which has the same limits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from solver.errors import one_line, shortened
from solver.files import BadFile, decode_text, parse_json, read_file


class ApiDocument(BaseModel):
    """Base of documents. Unknown keys are rejected, not ignored."""

    model_config = ConfigDict(extra="forbid")


class Nothing(ApiDocument):
    """An empty answer, if the request succeeded."""


class ApiRequest(ApiDocument):
    """Base of requests. Values must have the described type and are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _as_whole_number(value: object) -> object:
    """Return 5 for 5.0, which JSON does not distinguish."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = Annotated[int, BeforeValidator(_as_whole_number)]
"""An int; 5.0 counts as 5."""


Document = TypeVar("Document", bound=BaseModel)

LARGEST_DOCUMENT = 16 * 1024 * 1024
"""Most bytes of a document. Our largest, the record of a big cube's solve, has about 1 MB."""

MOST_PROBLEMS = 5
"""Most problems of a document to list. The others are only counted."""


def read_document(path: Path, model: type[Document], limit: int = LARGEST_DOCUMENT) -> Document:
    """Return the document in an ordinary file.

    Raises :class:`solver.files.NoSuchFile`, and :class:`solver.files.BadFile` with the file's name
    and problems.
    """
    return parse_document(read_file(path, limit), model, str(path))


def parse_document(data: bytes | str, model: type[Document], source: str) -> Document:
    """Return the document in ``data``, which is from ``source``; raises ``BadFile``."""
    text = decode_text(data, source) if isinstance(data, bytes) else data
    return check_document(parse_json(text, source), model, source)


def check_document(found: object, model: type[Document], source: str) -> Document:
    """Return a parsed JSON value as its model; raises ``BadFile``."""
    try:
        return model.model_validate(found)
    except ValidationError as error:
        raise BadFile(f"{source}: {_problems_of(error)}") from error


def _problems_of(error: ValidationError) -> str:
    """Return a document's violations of its model, with their places, for a person."""
    problems = error.errors(include_url=False, include_context=False)
    listed = [_name_place(item["loc"]) + _problem_of(item) for item in problems[:MOST_PROBLEMS]]
    more = len(problems) - len(listed)
    return one_line("; ".join(listed) + (f"; and {more} more" if more else ""))


def _problem_of(item: ErrorDetails) -> str:
    if item["type"] in {"enum", "literal_error"}:
        return f"this version of Cubist does not know {shortened(repr(item['input']))}"
    return item["msg"]


def _name_place(location: tuple[int | str, ...]) -> str:
    """Return the place in a document as the beginning of a sentence."""
    return ".".join(shortened(str(part)) for part in location) + ": " if location else ""
