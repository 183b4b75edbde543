"""Table and arms of a flipper at given positions: borders of zones, play, falling cubes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from robot.twin.cube import NORMALS, CubeBody, scrambled, turned
from robot.twin.flipper import ArmPlace, Flipper, SimulatedArm

ROLL = (NORMALS["R"], 1)
PLACES = (
    ArmPlace("free", 0.0, "open"),
    ArmPlace("close", 10.0, "hold"),
    ArmPlace("flip", -10.0, "block", ROLL),
)
TOLERANCE = 0.125
"""In quarters. All values here have few bits, so that borders are hit exactly."""
LITTLE = 2.0**-10
FREE, HELD, HALF_WAY = 0.0, 10.0, 5.0


@dataclass
class Table:
    """A flipper, and the violations it reports."""

    play: float | None = None
    reported: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.arm = SimulatedArm("lid", PLACES)
        self.flipper = Flipper(
            scrambled(3, 1), "table", [self.arm], TOLERANCE, self._hear, self.play
        )
        self.at(0.0)

    def _hear(self, kind: str, text: str, part: str) -> None:
        assert text
        self.reported.append(kind)

    def at(self, table: float, lid: float = FREE) -> None:
        self.flipper.update({"table": table, "lid": lid})

    def lift(self, part: float) -> float:
        """Return the lid's position after this fraction of a lift."""
        return -10 * (0.2 + 0.8 * part)

    def angles(self) -> tuple[float, float]:
        """Return the quarters by which cube and bottom layer are askew."""
        pose = self.flipper.pose()
        whole = math.atan2(pose.whole[0, 2], pose.whole[0, 0]) / (math.pi / 2)
        twist = dict(pose.layers).get("D", 0.0)
        assert np.allclose(pose.whole, turned(NORMALS["D"], whole))
        return whole, twist

    def is_changed_by(self, *moves: tuple[str, str, int]) -> bool:
        """Return whether exactly these turns of layers and of the whole cube have changed it."""
        body: CubeBody = scrambled(3, 1)
        for what, site, quarters in moves:
            if what == "turn":
                body.turn(site, quarters)
            else:
                body.rotate(NORMALS[site], quarters)
        return body.facelets() == self.flipper.body.facelets()


def test_an_arm_does_what_a_place_does_about_a_third_of_the_way():
    arm = SimulatedArm("lid", PLACES)
    roles = {0: "open", 3.49: "open", 3.51: "moving", 6.49: "moving", 6.51: "hold", 13.49: "hold"}
    assert {at: arm.role(at) for at in roles} == roles
    assert arm.role(13.51) == arm.role(-3.51) == "moving" and arm.role(-6.51) == "block"
    zoned = SimulatedArm("lid", [*PLACES[:1], ArmPlace("close", 10, "hold", zone=(4, 12))])
    roles = {3.51: "moving", 3.99: "moving", 4: "hold", 12: "hold", 12.01: "moving"}
    assert {at: zoned.role(at) for at in roles} == roles


@pytest.mark.parametrize("sign", [1, -1])
def test_closing_is_square_up_to_the_tolerance(sign):
    for askew, reported in ((TOLERANCE, []), (TOLERANCE + LITTLE, ["hold-not-square"])):
        table = Table()
        table.at(sign * askew)
        table.at(sign * askew, HALF_WAY)
        table.at(sign * askew, HELD)
        assert table.reported == reported
        assert table.angles() == pytest.approx((sign * askew, 0))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_layer_is_square_up_to_the_tolerance(sign):
    for askew, reported in ((TOLERANCE, []), (TOLERANCE + LITTLE, ["layer-not-square"])):
        table = Table()
        table.at(0, HELD)
        table.at(sign * (1 + askew), HELD)
        assert table.angles() == pytest.approx((0, sign * askew))
        table.at(sign * (1 + askew), HALF_WAY)
        assert table.reported == reported
        assert table.angles() == pytest.approx((sign * askew, 0)), "the cube stands as its layer"
        assert table.is_changed_by(("turn", "D", sign))


@pytest.mark.parametrize(
    "highest, reported", [(0.19, []), (0.21, ["flip-incomplete"]), (0.74, ["flip-incomplete"])]
)
def test_a_cube_falls_back_or_over(highest, reported):
    table = Table()
    for part in (highest / 2, highest, highest / 2):
        table.at(0, table.lift(part))
        turn = turned(ROLL[0], part)
        assert np.allclose(table.flipper.pose().whole, turn)
    table.at(0)
    assert table.reported == reported and table.is_changed_by()
    table.reported.clear()
    table.at(0, table.lift(highest))
    table.flipper.note_reset()
    table.at(0)
    assert not table.reported, "that was a reset's fault"


def test_a_cube_that_was_lifted_far_enough_rolls_once():
    table = Table()
    seen = {0.5: 0.5, 0.76: -0.24, 0.9: -0.1, 0.7: -0.1, 0.1: -0.1}
    for part, off in seen.items():
        table.at(0, table.lift(part))
        assert np.allclose(table.flipper.pose().whole, turned(ROLL[0], off))
        assert table.is_changed_by(("rotate", "R", int(off < 0)))
    table.at(0)
    assert not table.reported and table.is_changed_by(("rotate", "R", 1))
    assert np.allclose(table.flipper.pose().whole, np.eye(3))
    table.flipper.slips.wanted = 1
    for rolls in (1, 2):
        table.at(0, table.lift(1.0))
        table.at(0)
        assert table.is_changed_by(("rotate", "R", rolls))


def test_a_cube_that_an_arm_holds_is_not_rolled_by_another():
    reported: list[str] = []
    lid = SimulatedArm("lid", PLACES[:2])
    tipper = SimulatedArm("tipper", (PLACES[0], PLACES[2]))
    flipper = Flipper(
        scrambled(3, 1), "table", [lid, tipper], TOLERANCE, lambda kind, *_: reported.append(kind)
    )
    for held, tipped in ((FREE, FREE), (HALF_WAY, FREE), (HELD, FREE), (HELD, -5.0), (HELD, -10.0)):
        flipper.update({"table": 0.0, "lid": held, "tipper": tipped})
    assert reported == ["flip-held"]
