"""What documents of the control socket have in common, requests and answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict


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
