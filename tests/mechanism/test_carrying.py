"""Grippers that rotate the whole cube, and open ones that show it."""

import pytest

from robot.mechanism.registry import build_mechanism
from robot.settings import load_profile

SENSE = {"U": 1, "R": 1, "F": 1, "D": -1, "L": -1, "B": -1}


@pytest.mark.parametrize("name", ["reference/c", "four-arm", "soltvvo"])
def test_opposite_grippers_carry_the_same_way_round(name):
    mechanism = build_mechanism(load_profile(name))
    site_of = {g.rotation: site for site, g in mechanism.profile.mechanism.grippers.items()}
    carries = [step for step in mechanism.looking.transitions if step.rotation]
    assert carries
    for step in carries:
        held = [motion for motion in step.motions if motion.held]
        ways = {SENSE[site_of[motion.actuator]] * motion.quarters for motion in held}
        assert len(held) == 2 and len(ways) == 1
        assert (ways.pop() - step.rotation[1]) % 4 == 0


def test_jaws_that_let_go_for_a_turn_close_when_it_is_over():
    """A cube without a middle layer, held by the two grippers that turn it alone."""
    mechanism = build_mechanism(load_profile("soltvvo"))
    turns = [step for step in mechanism.transitions if step.turns]
    assert turns
    for step in turns:
        turned_us = max(m.offset_us + m.duration_us for m in step.motions if m.held)
        opened_us = [m.offset_us + m.duration_us for m in step.motions if m.end == "open"]
        closing = [motion for motion in step.motions if motion.end == "closed"]
        assert len(closing) == len(opened_us) == 2
        assert all(motion.offset_us >= turned_us for motion in closing)
        assert all(m.offset_us >= max(opened_us) for m in step.motions if m.held)


def test_open_grippers_hide_nothing():
    mechanism = build_mechanism(load_profile("four-arm"))
    wider = mechanism.looking
    assert wider.configurations[: len(mechanism.configurations)] == mechanism.configurations
    free = [c for c in wider.configurations if "U" not in c.covered]
    assert free
    for configuration in free:
        places = configuration.positions
        opened = [name for name, place in places.items() if place == "nearly open"]
        assert len(opened) == 2


def test_where_jaws_hide_nothing_there_is_nothing_to_open():
    for name in ("reference/c", "two-arm-2x2x2", "reference/a", "six-motor"):
        mechanism = build_mechanism(load_profile(name))
        assert mechanism.looking is mechanism
