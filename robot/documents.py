"""What JSON documents have in common, above all requests and answers of the control socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict

JsonObject = dict[str, Any]
"""A JSON object; what keys it has is said where it is made."""

JsonMapping = Mapping[str, Any]
"""The same, only to be read."""


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
