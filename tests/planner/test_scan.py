"""Scan tours: what the cameras are shown, in which orientation, and how soon."""

import numpy as np
import pytest

from robot.mechanism.compile.closure import FAR, path_closure
from robot.mechanism.compile.cost_model import node_of
from robot.planner import build_mechanism, plan_scan, plan_solve, scan
from robot.planner.retrace import PlanningError
from robot.settings import RobotProfile, load_profile, parse_profile, profile_path
from solver.cube.cube import Cube
from tests.rig.stickers import replay


@pytest.fixture(scope="module")
def mechanism():
    return build_mechanism(load_profile("cubotino-uno"))


def test_the_tour_is_as_short_as_it_can_be(mechanism):
    # Six faces past one camera: three flips show four faces, the other two cost three flips and a
    # spin more (or two and two); after the first way to a flip the lid only comes back so far that
    # the cube is seen, 200 of 285 us, or may be spun, 245; six looks of 200 ms.
    seen_us, free_us = (round(500_000 * part / 285) for part in (200, 245))
    lid_us = 500_000 + 9 * seen_us + 2 * free_us
    assert plan_scan(mechanism).duration_us == lid_us + 700_000 + 6 * 200_000


def test_single_faces_can_be_looked_at_again(mechanism):
    again = plan_scan(mechanism, faces="L")
    assert [look.face for step in again.steps for look in step.looks] == ["L"]
    assert plan_scan(mechanism, faces="").steps == ()


def test_what_no_camera_sees_is_named():
    text = (
        profile_path("cubotino-uno").read_text().replace("when: {lid: [open]}", "when: {lid: []}")
    )
    with pytest.raises(PlanningError, match="U, R, F, D, L, B"):
        plan_scan(build_mechanism(parse_profile(text)))


def test_of_faces_only_those_that_no_camera_sees_are_named():
    document = load_profile("six-motor").model_dump(mode="json", exclude_unset=True)
    views = document["cameras"][0]["views"]
    document["cameras"][0]["views"] = [view for view in views if view["site"] != "R"]
    with pytest.raises(PlanningError, match="sees the faces R;"):
        plan_scan(build_mechanism(RobotProfile.model_validate(document)))


def test_ways_of_no_return_end_a_tour_with_a_reason(mechanism, monkeypatch):
    """Every face can be shown from the start, but after one of them no other."""
    closure = path_closure(mechanism)
    start = node_of(mechanism.start)

    class OneWay:
        nodes = closure.nodes

        @staticmethod
        def weights_between(these, those):
            costs = closure.weights_between(these, those).copy()
            costs[(these != start)[:, None] & (these[:, None] != those)] = FAR
            return costs

    monkeypatch.setattr(scan, "path_closure", lambda _: OneWay)
    with pytest.raises(PlanningError, match="no single tour brings the faces U, R, F, D, L, B"):
        plan_scan(mechanism)


@pytest.mark.parametrize("name", ["cubotino-uno", "two-arm", "four-arm"])
def test_a_tour_may_be_left_after_any_look(name):
    mechanism = build_mechanism(load_profile(name))
    cube = Cube.random(np.random.default_rng(9))
    for step in plan_scan(mechanism).steps:
        plan = plan_solve(cube, mechanism, step.plan.end, time_limit=0.15)
        assert plan.start == step.plan.end
        assert plan.initial_orientation == step.looks[0].orientation
        assert replay(plan, cube.facelets()).is_solved
        assert plan.schedule().duration_us == plan.duration_us
        again = plan_scan(mechanism, plan.end, faces="DB")
        assert {look.face for other in again.steps for look in other.looks} >= {"D", "B"}


def test_what_is_always_hidden_is_not_waited_for():
    text = (
        profile_path("six-motor").read_text().replace("- site: U", "- site: U\n        hidden: [5]")
    )
    (step,) = plan_scan(build_mechanism(parse_profile(text))).steps
    upper = next(look for look in step.looks if look.site == "U")
    assert (
        upper.hidden == {5}
        and 4 not in upper.shown_facelets(3)
        and len(upper.shown_facelets(3)) == 8
    )


def test_more_parts_than_fit_the_tables_are_refused_with_a_reason(mechanism, monkeypatch):
    """Each of the six faces is seen whole: one part each."""
    monkeypatch.setattr(scan, "MAX_BITS", 6)
    assert plan_scan(mechanism).steps
    monkeypatch.setattr(scan, "MAX_BITS", 5)
    with pytest.raises(PlanningError, match="cubotino-uno: the grippers hide the cube in too many"):
        plan_scan(mechanism)


def test_faces_behind_jaws_are_completed_by_a_second_look():
    # So many angles that the grippers are not let go for looking: edges hide behind jaws.
    text = (
        profile_path("four-arm")
        .read_text()
        .replace("jaw: right-jaw", "symmetry: 1, jaw: right-jaw")
    )
    text = text.replace("jaw: left-jaw", "symmetry: 1, jaw: left-jaw")
    mechanism = build_mechanism(parse_profile(text.replace("covers: middle", "covers: row")))
    shown = set()
    for step in plan_scan(mechanism).steps:
        for look in step.looks:
            shown |= look.shown_facelets(3)
    assert shown == set(range(54))
