"""Every robot's graph: its figures, in which changes elsewhere show, and motions that fit together.

``figures.json`` has a line for each robot; ``python -m tests.mechanism.test_figures`` writes it.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from robot.mechanism.graph import Mechanism, Transition
from robot.mechanism.registry import build_mechanism
from robot.settings import list_profiles, load_profile
from robot.settings.other_cubes import for_cube
from solver.files import JsonObject

FIGURES = Path(__file__).with_name("figures.json")
ALIKE = {"cubotino-micro", "cubotino-pocket", "cubotino-uno", "rubpyx", "six-motor-cnc"}
ALIKE |= {"reference/soltvvo"}
"""Built as others are, with the same graph."""
EVERY = (*map(str, list_profiles()), *map(str, list_profiles(reference=True)))
NAMES = tuple(name for name in EVERY if name not in ALIKE)


@cache
def built(name: str, size: int | None = None) -> Mechanism:
    """A robot's graph, which takes long to build: once for all tests of it."""
    profile = load_profile(name)
    return build_mechanism(profile if size is None else for_cube(profile, size))


def figures(mechanism: Mechanism) -> JsonObject:
    """Sums over a graph; all times are in microseconds."""
    steps = mechanism.transitions
    motions = [motion for step in steps for motion in step.motions]
    operations = [operation for step in steps for operation in step.operations]
    return {
        "configurations": len(mechanism.configurations),
        "residual_motion_us": sum(one.residual_motion_us for one in mechanism.configurations),
        "covered": dict(
            sorted(
                Counter(
                    f"{site} {' '.join(map(str, sorted(stickers)))}"
                    for one in mechanism.configurations
                    for site, stickers in one.covered.items()
                ).items()
            )
        ),
        "transitions": len(steps),
        "between": sum((1 + step.start) * (1 + step.end) ** 2 for step in steps),
        "duration_us": sum(step.duration_us for step in steps),
        "motions": len(motions),
        "motions_us": sum(motion.duration_us for motion in motions),
        "offsets_us": sum(motion.offset_us for motion in motions),
        "held": sum(motion.held for motion in motions),
        "ways": dict(
            sorted(
                Counter(
                    f"{one.actuator} {one.start}..{one.end} {one.quarters:+d}" for one in motions
                ).items()
            )
        ),
        "turns": dict(
            sorted(
                Counter(
                    f"{site}{quarters} of {step.layers}"
                    for step in steps
                    for site, quarters in step.turns
                ).items()
            )
        ),
        "rotations": dict(
            sorted(Counter(f"{s.rotation[0]}{s.rotation[1]}" for s in steps if s.rotation).items())
        ),
        "operations": dict(
            sorted(
                Counter(
                    " ".join(
                        f"{key}={value}"
                        for key, value in one.as_dict().items()
                        if key not in {"start_us", "duration_us"}
                    )
                    for one in operations
                ).items()
            )
        ),
        "operations_us": sum(one.duration_us for one in operations),
        "starts_us": sum(one.start_us for one in operations),
        "start": [mechanism.start.configuration, mechanism.start.orientation.name],
        "positions": dict(mechanism.configurations[mechanism.start.configuration].positions),
    }


def figures_of(name: str) -> JsonObject:
    """Of a robot's graph, and of the wider one in which it looks at the cube."""
    mechanism = built(name)
    wider = None if mechanism.wider is None else figures(mechanism.wider)
    return {"own": figures(mechanism), "looking": wider}


@pytest.mark.parametrize("name", NAMES)
def test_a_robot_s_graph_has_the_figures_that_it_had(name: str) -> None:
    assert figures_of(name) == json.loads(FIGURES.read_text())[name]


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


@pytest.mark.parametrize(("name", "size"), [*((name, None) for name in EVERY), ("crane", 6)])
def test_motions_begin_where_those_before_have_ended(name: str, size: int | None) -> None:
    mechanism = built(name, size).looking
    assert mechanism.transitions
    for step in mechanism.transitions:
        assert_chained(mechanism, step)


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(figures_of(name))}" for name in NAMES]
    FIGURES.write_text("{\n" + ",\n".join(lines) + "\n}\n")
