"""What elevator, turntable, flipper and squisher do to the cube, and what they must not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from robot.settings import load_profile
from robot.settings.other_cubes import for_cube
from robot.twin.cube import NORMALS, CubeBody, scrambled
from robot.twin.registry import SimulatedMechanism, parts_of

SIZE = 5
HALF_ROW = 126.0
"""Steps of the elevator."""


class Parts:
    """The parts of a crane with a 5x5x5 in it, moved from place to place in small steps."""

    def __init__(self) -> None:
        profile = for_cube(load_profile("crane"), SIZE)
        self.reported: list[str] = []
        self.body = scrambled(SIZE, 1)
        self.positions = {"turntable": 0.0, "elevator": 0.0, "flipper": 1000.0, "squisher": 1200.0}
        self.mechanism: SimulatedMechanism = parts_of(profile).around(
            self.body, lambda kind, text, subject: self.reported.append(kind)
        )
        self._rows = [float(252 * rows) for rows in range(SIZE + 1)]
        self.mechanism.update(self.positions)

    def move(self, steps: int = 8, **targets: float) -> Parts:
        begin = dict(self.positions)
        for step in range(1, steps + 1):
            for name, target in targets.items():
                self.positions[name] = begin[name] + (target - begin[name]) * step / steps
            self.mechanism.update(self.positions)
        return self

    def raised(self, rows: int) -> Parts:
        return self.move(elevator=self._rows[rows])

    def held(self) -> Parts:
        return self.move(squisher=1600.0)

    def let_go(self) -> Parts:
        return self.move(squisher=1200.0)

    def turned(self, quarters: float) -> Parts:
        return self.move(turntable=self.positions["turntable"] + quarters)


def expected(change: Callable[[CubeBody], None]) -> str:
    body = scrambled(SIZE, 1)
    change(body)
    return body.facelets()


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_as_many_rows_turn_as_were_raised(rows: int) -> None:
    parts = Parts().raised(rows).held().turned(-1).let_go().raised(0)
    assert parts.body.facelets() == expected(lambda body: body.turn("U", -1, rows))
    assert parts.reported == []


def test_all_rows_raised_turn_the_whole_cube() -> None:
    parts = Parts().raised(5).turned(2).raised(0)
    assert parts.body.facelets() == expected(lambda body: body.rotate(NORMALS["U"], 2))
    assert parts.reported == []


@pytest.mark.parametrize("steps", [2, 4, 7])
def test_the_flipper_rolls_a_lowered_cube_once_each_way(steps: int) -> None:
    parts = Parts().move(steps, flipper=2000.0)
    assert parts.body.facelets() == expected(lambda body: body.rotate(NORMALS["R"], 1))
    assert parts.move(steps, flipper=1000.0).body.facelets() == scrambled(SIZE, 1).facelets()
    assert parts.reported == []


def test_below_a_raised_cube_it_moves_empty() -> None:
    parts = Parts().raised(5).move(flipper=2000.0).raised(0).move(flipper=1000.0)
    assert parts.body.facelets() == expected(lambda body: body.rotate(NORMALS["R"], -1))
    assert parts.reported == []


def test_a_slip_is_a_roll_that_does_not_happen() -> None:
    parts = Parts()
    parts.mechanism.slips.wanted = 1
    assert parts.move(flipper=2000.0).body.facelets() == scrambled(SIZE, 1).facelets()


def test_where_the_parts_are_is_named() -> None:
    place = Parts().mechanism.place
    assert place("elevator", 504.0) == "row-2" and place("elevator", 630.0) is None
    assert place("flipper", 1050.0) == "front" and place("flipper", 1500.0) is None
    assert place("squisher", 1600.0) == "closed" and place("turntable", 0.0) is None


WRONG = [
    ("turn-unheld", lambda parts: parts.raised(2).turned(1)),
    ("lift-held", lambda parts: parts.raised(2).held().raised(3)),
    ("lift-not-square", lambda parts: parts.raised(5).turned(0.4).raised(0)),
    ("row-between", lambda parts: parts.move(elevator=3 * HALF_ROW).held()),
    ("hold-not-square", lambda parts: parts.raised(5).turned(0.4).move(1, elevator=504.0).held()),
    ("layer-not-square", lambda parts: parts.raised(2).held().turned(0.3).let_go()),
    ("flip-blocked", lambda parts: parts.raised(2).move(flipper=2000.0)),
    ("flip-held", lambda parts: parts.held().move(flipper=2000.0)),
    ("lift-flipping", lambda parts: parts.move(flipper=1500.0).raised(1)),
]


@pytest.mark.parametrize(("kind", "deed"), WRONG, ids=[kind for kind, _ in WRONG])
def test_what_it_must_not_do_is_told(kind: str, deed: Callable[[Parts], Parts]) -> None:
    assert kind in deed(Parts()).reported


def test_a_camera_sees_the_raised_rows_turn() -> None:
    parts = Parts().raised(2).held().turned(0.4)
    pose = parts.mechanism.pose()
    assert pose.layers == (("U", pytest.approx(0.4)),) and pose.depth == 2


def test_it_was_put_away_with_the_cube_down_and_let_go() -> None:
    starts = parts_of(for_cube(load_profile("crane"), SIZE)).start_places
    assert (starts["elevator"], starts["squisher"]) == ("down", "open")
