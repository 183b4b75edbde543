"""The OpenAPI 3.1 document of the control socket, made from the routes and their models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from robot.daemon.models import ErrorReply
from robot.daemon.routes import ROUTES, Parameter, Route

_MEANINGS = {
    400: "The request is malformed.",
    404: "There is no such thing.",
    405: "This path has no such method.",
    409: "The robot's present state does not allow it.",
    413: "The request is too large.",
    507: "The disk is full or read-only.",
    503: "The robot or its link has failed.",
}
_ALWAYS = (400, 405, 413)


def document(version: str) -> dict[str, Any]:
    """The whole description."""
    models = {model for route in ROUTES for model in (route.answer, route.body) if model}
    ordered = sorted(models | {ErrorReply}, key=lambda model: model.__name__)
    _, definitions = models_json_schema(
        [(model, "validation") for model in ordered],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Cubist control socket",
            "version": version,
            "description": "HTTP/1.1 over the Unix socket /run/cubist/control.sock.",
        },
        "paths": paths,
        "components": {"schemas": definitions["$defs"]},
    }


def _operation(route: Route) -> dict[str, Any]:
    kind = "application/json" if route.handler else "application/jsonl"
    responses: dict[str, Any] = {
        "200": {"description": route.summary, "content": _content(kind, route.answer.__name__)}
    }
    for code in (*_ALWAYS, *route.errors):
        responses[str(code)] = {
            "description": _MEANINGS[code],
            "content": _content("application/json", "ErrorReply"),
        }
    operation: dict[str, Any] = {
        "operationId": _identifier(route),
        "summary": route.summary,
        "parameters": [_parameter(parameter) for parameter in route.parameters],
        "responses": responses,
    }
    if route.body:
        content = _content("application/json", route.body.__name__)
        operation["requestBody"] = {"required": _required(route.body), "content": content}
    return operation


def _required(body: type[BaseModel]) -> bool:
    """Whether there has to be a body: an absent one is an empty object."""
    return any(field.is_required() for field in body.model_fields.values())


def _identifier(route: Route) -> str:
    words = route.path.replace("{", "").replace("}", "").strip("/").split("/")
    return "_".join([route.method.lower(), *words])


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.place == "path",
        "schema": parameter.schema,
    }


def _content(kind: str, name: str) -> dict[str, Any]:
    return {kind: {"schema": {"$ref": f"#/components/schemas/{name}"}}}
