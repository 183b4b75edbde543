"""`cubist config` finds what is wrong in a profile and says where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robot.cli.main import run
from robot.settings import profile_path


def test_shipped_profiles_are_right(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "check", "--json"]) == 0
    found = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert len(found) >= 2
    assert all(each["ok"] for each in found)


def test_a_wrong_profile_is_told_with_line_and_key(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(profile_path("cubotino").read_text().replace("size: 3", "sise: 3"))
    assert run(["config", "check", str(path), "--json"]) == 2
    (found,) = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert not found["ok"]
    assert any(each["key"] == "cube.sise" and each["line"] > 0 for each in found["complaints"])
    assert run(["config", "check", str(path)]) == 2
    out, err = capfd.readouterr()
    assert ("cube.sise" in out, err) == (True, "")
    assert run(["robot", "check", str(path)]) == 2
    assert "cube.sise" in capfd.readouterr().out
    assert run(["robot", "check", str(path), "--json"]) == 2
    assert json.loads(capfd.readouterr().out)["ok"] is False


def test_each_profile_named_is_answered_for(capfd: pytest.CaptureFixture[str]) -> None:
    """On standard output; one that is not there does not keep the others from their answer."""
    assert run(["config", "check", "nowhere", "cubotino"]) == 2
    out, err = capfd.readouterr()
    missing, right = out.splitlines()
    assert "no profile named nowhere" in missing
    assert (right, err) == ("cubotino: CUBOTino, a flipper with two servos: all right", "")


def test_show_and_schema(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "show", "cubotino", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["name"] == "cubotino"
    assert run(["config", "show", "cubotino"]) == 0
    assert "name: cubotino" in capfd.readouterr().out
    assert run(["config", "schema"]) == 0
    assert json.loads(capfd.readouterr().out)["title"] == "RobotProfile"
