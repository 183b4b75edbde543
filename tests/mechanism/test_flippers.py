"""Flippers other than CUBOTino: arms that hold where they roll, two arms, wide ranges."""

from __future__ import annotations

from functools import cache

import pytest

from robot.mechanism.compile.cost_model import compile_mechanism
from robot.mechanism.registry import build_mechanism
from robot.settings import parse_profile, profile_path
from solver.cost import composite_index
from tests.mechanism.test_compile import fastest_us
from tests.rig.timed_turns import cost_of

U, F, B, D = ((0, 1, 0), (2, 1, 0), (2, 0, 1), (0, 0, 1))

BACK_WAY = """- {between: [open, flip], ms: 250}
      - {between: [open, back], ms: 250}"""
LID_AND_TIPPER = """positions: {open: open, close: hold}
    - actuator: tipper
      start: open
      positions: {open: open, flip: {rolls: x}}"""
TIPPER = """  tipper:
    kind: timed
    positions: [open, flip]
    travel:
      - {between: [open, flip], ms: 250}
  lid:
"""
VARIANTS = {
    "plain": [],
    "both ways": [
        ("flip: {rolls: x}}", 'flip: {rolls: x}, back: {rolls: "x\'"}}'),
        ("positions: [open, close, flip]", "positions: [open, close, flip, back]"),
        ("- {between: [open, flip], ms: 250}", BACK_WAY),
    ],
    "holds there": [("flip: {rolls: x}}", "flip: {rolls: x, then: hold}}")],
    "two arms": [
        ("positions: {open: open, close: hold, flip: {rolls: x}}", LID_AND_TIPPER),
        ("  lid:\n", TIPPER),
    ],
    "endless": [(", range_quarters: [-1, 1], start: 0", "")],
    "wide": [("range_quarters: [-1, 1]", "range_quarters: [-2, 2]")],
}


@cache
def variant(name):
    """Reference A with some of its text replaced."""
    text = profile_path("reference/a").read_text()
    for old, new in VARIANTS[name]:
        assert old in text
        text = text.replace(old, new)
    return build_mechanism(parse_profile(text))


@cache
def compiled(name):
    return compile_mechanism(variant(name))


def turn_us(name, turn):
    model = compiled(name).cost_model(variant(name).start)
    return int(model.first[composite_index(*turn)].min())


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_costs_the_shortest_path(name):
    mechanism = variant(name)
    model = compiled(name).cost_model(mechanism.start)
    for turns in ([D, F], [(0, 2, 1), (1, 3, 0)]):
        composites = [composite_index(*turn) for turn in turns]
        assert cost_of(model, composites) == fastest_us(mechanism, mechanism.start, composites)


@pytest.mark.parametrize(
    ("name", "turn", "saved_us"),
    [
        # B comes down by one flip and F by three; backwards it is the other way round.
        ("both ways", B, 0),
        ("both ways", F, 2 * 500_000),
        # An arm that holds where it rolls need not close.
        ("holds there", B, 2 * 250_000),
        # Two arms do what one does when only one moves at a time.
        ("two arms", B, 0),
        # For a half turn the table need not go to the end of its range first.
        ("wide", (0, 0, 2), 400_000),
    ],
)
def test_a_variant_saves_what_a_person_reckons(name, turn, saved_us):
    assert turn_us(name, turn) == turn_us("plain", turn) - saved_us


def test_a_wider_range_never_costs_more_and_an_endless_table_needs_one_angle():
    for turn in (U, F, B, D, (0, 0, 2)):
        assert turn_us("endless", turn) <= turn_us("wide", turn) <= turn_us("plain", turn)
    assert len(variant("endless").configurations) == 3
    assert compiled("endless").states < compiled("plain").states
