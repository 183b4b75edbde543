"""What JSON documents have in common, above all requests and answers of the control socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

JsonObject = dict[str, Any]
"""A JSON object; what keys it has is said where it is made."""

JsonMapping = Mapping[str, Any]
"""The same, only to be read."""


def first_fault_of(error: ValidationError) -> str:
    """Return where in a document the first fault is and what it is, fit for one line."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    text = first["msg"]
    if first["type"] in {"enum", "literal_error"}:
        text = f"this version of Cubist does not know {repr(first['input'])[:60]}"
    line = f"{where}: {text}" if where else text
    return "".join(c if c.isprintable() else "?" for c in line)


class ApiDocument(BaseModel):
    """Base: unknown keys in a request are refused, not ignored."""

    model_config = ConfigDict(extra="forbid")


class Nothing(ApiDocument):
    """Done; there is nothing to tell."""


class ApiRequest(ApiDocument):
    """Base of what is asked: types as the description has them, nothing read into them."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _whole(value: object) -> object:
    """JSON knows no difference between 5 and 5.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = Annotated[int, BeforeValidator(_whole)]
"""An int; 5.0 counts as 5."""
