"""Arms and jaws that open no further than they must while the robot looks at the cube."""

from itertools import pairwise

import pytest

from robot.mechanism.clearance import (
    clear_place,
    look_place,
    with_clear_place,
    with_look_place,
)
from robot.planner import build_mechanism, plan_scan
from robot.settings import BadProfile, load_profile, parse_profile, profile_path

KEYS = {
    "cubotino-uno": ["clear_part: 0.86", "look_part: 0.702"],
    "mindcuber": ["clear_part: 0.86", "- {between: [rest, pull], ms: 800}"],
    "two-arm": [", clear_part: 0.75", "square_degrees: 5"],
    "four-arm": [", clear_part: 0.75", "square_degrees: 4"],
}


def without(name, keys):
    """The shipped profile that does not say these things."""
    text = profile_path(name).read_text()
    for key in keys:
        assert key in text
        text = text.replace(key, "")
    return build_mechanism(parse_profile(text))


@pytest.mark.parametrize(("name", "least_part"), [("cubotino-uno", 0.15), ("mindcuber", 0.2)])
def test_flippers_show_the_faces_sooner(name, least_part):
    shown = plan_scan(build_mechanism(load_profile(name)))
    before = plan_scan(without(name, KEYS[name]))
    motion_us = [sum(step.plan.duration_us for step in tour.steps) for tour in (shown, before)]
    assert motion_us[0] < (1 - least_part) * motion_us[1]


def test_a_lid_goes_back_only_as_far_as_it_must():
    """Of the whole way, 500 ms, 0.702 where the robot only looks, and 0.86 before the table turns.

    So the table turns but once, and the lid makes a way more.
    """
    tour = plan_scan(build_mechanism(load_profile("cubotino-uno")))
    motions = [m for step in tour.steps for _, m in step.plan.motions if m.actuator == "lid"]
    looking = [("flip", "on the way to open"), ("on the way to open", "flip")]
    assert [(m.start, m.end) for m in motions] == [
        ("open", "flip"),
        *looking * 2,
        *[("flip", "nearly open"), ("nearly open", "flip")],
        *looking * 2,
        looking[0],
    ]
    shares = {"on the way to open": (1250 - 1050) / 285, "nearly open": (1295 - 1050) / 285}
    for motion in motions[1:]:
        (share,) = (shares[end] for end in (motion.start, motion.end) if end in shares)
        assert motion.duration_us == round(500_000 * share)


def test_nothing_turns_the_cube_where_the_robot_only_looks():
    looking = build_mechanism(load_profile("cubotino-uno")).looking
    places = [looking.configurations[step.start].positions["lid"] for step in looking.transitions]
    only = [
        step
        for step, place in zip(looking.transitions, places, strict=True)
        if place == "on the way to open"
    ]
    ends = {looking.configurations[step.end].positions["lid"] for step in only}
    assert ends == {"flip", "open"}
    assert {motion.actuator for step in only for motion in step.motions} == {"lid"}


@pytest.mark.parametrize(
    ("part", "text"), [("0.86", "less than clear_part, 0.86"), ("0.4", "look_part: .* 0.5")]
)
def test_a_place_for_looking_comes_before_that_for_turning(part, text):
    profile = profile_path("cubotino-uno").read_text()
    with pytest.raises(BadProfile, match=text):
        parse_profile(profile.replace("look_part: 0.702", f"look_part: {part}"))


@pytest.mark.parametrize("name", KEYS)
def test_turns_are_made_as_before(name):
    mechanism, before = build_mechanism(load_profile(name)), without(name, KEYS[name][:1])
    assert mechanism.configurations == before.configurations
    assert mechanism.transitions == before.transitions
    looking = mechanism.looking
    assert looking.configurations[: len(before.configurations)] == before.configurations


@pytest.mark.parametrize("name", ["two-arm", "four-arm"])
def test_jaws_still_move_while_the_cube_is_nearly_square(name):
    """And never while it is further off than that."""
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
    assert overlaps == ({True, False} if name == "two-arm" else {False})
    slower = plan_scan(without(name, KEYS[name][1:]))
    assert plan_scan(mechanism).duration_us < slower.duration_us


def test_ways_are_divided_where_the_new_place_is():
    profile = with_clear_place(load_profile("mindcuber"), "arm", "pull", "rest", 0.86)
    arm = profile.actuators["arm"]
    name = clear_place("rest")
    assert arm.positions_us[name] == 1140
    ways = [arm.transition_us("pull", name), arm.transition_us(name, "rest")]
    assert ways == [(688_000, 0), (pytest.approx(98_000), 50_000)]
    assert arm.transition_us("hold", name) == (350_000 * 360 // 500, 0)
    assert profile.cameras[0].views[0].when["arm"] == ("rest", name)
    assert all(one != two for row in arm.travel for one, two in pairwise(row.between))


def test_a_place_to_look_from_is_reached_from_one_side_alone():
    """From the other the cube is seen already."""
    profile = with_look_place(load_profile("mindcuber"), "arm", "pull", "rest", 0.7)
    arm = profile.actuators["arm"]
    name = look_place("rest")
    assert None not in (arm.transition_us("pull", name), arm.transition_us(name, "pull"))
    assert arm.transition_us(name, "rest") is not None
    assert arm.transition_us("rest", name) is None


def test_only_servos_stop_on_their_way():
    text = profile_path("mindcuber").read_text()
    with pytest.raises(BadProfile, match=r"clear_part: .* 0\.5, not 0\.3"):
        parse_profile(text.replace("clear_part: 0.86", "clear_part: 0.3"))
    text = profile_path("reference/a").read_text()
    with pytest.raises(BadProfile, match=r"clear_part: only a servo can stop on its way"):
        parse_profile(text.replace("actuator: lid", "actuator: lid\n      clear_part: 0.8"))
