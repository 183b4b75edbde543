"""Robots that cannot be: refused when they are loaded or built, with the reason."""

import pytest

from robot.mechanism.registry import build_mechanism
from robot.settings import BadProfile, parse_profile, profile_path


def text_of(name, *changes):
    text = profile_path(name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


REFUSED_AT_LOAD = [
    (
        "reference/b",
        [("    D: {rotation: down", "    L: {rotation: down")],
        "all grippers are on one axis",
    ),
    (
        "reference/b",
        [("jaw: right-jaw}", "jaw: right-jaw, range_quarters: [0, 0]}")],
        "second angle",
    ),
    ("reference/b", [("rotation: down,", "rotation: down-jaw,")], "does not rotate"),
    (
        "two-arm",
        [("angles: {ccw: -1, home: 0, cw: 1}, start: home", "start: home")],
        "name two or more",
    ),
]


@pytest.mark.parametrize(("name", "changes", "reason"), REFUSED_AT_LOAD)
def test_contradictions_are_refused_at_load(name, changes, reason):
    with pytest.raises(BadProfile, match=reason):
        parse_profile(text_of(name, *changes))


REFUSED_WHEN_BUILT = [
    # The table's only way leads from home to cw: it never comes back.
    (
        "cubotino-uno",
        [
            ("- {between: [ccw, home], ms: 700, held_ms: 800}\n", ""),
            ("{between: [home, cw], ms: 700", "{between: [home, cw], one_way: true, ms: 700"),
            ("      - {between: [ccw, cw], ms: 1470, held_ms: 1680}\n", ""),
        ],
        "can no longer be turned",
    ),
    (
        "cubotino-uno",
        [("- {between: [open, flip], ms: 500}", ""), ("- {between: [close, flip], ms: 600}", "")],
        "nobody can ever turn",
    ),
    (
        "reference/b",
        [
            (
                "- {between: [open, closed], ms: 200}",
                "- {between: [closed, open], ms: 200, one_way: true}",
            )
        ],
        "cannot get from open to closed",
    ),
    (
        "reference/b",
        [
            ("rotation: right,", "rotation: right, start: 1,"),
            ("rotation: down,", "rotation: down, start: 1,"),
        ],
        "jaws collide",
    ),
    # No way leads to cw.
    (
        "cubotino-uno",
        [
            ("      - {between: [home, cw], ms: 700, held_ms: 800}\n", ""),
            ("      - {between: [ccw, cw], ms: 1470, held_ms: 1680}\n", ""),
        ],
        "holder can never get to cw; a way to it is missing",
    ),
    # While a layer turns, only the two grippers beside its axis can hold the cube.
    (
        "reference/c",
        [("regrip: at-once ", "regrip: clear\n  holders: 3 ")],
        "nobody can ever turn",
    ),
]


@pytest.mark.parametrize(("name", "changes", "reason"), REFUSED_WHEN_BUILT)
def test_robots_that_get_stuck_are_refused_when_built(name, changes, reason):
    profile = parse_profile(text_of(name, *changes))
    with pytest.raises(BadProfile, match=reason):
        build_mechanism(profile)
