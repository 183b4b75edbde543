"""Every motion of a transition begins where the one before it has left its actuator."""

from __future__ import annotations

import pytest

from robot.mechanism.graph import Mechanism, Transition
from robot.mechanism.registry import build_mechanism
from robot.settings import list_profiles, load_profile
from robot.settings.other_cubes import for_cube

CASES = [(name, None) for name in (*list_profiles(), *list_profiles(reference=True))] + [
    ("crane", 6)
]


def assert_chained(mechanism: Mechanism, step: Transition) -> None:
    places = dict(mechanism.configurations[step.start].positions)
    for motion in sorted(step.motions, key=lambda motion: motion.offset_us):
        if motion.start is not None:
            assert motion.start == places[motion.actuator]
            assert motion.end is not None and motion.end != motion.start
            places[motion.actuator] = motion.end
    ends = mechanism.configurations[step.end].positions
    named = {name: place for name, place in ends.items() if isinstance(place, str)}
    assert {name: places[name] for name in named} == named


@pytest.mark.parametrize(("name", "size"), CASES)
def test_motions_begin_where_those_before_have_ended(name: str, size: int | None) -> None:
    profile = load_profile(name)
    mechanism = build_mechanism(profile if size is None else for_cube(profile, size)).looking
    assert mechanism.transitions
    for step in mechanism.transitions:
        assert_chained(mechanism, step)
