"""Kinds of parts by name: built in, registered, unknown."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from robot.settings.kinds import Kinds
from solver.errors import InvalidRequest


def test_an_unknown_kind_is_told_with_those_there_are() -> None:
    kinds: Kinds[int] = Kinds("mechanism", built_in=("flipper",))
    kinds["crane"] = 1
    with pytest.raises(InvalidRequest, match="no mechanism lift; there is flipper, crane"):
        kinds["lift"]
    assert "lift" not in kinds


def test_a_built_in_kind_registers_itself_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds: Kinds[int] = Kinds("mechanism", "some.room.{kind}", ("two-arm", "crane"))
    imported: list[str] = []

    def imports(name: str) -> ModuleType:
        imported.append(name)
        kinds["two-arm"] = 2
        return sys.modules[__name__]

    monkeypatch.setattr("robot.settings.kinds.import_module", imports)
    assert list(kinds) == ["two-arm", "crane"] and len(kinds) == 2 and not imported
    assert kinds["two-arm"] == kinds["two-arm"] == 2
    assert imported == ["some.room.two_arm"]
    kinds["own"] = 3
    assert (kinds["own"], list(kinds), len(kinds)) == (3, ["two-arm", "crane", "own"], 3)
    assert len(imported) == 1
    del kinds["own"]
    assert list(kinds) == ["two-arm", "crane"]
