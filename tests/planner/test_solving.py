"""Scan tours and plans that solve.

Stickers in space replay them, and a robot that sees only pulses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.link.plans import Shape, shape_of
from robot.mechanism.compile.cost_model import cost_model
from robot.mechanism.frames import ORIENTATIONS
from robot.mechanism.graph import Mechanism, State, Transition
from robot.planner import build_mechanism, plan_composites, plan_scan, plan_solve, scan, split_at
from robot.planner.approach import fastest_path_to, plan_approach
from robot.planner.plan import schedule_of
from robot.planner.retrace import PlanningError
from robot.settings import RobotProfile, list_profiles, load_profile, parse_profile, profile_path
from robot.twin.cube import CubeBody, scrambled
from solver.cost import composite_index
from solver.cube.cube import Cube
from solver.cube.orientation import Orientation
from solver.cube.pocket import PocketCube
from tests.rig.pins import PinDriver
from tests.rig.profiles import changed
from tests.rig.stickers import replay
from tests.rig.timed_turns import cost_of


@pytest.fixture(scope="module")
def mechanism():
    return build_mechanism(load_profile("cubotino-uno"))


def test_the_tour_is_as_short_as_it_can_be(mechanism):
    # Six faces pass one camera. Three flips show four faces; the other two cost three flips and a
    # spin more (or two and two). After the first flip the lid returns only until the camera sees
    # the cube, 200 of 285 us, or until it may spin, 245. Six looks take 200 ms each.
    seen_us, free_us = (round(500_000 * part / 285) for part in (200, 245))
    lid_us = 500_000 + 9 * seen_us + 2 * free_us
    assert plan_scan(mechanism).duration_us == lid_us + 700_000 + 6 * 200_000


@pytest.mark.parametrize("name", ["cubotino-uno", "two-arm"])
def test_a_tour_may_be_left_after_any_look(name):
    mechanism = build_mechanism(load_profile(name))
    cube = Cube.random(np.random.default_rng(9))
    for step in plan_scan(mechanism).steps:
        plan = plan_solve(cube, mechanism, step.plan.end, time_limit=0.03)
        assert plan.start == step.plan.end
        assert plan.initial_orientation == step.looks[0].orientation
        assert replay(plan, cube.facelets()).is_solved
        assert plan.schedule().duration_us == plan.duration_us
        again = plan_scan(mechanism, plan.end, faces="DB")
        assert {look.face for other in again.steps for look in other.looks} >= {"D", "B"}


def test_more_parts_than_fit_the_tables_are_refused_with_a_reason(mechanism, monkeypatch):
    """Show each of the six faces whole: one part each."""
    monkeypatch.setattr(scan, "MAX_BITS", 6)
    assert plan_scan(mechanism).steps
    monkeypatch.setattr(scan, "MAX_BITS", 5)
    with pytest.raises(PlanningError, match="cubotino-uno: the grippers hide the cube in too many"):
        plan_scan(mechanism)


@pytest.mark.parametrize(
    ("name", "degrees", "both_ends"), [("two-arm", 5, True), ("four-arm", 4, False)]
)
def test_jaws_still_move_while_the_cube_is_nearly_square(name, degrees, both_ends):
    """Check also that they never move while it is further off."""
    mechanism = build_mechanism(load_profile(name))
    jaws = {one.jaw for one in mechanism.profile.mechanism.grippers.values()}
    overlaps = set()
    for step in plan_scan(mechanism).steps:
        for transition in step.plan.transitions:
            if transition.rotation is None:
                continue
            held = [m for m in transition.motions if m.held]
            begin, end = held[0].offset_us, held[0].end_us
            middle = (0.25 * end + 0.75 * begin, 0.75 * end + 0.25 * begin)
            for motion in (m for m in transition.motions if m.actuator in jaws):
                assert motion.end_us < middle[0] or motion.offset_us > middle[1]
                if begin < motion.end_us and motion.offset_us < end:
                    overlaps.add(motion.end == "closed")
    assert overlaps == ({True, False} if both_ends else {False})
    key = f"square_degrees: {degrees}"
    text = profile_path(name).read_text()
    assert key in text
    slower = plan_scan(build_mechanism(parse_profile(text.replace(key, ""))))
    assert plan_scan(mechanism).duration_us < slower.duration_us


def test_a_plan_says_what_is_proven_and_the_search_hears_of_better_ones(mechanism):
    heard = []
    cube = Cube.random(np.random.default_rng(1))
    plan = plan_solve(cube, mechanism, time_limit=0.05, on_better=heard.append)
    assert heard == sorted(heard, reverse=True)
    assert heard[-1] == plan.duration_us
    assert 0 < plan.lower_bound_us < plan.duration_us and not plan.optimal
    assert 0 < plan.cpu_s <= 0.055
    looking = plan_solve(
        Cube.solved().apply("R"), mechanism, plan_scan(mechanism).end, time_limit=0.05
    )
    assert looking.lower_bound_us is not None
    assert looking.lower_bound_us <= looking.duration_us
    pocket = build_mechanism(load_profile("soltvvo"))
    proven = plan_solve(PocketCube.solved().apply("R U F2 R'"), pocket)
    assert proven.optimal and proven.lower_bound_us == proven.duration_us
    nothing = plan_solve(Cube.solved(), mechanism)
    assert nothing.operations == () and nothing.duration_us == 0 and nothing.optimal
    assert nothing.end == mechanism.start and nothing.schedule().turns == ()


def test_a_solve_after_a_look_does_not_rest_before_it_begins(mechanism):
    """Flip at once with the lid nearly open: it need neither open first nor return from there."""
    scan = plan_scan(mechanism)
    looked = scan.end
    rest = plan_approach(mechanism, looked)
    assert rest.duration_us > 0
    flipped = 0
    for turn in ("F", "B", "R", "L", "U", "D"):
        cube = Cube.solved().apply(turn)
        plan = plan_solve(cube, mechanism, looked, time_limit=0.05)
        slow = plan_solve(cube, mechanism, rest.end, time_limit=0.05)
        flips = slow.operations[0].fields.get("to") == "flip"
        gained = rest.duration_us + slow.duration_us - plan.duration_us
        assert gained > rest.duration_us if flips else gained >= 0
        flipped += flips
        assert plan.start == looked and plan.end == slow.end
        pins = PinDriver(mechanism.profile, CubeBody(cube.facelets()))
        for part in (*(step.plan for step in scan.steps), plan):
            pins.play(part.schedule())
        assert pins.robot.solved and pins.robot.violations == []
    assert flipped > 0


# One turn from rest by hand: CUBOTino's times in milliseconds.
BY_HAND = {
    (0, 0, 1): 500 + 1000,
    (0, 0, 2): 700 + 500 + 1880,
    (0, 1, 0): 500 + 500 + 500 + 600 + 200 + 1000,
    (2, 1, 0): 500 + 500 + 500 + 500 + 500 + 600 + 200 + 1000,
}


@pytest.mark.parametrize(("turn", "milliseconds"), BY_HAND.items())
def test_single_turns_take_what_a_person_reckons(mechanism, turn, milliseconds):
    plan = plan_composites(mechanism, mechanism.start, [composite_index(*turn)])
    assert plan.duration_us == milliseconds * 1000


@cache
def built(name: str, size: int) -> Mechanism:
    return build_mechanism(changed(name, {"cube.size": size}))


@settings(max_examples=60)
@given(
    robot=st.sampled_from(
        [("cubotino-uno", 3), ("cubotino-uno", 2), ("soltvvo", 2), ("two-arm-2x2x2", 2)]
    ),
    turns=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 15)), min_size=1, max_size=12),
)
def test_any_turns_are_performed_as_asked(robot, turns):
    """Name the turns of a 2x2x2 by three faces."""
    mechanism, size = built(*robot), robot[1]
    composites = [
        15 * axis + turn - 1 if size == 3 else composite_index(axis, 1 + turn % 3, 0)
        for axis, turn in turns
    ]
    plan = plan_composites(mechanism, mechanism.start, composites)
    solved = Cube.solved() if size == 3 else PocketCube.solved()
    turned = solved.apply(" ".join(plan.moves))
    assert replay(plan, turned.inverse.facelets(), size).is_solved


def test_six_turns_that_phase_2_has_no_part_in_are_found():
    """Find the proven optimum of 144 ms. A phase 2 assumed long too early gave 204 ms."""
    facelets = "URDFUDDDRULBURURDFFFBFFBBBULLFDDBLLLLLRRLRFRDRUBFBBDUU"
    mechanism = build_mechanism(load_profile("reference/d"))
    plan = plan_solve(Cube.from_facelets(facelets), mechanism, time_limit=1.0)
    assert plan.duration_us == 144_000
    assert plan.moves == ("B'", "R'", "D2", "F2", "L", "B'")


ROOT = Path(__file__).parents[2]
EVERY_CONFIGURATION, EVERY_ORIENTATION = 2, 5
"""Strides through the configurations and orientations in which a turn may begin."""
UNO = "atmega328p"
SMALL = [
    pytest.param(name, marks=[] if name == "two-arm" else [pytest.mark.long])
    for name in list_profiles()
    if load_profile(name).firmware.target == UNO
]


def uno_units() -> int:
    """Return the firmware's room for profiles, in segments."""
    board = (ROOT / "firmware/avr/board.h").read_text()
    found = re.search(r"BOARD_ATMEGA328P\n(?:.*\n)*?#define BOARD_PROFILE_UNITS (\d+)", board)
    return int(found[1])


def shapes_of(mechanism: Mechanism, steps: Iterable[Transition]) -> set[Shape]:
    """Return the shapes that have to be uploaded for these steps."""
    held = Orientation(0)
    schedules = (schedule_of(mechanism, State(step.start, held), [(0, step)]) for step in steps)
    return {shape_of(profile) for schedule in schedules for profile in schedule.profiles}


@pytest.mark.parametrize("name", SMALL)
def test_a_solve_after_any_look_fits_an_uno(name):
    """Check that any path from a look needs at most the extra motions of the path to rest."""
    mechanism = build_mechanism(load_profile(name))
    room = uno_units()
    turning = shapes_of(mechanism, mechanism.transitions)
    assert sum(shape.units for shape in turning) <= room
    ends = [
        State(number, Orientation(held))
        for number in range(0, len(mechanism.configurations), EVERY_CONFIGURATION)
        for held in range(0, ORIENTATIONS, EVERY_ORIENTATION)
    ]
    for number in range(len(mechanism.configurations), len(mechanism.looking.configurations)):
        approach = plan_approach(mechanism, State(number, Orientation(0)))
        to_rest = shapes_of(mechanism.looking, approach.transitions) - turning
        ways = [fastest_path_to(mechanism, approach, end) for end in ends]
        for way in {tuple(map(id, way)): way for way in (approach.transitions, *ways)}.values():
            more = shapes_of(mechanism.looking, way) - turning
            assert sum(shape.units for shape in turning | more) <= room
            assert len(more) <= len(to_rest)


# ---- motors that start before those of the axis before have quite finished ---------------------


def overlapping(degrees: float, **more: Any) -> Mechanism:
    changes = {"mechanism.overlap_degrees": degrees} | more
    return build_mechanism(changed("six-motor", changes))


def test_overlap_saves_the_angle_that_is_left_and_no_more():
    turns = [composite_index(0, 1, 0), composite_index(1, 0, 1), composite_index(2, 2, 3)]
    plain, early = (
        plan_composites(mechanism, mechanism.start, turns) for mechanism in map(overlapping, (0, 9))
    )
    saved = plain.duration_us - early.duration_us
    # Decelerating at 600000 steps/s^2, the last 9 degrees (20 steps) take sqrt(2 * 20 / 600000) s,
    # and 2 ms to settle. The plan crosses two boundaries.
    assert saved == pytest.approx(2 * (np.sqrt(2 * 20 / 600_000) * 1e6 + 2_000), rel=0.08)
    assert early.schedule().duration_us == early.duration_us
    assert max(operation.end_us for operation in early.operations) == early.duration_us


def test_a_plan_ends_when_its_slowest_motor_rests():
    """Let the third axis wait for the first; the search counts the same time as the plan."""
    slow = {"actuators.up.settle_ms": 100, "actuators.left.max_acceleration_steps_per_s2": 300_000}
    mechanism = overlapping(20, **slow)
    up, right, left, front = (
        composite_index(*turn) for turn in ((0, 1, 0), (1, 1, 0), (1, 0, 1), (2, 1, 0))
    )

    def duration_us(*turns):
        plan = plan_composites(mechanism, mechanism.start, turns)
        assert cost_of(cost_model(mechanism, mechanism.start), turns) == plan.duration_us
        return plan.duration_us

    # U settles for longer than R takes.
    slow_us, quick_us = duration_us(up), duration_us(right)
    assert duration_us(up, right) == slow_us
    assert duration_us(up, right, front) == slow_us + quick_us
    assert quick_us < duration_us(left) < slow_us


SIX_MOTORS = load_profile("six-motor").actuators
SLOW = {"actuators.up.max_acceleration_steps_per_s2": 150_000}
OVERSHOOT = {f"actuators.{name}.overshoot_steps": 30 for name in SIX_MOTORS}


@pytest.mark.parametrize(
    ("degrees", "more", "count"),
    [
        # R would otherwise be half way round while U still turns through its last degrees.
        (40, SLOW | {"simulation.corner_cutting_degrees": 41}, 2),
        (10, OVERSHOOT, 6),
        (10, OVERSHOOT | {f"actuators.{name}.backlash_steps": 8 for name in SIX_MOTORS}, 6),
    ],
    ids=["a slow motor", "overshoot", "overshoot and play"],
)
def test_the_next_axis_waits_for_a_slow_motor_and_until_a_layer_is_back(degrees, more, count):
    mechanism = overlapping(degrees, **more)
    turns = [composite_index(number % 3, 1, 3 if count > 2 else 0) for number in range(count)]
    pins = PinDriver(mechanism.profile, scrambled(3, 2))
    pins.play(plan_composites(mechanism, mechanism.start, turns).schedule())
    assert pins.robot.violations == []


def test_motors_that_all_differ_end_in_few_ways():
    """Use drivers with steps of three sizes and different play: alone, in 2425 ways."""
    document = load_profile("six-motor-record").model_dump(mode="json")
    microsteps = (1, 1, 2, 2, 4, 4)
    for motor, fine, play in zip(
        document["actuators"].values(), microsteps, (1, 1, 1, 2, 4, 4), strict=True
    ):
        motor |= {"steps_per_turn": 400 * fine, "backlash_steps": play}
        motor |= {"max_speed_steps_per_s": 21_600 * fine, "start_speed_steps_per_s": 200 * fine}
        motor["max_acceleration_steps_per_s2"] = 4_940_000 * fine
    profile = RobotProfile.model_validate(document)
    mechanism = build_mechanism(profile)
    assert len(mechanism.configurations) < 50
    body = scrambled(3, 2)
    plan = plan_solve(Cube.from_facelets(body.facelets()), mechanism, time_limit=0.1)
    pins = PinDriver(profile, body)
    pins.play(plan.schedule())
    assert pins.robot.solved and pins.robot.violations == []


def test_a_plan_is_never_cut_while_something_moves():
    mechanism = overlapping(9)
    turns = [composite_index(i % 3, 1, 0) for i in range(6)]
    assert split_at(plan_composites(mechanism, mechanism.start, turns), 1) is None
