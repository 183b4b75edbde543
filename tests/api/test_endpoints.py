"""The typed dictionaries that clients read have the same fields as the daemon's models."""

from __future__ import annotations

from types import NoneType
from typing import Any, get_args, get_type_hints

import pytest
from pydantic import BaseModel

from robot.api import calibrations, endpoints, management, models
from robot.api.endpoints import RUN, RUNS, Endpoint
from robot.daemon.routes import ROUTES
from robot.records import runs, statistics

DOCUMENTS = {name: document for name, document in vars(endpoints).items() if name.endswith("Json")}


def model_of(name: str) -> type[BaseModel]:
    found = [
        vars(module)[name]
        for module in (models, calibrations, management, runs, statistics)
        if name in vars(module)
    ]
    assert found, f"{name}Json stands for a model that does not exist"
    return found[0]


def may_be_none(kind: Any) -> bool:
    return NoneType in get_args(kind)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_has_the_fields_of_its_model(name: str) -> None:
    """Who adds a field to a model adds it here, too, or this fails."""
    model, hints = model_of(name.removesuffix("Json")), get_type_hints(DOCUMENTS[name])
    assert hints.keys() == model.model_fields.keys()
    for key, hint in hints.items():
        field = model.model_fields[key].annotation
        is_optional = "NotRequired" in str(DOCUMENTS[name].__annotations__[key])
        assert is_optional or hint is Any or may_be_none(hint) == may_be_none(field), key


def test_every_endpoint_is_served() -> None:
    said = {one for one in vars(endpoints).values() if isinstance(one, Endpoint)}
    assert said <= {route.endpoint for route in ROUTES}
    assert all(endpoints.is_trial(one.endpoint) for one in ROUTES if one.endpoint not in said)


def test_a_target_has_its_parts_and_its_query() -> None:
    assert RUN.target({"run": "a/b"}) == "/runs/a%2Fb"
    assert RUNS.target(query={"count": 3, "other": None}) == "/runs?count=3"
