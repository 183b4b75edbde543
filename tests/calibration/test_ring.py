"""In which order four grippers beside the cube find out about themselves, and who holds it then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from robot.calibration.auto import grippers
from robot.calibration.auto.grippers import RingFinder

SITES = "RFLB"


class Gripper:
    """It lists what it does; ``holding`` are the sites whose jaws are closed."""

    def __init__(self, site: str, log: list[str], holding: set[str]) -> None:
        self.site, self.log, self.holding = site, log, holding
        self.rotation = SimpleNamespace(
            name=f"motor-{site}",
            set_square=lambda: self._does("square", 1.234),
            settle=lambda: self._does("settle"),
        )
        self.jaws = SimpleNamespace(
            actuator=SimpleNamespace(name=f"jaw-{site}"),
            open_wide=lambda: self._opens("wide"),
            go_open=lambda: self._opens("open"),
            go_closed=self._closes,
            find_by=lambda rotation: self._does("jaws by", rotation.name),
        )

    def _does(self, what: str, found: Any = None) -> Any:
        told = f" {found}" if isinstance(found, str) else ""
        self.log.append(f"{self.site} {what}{told}")
        return found if not told else f"jaws {self.site}"

    def _opens(self, how: str) -> None:
        self._does(how)
        self.holding.discard(self.site)
        assert self.holding, "nobody holds the cube"

    def _closes(self) -> None:
        self._does("closed")
        self.holding.add(self.site)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[Any]]:
    """What a ring does, and what it finds, while the cube is always held."""
    log: list[str] = []
    holding = set(SITES)
    finder: Any = object.__new__(RingFinder)
    finder._session = "session"
    finder._grippers = {site: Gripper(site, log, holding) for site in SITES}

    def alone(rotation: Any) -> str:
        """What turns the cube holds it alone, or only its own layer would turn."""
        assert holding == {rotation.name[-1]}, rotation.name
        log.append(f"line {rotation.name}")
        return f"line {rotation.name}"

    def motor(rotation: Any) -> str:
        log.append(f"motor {rotation.name}")
        return f"motor {rotation.name}"

    def turn(session: Any, names: list[str]) -> None:
        log.append(f"let turn {' '.join(names)}")

    monkeypatch.setattr(grippers, "find_line", alone)
    monkeypatch.setattr(grippers, "motor_finding", motor)
    monkeypatch.setattr(grippers, "let_turn", turn)
    monkeypatch.setattr(finder, "_face_in_view", lambda text: ("face", text), raising=False)
    monkeypatch.setattr(finder, "_square_place", lambda *told: ("square", *told), raising=False)
    assert finder.seen_moving == {}
    findings = list(finder.find())
    assert holding == set(SITES), "in the end all of them hold it"
    return log, findings


def test_each_motor_is_found_while_its_gripper_holds_the_cube_alone(
    found: tuple[list[str], list[Any]],
) -> None:
    _, findings = found
    assert findings == [
        ("face", "square to the robot, all grippers closed on it"),
        *("line motor-R", "motor motor-R", "jaws F", "jaws B"),
        ("square", "square is as jaw-F holds the cube", {"off_first_picture_degrees": 1.23}),
        *("line motor-F", "motor motor-F", "jaws R", "jaws L"),
        *("line motor-B", "motor motor-B", "line motor-L", "motor motor-L"),
    ]
