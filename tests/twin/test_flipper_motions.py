"""What servo pulses do to the cube in a CUBOTino, and which of them are violations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from robot.settings import parse_profile, profile_path
from robot.twin.cube import NORMALS, CubeBody, scrambled

if TYPE_CHECKING:
    from conftest import PulseHand

MakeHand = Callable[..., "PulseHand"]


def kinds(hand: PulseHand) -> list[str]:
    return [violation.kind for violation in hand.robot.violations]


def expected(change: Callable[[CubeBody], None]) -> str:
    body = scrambled(3, 1)
    change(body)
    return body.facelets()


def test_open_lid_turns_the_whole_cube(make_hand: MakeHand) -> None:
    hand = make_hand()
    hand.move(700_000, holder=2000)
    hand.rest()
    assert hand.robot.body.facelets() == expected(lambda body: body.rotate(NORMALS["D"], 1))
    assert not kinds(hand)


def test_closed_lid_turns_the_bottom_layer(make_hand: MakeHand) -> None:
    hand = make_hand()
    hand.move(300_000, lid=1500)
    hand.rest()
    hand.move(800_000, holder=1000)
    hand.rest()
    hand.move(300_000, lid=1335)
    hand.rest()
    assert hand.robot.body.facelets() == expected(lambda body: body.turn("D", -1))
    assert not kinds(hand)


def test_half_turns_after_a_held_quarter_stay_in_step(make_hand: MakeHand) -> None:
    """The table is away from home when the next layer is turned."""
    hand = make_hand()

    def change(body: CubeBody) -> None:
        body.turn("D", 1)
        body.rotate(NORMALS["D"], -2)
        body.rotate(NORMALS["R"], 1)
        body.turn("D", 1)

    for lid, holder in ((1500, 1500), (1500, 2000), (1335, 2000), (1335, 1000), (1050, 1000)):
        hand.move(900_000, lid=lid, holder=holder)
        hand.rest()
    for lid, holder in ((1500, 1000), (1500, 1500), (1335, 1500)):
        hand.move(900_000, lid=lid, holder=holder)
        hand.rest()
    assert hand.robot.body.facelets() == expected(change)
    assert not kinds(hand)


@pytest.mark.parametrize("target", [2000, 1000])
def test_a_jammed_table_takes_nothing_along(make_hand: MakeHand, target: int) -> None:
    hand = make_hand()
    hand.robot.jam("holder")
    hand.move(700_000, holder=target)
    assert hand.robot.body.facelets() == scrambled(3, 1).facelets()


TIPPER = """      positions: {open: open, close: hold}
    - actuator: tipper
      start: open
      positions: {open: open, flip: {rolls: x}}
"""
TIPPER_SERVO = """  tipper:
    kind: servo
    pins: {pulse: 11}
    limits_us: [500, 2500]
    positions_us: {open: 1500, flip: 2000}
    travel:
      - {between: [open, flip], ms: 500}
  lid:
"""


def test_flipping_a_cube_that_is_held_is_a_violation(make_servo_hand: MakeHand) -> None:
    """Two arms: one holds the upper layers, the other rolls the cube."""
    text = profile_path("cubotino-uno").read_text()
    start, end = text.index("      positions:\n        open: open"), text.index("\nactuators:")
    text = text[:start] + TIPPER + text[end:].replace("  lid:\n", TIPPER_SERVO, 1)
    hand = make_servo_hand(parse_profile(text), scrambled(3, 1))
    hand.move(300_000, lid=1500)
    hand.rest()
    assert not kinds(hand)
    hand.move(500_000, tipper=2000)
    assert kinds(hand) == ["flip-held"]
