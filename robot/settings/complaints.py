"""Pydantic's findings in the terms of the person who wrote the YAML."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from robot.settings.base import KindSettings
from robot.settings.document import Complaint, Path, ProfileDocument
from solver.errors import shortened
from solver.files import JsonObject

UNITS = ("_ms", "_us", "_s", "_mm", "_degrees", "_quarters", "_steps", "_gpio")


def complaints_of(
    error: ValidationError, document: ProfileDocument, model: type[BaseModel]
) -> list[Complaint]:
    """Return every finding of ``error`` with file, line, key and the values allowed there."""
    seen: dict[Path, Complaint] = {}
    for finding in error.errors(include_url=False):
        absent = finding["type"] in ("missing", "extra_forbidden")
        path = _real_path(finding["loc"], document.data, absent)
        text = _text(dict(finding), path, _types_at(path[:-1], model, document.data))
        seen.setdefault(path, document.complaint(path, text))
    # A complaint about a value inside another is more precise.
    outer = {path[:length] for path in seen for length in range(len(path))}
    return [complaint for path, complaint in seen.items() if path not in outer]


def _real_path(loc: tuple[str | int, ...], data: JsonObject, absent: bool) -> Path:
    """Return ``loc`` without pydantic's names of union members. ``absent``: the key is missing."""
    path: list[str | int] = []
    value: Any = data
    named = None
    for position, step in enumerate(loc):
        if isinstance(value, dict) and value is not named and value.get("kind") == step:
            named = value  # its kind comes first, and may also be a key's name
            continue
        inside = isinstance(value, dict) and step in value
        inside = inside or (isinstance(value, list) and isinstance(step, int) and step < len(value))
        if inside:
            value = value[step]
            path.append(step)
        elif absent and position == len(loc) - 1 and isinstance(value, dict):
            path.append(step)
    return tuple(path)


def _text(finding: JsonObject, path: Path, owners: list[type[BaseModel]]) -> str:
    """Return the fault and what is allowed; ``owners`` may have the last key of ``path``."""
    kind = finding["type"]
    if kind == "extra_forbidden":
        return _unknown_key(str(path[-1]), {key for owner in owners for key in owner.model_fields})
    if kind == "missing":
        return "missing" + _describe_allowed(path, owners)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return f"kind must be one of {finding['ctx'].get('expected_tags', 'those documented')}"
    given = finding.get("input")
    shown = "" if isinstance(given, dict | list | tuple) else f", not {shortened(repr(given))}"
    message = str(finding["msg"]).removeprefix("Value error, ")
    return message + shown + _describe_allowed(path, owners)


def _unknown_key(key: str, allowed: set[str]) -> str:
    """Return a complaint about ``key``. If it differs by its unit, explain the unit."""
    stem = next((key.removesuffix(unit) for unit in UNITS if key.endswith(unit)), key)
    for other in sorted(allowed):
        unit = next((u for u in UNITS if other.endswith(u)), "")
        if unit and stem == other.removesuffix(unit):
            return f"unknown key; the unit is part of the name: write {other}"
    near = difflib.get_close_matches(key, allowed, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown key{hint} (allowed: {', '.join(sorted(allowed))})"


def _describe_allowed(path: Path, owners: list[type[BaseModel]]) -> str:
    """Return the description of the field at ``path``, as ``(expected: ...)``."""
    for owner in owners if path else ():
        field = owner.model_fields.get(str(path[-1]))
        if field is not None and field.description:
            return f" (expected: {field.description})"
    return ""


def _types_at(path: Path, model: type[BaseModel], data: JsonObject) -> list[type[BaseModel]]:
    """Return the settings models that the value at ``path`` of ``data`` may be an instance of."""
    types: list[object] = [model]
    value: Any = data
    for step in path:
        types = [below for owner in types for below in _step_into(owner, step)]
        value = value[step]
    found = [member for owner in types for member in _models(owner)]
    kind = value.get("kind") if isinstance(value, dict) else None
    return [owner for owner in found if _kind_fields(owner, kind)] or found


def _kind_fields(owner: type[BaseModel], kind: object) -> bool:
    field = owner.model_fields.get("kind")
    return field is not None and kind in get_args(field.annotation)


def _step_into(owner: object, step: str | int) -> Iterator[object]:
    """Yield the types of the value under ``step`` in a value of type ``owner``."""
    for member in _members(owner):
        if isinstance(member, type) and issubclass(member, BaseModel):
            field = member.model_fields.get(str(step))
            if field is not None:
                yield field.annotation
        elif get_origin(member) is dict:
            yield get_args(member)[1]
        elif get_origin(member) is tuple:
            yield from (part for part in get_args(member) if part is not Ellipsis)


def _models(owner: object) -> Iterator[type[BaseModel]]:
    for member in _members(owner):
        if isinstance(member, type) and issubclass(member, BaseModel):
            yield member


def _members(owner: object) -> Iterator[object]:
    """Yield ``owner`` without Annotated, or each member of its union, or each kind of its part."""
    origin = get_origin(owner)
    if origin is Annotated:
        yield from _members(get_args(owner)[0])
    elif origin in (Union, UnionType):
        for member in get_args(owner):
            yield from _members(member)
    elif isinstance(owner, type) and issubclass(owner, KindSettings):
        yield from owner.kinds()
    else:
        yield owner
