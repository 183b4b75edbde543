"""Calibration that measures: servos placed and timed, colours, operations, a camera's view.

A series of pictures shows the time of a servo's motion, as do films of the cube that it turns.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.api.calibrations import Calibration
from robot.calibration.auto.film import FILMING, FilmedTravel, FilmRequest, find_travel, travel_us
from robot.calibration.step import Bench, Row
from robot.calibration.steps import camera
from robot.calibration.steps.camera import CameraAdvice, QuadEditor
from robot.calibration.steps.colours import ColoursRequest, measured_colours
from robot.calibration.steps.positions import (
    MOVING,
    MoveRequest,
    Placing,
    jaw_position,
    named_position,
    position_keys,
)
from robot.calibration.steps.timing import measured_timing, single_operation_plans
from robot.calibration.steps.travel import (
    FINE_MS,
    STILL_PICTURES,
    STROBES,
    Grey,
    Travel,
    TravelRequest,
    TravelTime,
    measured_travel,
    motion_in,
    why_unseen,
)
from robot.calibration.values import BadCalibration, apply
from robot.cli.measuring import conduct
from robot.machine.confirmed_range import ConfirmedRange, NotConfirmed, direction_key
from robot.machine.scanner import stored_colours
from robot.motion.schedule import Schedule
from robot.planner import build_mechanism
from robot.planner.plan import moves_made
from robot.records.documents import ApiRequest
from robot.settings import load_profile
from robot.text.faults import ScanError
from robot.twin.cube import scrambled
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio
from solver.cube.cube import Cube
from solver.errors import CubistError, InvalidRequest
from tests.calibration.conftest import show_cube
from tests.rig.fake_robot import LIMIT_S, FakeMachine
from tests.rig.guide import FakeCalibrationClient
from vision.frame import Frame
from vision.measure.colour_space import USUAL

CUBOTINO = load_profile("cubotino")
SOLVED, TURNED = (Cube.solved().apply(moves).facelets() for moves in ("", "R U F2 L' D B"))
MISREAD = SOLVED.replace("F" * 9, "UUUDDDFFF").replace("B" * 9, "UUUDDDBBB")
NOISE = 0.8
OPEN = "actuators.lid.positions_us.open"


@pytest.mark.parametrize("facelets", [SOLVED, TURNED])
def test_colours_of_a_known_cube_are_those_it_is_read_by(fake, facelets):
    show_cube(fake, facelets)
    bench = Bench(fake.machine(), CUBOTINO)
    values = measured_colours(bench, ColoursRequest(facelets=facelets)).values
    calibrated = apply(CUBOTINO, Calibration(robot="cubotino", values=values))
    stored = stored_colours(calibrated)
    assert stored is not None and stored_colours(CUBOTINO) is None
    ratio = stored.linear_rgb / stored.linear_rgb.max(axis=1, keepdims=True)
    assert ratio == pytest.approx(USUAL / USUAL.max(axis=1, keepdims=True), abs=1e-3)
    del values["colours"]["linear_rgb"]["U"]
    with pytest.raises(BadCalibration, match="colours"):
        apply(CUBOTINO, Calibration(robot="cubotino", values=values))


@pytest.mark.parametrize(
    ("seen", "named", "dark", "error", "why"),
    [
        (TURNED, SOLVED, "", ScanError, "not the cube that was named"),
        (TURNED, SOLVED, "FB", ScanError, "not the cube that was named"),
        ("", SOLVED, "", CubistError, "no sticker of colour"),
        (TURNED, None, "", ScanError, "with certainty"),
        (SOLVED, SOLVED[1:], "FB", CubistError, "53 letters do not name"),
        # A flaw is the reason only where the other pictures show the named cube.
        (MISREAD, SOLVED, "FB", CubistError, "picture F, B: the picture is too dark"),
    ],
)
def test_a_cube_that_is_not_known_teaches_no_colours(fake, seen, named, dark, error, why):
    show_cube(fake, seen)
    fake.scanner.readings = [("scrambled", "F")]
    black, take = Frame(np.zeros((6, 8, 3), np.uint8), "top", 0), fake.scanner.take
    fake.scanner.take = lambda looks, **_: [
        replace(image, frame=black) if image.face in dark else image for image in take(looks)
    ]
    with pytest.raises(error, match=why) as raised:
        measured_colours(Bench(fake.machine(), CUBOTINO), ColoursRequest(facelets=named))
    assert error is CubistError or "put a solved cube in" in str(raised.value.remedy)


def test_a_slow_servo_gets_longer_times_and_so_costlier_plans(fake):
    def perform(schedule: Schedule, _: Callable[[float], None]) -> int:
        slow = {profile.actuator for profile in schedule.profiles} == {"lid"}
        return round(schedule.duration_us * (1.2 if slow else 1.0))

    fake.motion.perform = perform
    found = measured_timing(Bench(fake.machine(), CUBOTINO), ApiRequest())
    assert fake.motion.done[0] == "home"
    assert {row.operation for row in found.operations} >= {"turn D", "lid close"}
    assert list(found.values) == ["actuators.lid.travel"]
    calibrated = apply(CUBOTINO, Calibration(robot="cubotino", values=found.values))
    assert [row.ms for row in calibrated.actuators["lid"].travel] == [360, 600, 720]
    robots = (CUBOTINO, calibrated)
    before, after = (sum(t.duration_us for t in build_mechanism(r).transitions) for r in robots)
    assert after > before


@pytest.mark.parametrize("name", ["cubotino", "two-arm"])
def test_timing_turns_every_layer_there_and_back(name):
    plans = list(single_operation_plans(build_mechanism(load_profile(name))))
    moves = [
        move for plan in plans for move in moves_made(plan.mechanism, plan.start, plan.transitions)
    ]
    assert {move[0] for move in moves} == set("URFDLB")
    assert Cube.from_moves(" ".join(moves)).is_solved
    assert all(plan.end == later.start for plan, later in itertools.pairwise(plans))


@pytest.mark.parametrize("name", ["four-arm", "six-motor"])
def test_a_robot_as_drawn_needs_no_advice(name):
    profile = load_profile(name)
    studio = Studio(SimulatedRobot(profile, scrambled(3, 1)))
    for settings in profile.cameras:
        image = studio.shoot(settings.name).image
        for view in settings.views:
            assert QuadEditor(settings, view, 3).advice(image) == [camera.ALL_IS_WELL]


def test_a_camera_s_view_is_taken_once_with_advice_for_each_face():
    client = FakeCalibrationClient("six-motor")
    second = client.session.profile.cameras[1]
    view = CameraAdvice(client.session, second.name)
    rows = [row for row in view.measure() if isinstance(row, Row)]
    faces = dict.fromkeys(row.cells[0] for row in rows)
    assert list(faces) == [f"face {one.site}:" for one in second.views]
    assert view.document["views"].keys() == {one.site for one in second.views}
    assert view.draw().shape == (480, 640, 3)
    list(view.measure())
    assert sum(path.startswith("/picture") for path, _ in client.asked) == 1
    with pytest.raises(InvalidRequest, match="place R: camera top sees U"):
        list(CameraAdvice(FakeCalibrationClient().session, "top", "R").measure())


def bar(at: float, rng: np.random.Generator) -> Grey:
    """Return a picture, dark and noisy, of a bright bar."""
    bright = 100 * np.clip(4 - np.abs(np.arange(80) - at), 0, 1)
    return (bright + rng.normal(0, NOISE, (60, 80))).astype(np.float32)


def pictures(positions: list[float]) -> list[tuple[int, Grey]]:
    """Return pictures of a bar at these positions, one every 10 ms."""
    rng = np.random.default_rng(1)
    return [(number * 10_000, bar(at, rng)) for number, at in enumerate(positions)]


@pytest.mark.parametrize("halfway", [0, 1], ids=["steady", "one picture like the one before"])
def test_a_motion_is_found_between_its_pictures(halfway):
    steps = [*range(1, 16), *[15] * halfway, *range(16, 31 - halfway)]
    on_the_way = [20.0 + step for step in steps]
    seen = motion_in(pictures([20.0] * 10 + on_the_way + [on_the_way[-1]] * 10))
    assert seen.ended_us - seen.began_us == pytest.approx(300_000, abs=seen.within_us)
    assert seen.within_us == 10_000


@pytest.mark.parametrize(
    ("positions", "why"),
    [
        ([20.0] * 40, "nothing in the picture moves"),
        ([20.0] * 10 + [20.0 + step for step in range(30)], "still changes after 200 ms"),
        ([20.0] * 10 + [60.0] + [20.0] * 20, "only 2 pictures during the motion: the camera's 100"),
        (
            [20.0] * 10 + [21.0, 22.0, 23.0] + [23.0] * 9 + [24.0, 25.0, 26.0] + [26.0] * 10,
            "something hides the moving part",
        ),
    ],
    ids=["still", "no end", "a glimpse", "out of sight on the way"],
)
def test_what_is_not_a_motion_from_beginning_to_end(positions, why):
    assert motion_in(pictures(positions)) is None
    assert why in why_unseen(pictures(positions), planned_us=100_000)


@pytest.mark.parametrize(
    ("rate", "took_ms", "motions"),
    [(50, 300, 1), *itertools.product((12, 15, 20), (60, 110, 180), (1 + STROBES,))],
)
def test_a_slow_camera_times_a_servo_by_several_motions_a_quick_one_by_one(
    fake, rate, took_ms, motions
):
    """Move a bar from 20 to 50. A picture after the command waits until that has been sent."""
    holder = CUBOTINO.actuators["holder"].positions_us
    start, end, period_us = holder["home"], holder["cw"], round(1e6 / rate)
    fake.motion.places["holder"] = start
    begun, over, rng = threading.Event(), threading.Event(), np.random.default_rng(1)
    clock = stills = ends = 0
    began, watching = -1, False

    def glance() -> tuple[int, Grey]:
        nonlocal clock, stills
        if watching and stills == STILL_PICTURES:
            assert begun.wait(LIMIT_S)
        stills += 1
        clock += period_us
        if clock >= ends:
            over.set()
        part = (fake.motion.places["holder"] - start) / (end - start)
        if began >= 0:
            part = min(1.0, max(0.0, (clock - began) / (1000 * took_ms)))
        return clock, bar(20 + 30 * part, rng)

    def settle() -> None:
        nonlocal stills, watching
        stills, watching = 0, True

    def perform(schedule: Schedule, _: Callable[[float], None]) -> int:
        nonlocal began, ends, watching
        fake.motion.done.append("perform")
        began = clock + schedule.turns[0].start_us + 4000
        ends = clock + schedule.duration_us
        over.clear()
        begun.set()
        assert over.wait(LIMIT_S)
        begun.clear()
        fake.motion.places["holder"], began, watching = end, -1, False
        return schedule.duration_us

    fake.scanner.glance, fake.scanner.settle, fake.motion.perform = glance, settle, perform
    request = TravelRequest(actuator="holder", between=["home", "cw"])
    found = measured_travel(Bench(fake.machine(), CUBOTINO), request)
    assert found.measured_us is not None, found.why
    assert found.measured_us == pytest.approx(1000 * took_ms, abs=found.within_us)
    assert found.within_us < 0.12 * 1000 * took_ms and found.motions == motions
    done = fake.motion.done
    assert (done[:3], done[-1]) == (["home", "jog holder 1500", "perform"], "home")
    assert done.count("perform") == motions
    rows = found.values["actuators.holder.travel"]
    (row,) = (row for row in rows if set(row["between"]) == {"home", "cw"})
    assert row["ms"] == pytest.approx((found.measured_us + found.within_us) / 1e3, abs=0.1)


@pytest.mark.parametrize(
    ("seen", "ms", "text"),
    [
        ({"measured_us": 300_000, "within_us": 10_000}, 310, "took 300 ms"),
        ({"why": "it is out of view"}, 700, "it is out of view"),  # as in the profile
    ],
)
def test_a_travel_time_is_adjusted_from_what_the_camera_saw(seen, ms, text):
    session = Mock(calibrated=CUBOTINO)
    way = ("home", "cw")
    session.perform.return_value = Travel(
        actuator="holder", between=way, planned_us=500_000, **seen
    )
    travel = TravelTime(session, "holder", *way)
    list(travel.measure())
    assert (travel.value, travel.is_found) == (ms, "measured_us" in seen)
    assert text in travel.text
    travel.adjust(2)
    assert travel.value == ms + 2 * FINE_MS


@pytest.mark.parametrize(
    ("actuator", "between", "aside", "why"),
    [
        ("wing", ["home", "cw"], {}, "'wing' is not a servo; the profile has"),
        ("holder", ["home", "up"], {}, "holder has no position 'up'; it has"),
        ("holder", ["home", "cw"], {"lid": "up"}, "lid has no position 'up'; it has"),
        ("holder", ["home", "cw"], {"arm": "open"}, "'arm' is not a servo; the profile has"),
    ],
)
def test_what_cannot_be_watched_is_said_before_anything_moves(fake, actuator, between, aside, why):
    request = FilmRequest(actuator=actuator, between=between, aside=aside)
    with pytest.raises(InvalidRequest, match=why):
        FILMING.run(Bench(fake.machine(), CUBOTINO), request)
    assert fake.motion.done == []


def film(took_s: float, way: float, period_s: float, phase: float) -> list[tuple[int, float]]:
    """Return the angles of a motion that begins 0.2 s after the first picture."""
    times = np.arange(phase * period_s, 0.2 + took_s + 0.4, period_s)
    return [(round(t * 1e6), way * min(1.0, max(0.0, (t - 0.2) / took_s))) for t in times]


@given(
    took_s=st.floats(0.15, 2.0),
    way=st.sampled_from([90.0, -90.0, 180.0]),
    period_s=st.floats(0.02, 0.05),
    phase=st.floats(0, 1),
)
def test_a_filmed_motion_takes_as_long_as_it_takes(took_s, way, period_s, phase):
    travels = [find_travel(film(took_s, way, period_s, part), way) for part in (phase, 0.3)]
    found = travel_us([one for one in travels if one is not None])
    assert found is not None
    took, within = found
    assert took == pytest.approx(took_s * 1e6, rel=0.002)
    assert within <= 0.02 * took


def filmed(took_us: float, count: int = 4) -> FilmedTravel:
    times = 10_000.0 * np.arange(count)
    return FilmedTravel(times, 90.0 * times / took_us, 90.0)


@pytest.mark.parametrize(("other", "agree"), [(105_100, True), (105_200, False)])
def test_two_films_agree_within_a_twentieth(other, agree):
    assert (travel_us([filmed(100_000), filmed(other)]) is not None) is agree
    assert (travel_us([filmed(other), filmed(100_000)]) is not None) is agree
    found = travel_us([filmed(120_000, 9), filmed(100_000), filmed(100_100)])
    assert found is not None and found[0] == pytest.approx(100_050, abs=1), "one differs"


@pytest.mark.parametrize(
    ("target", "steps"),
    [(1500, []), (1550, [1550]), (1620, [1550, 1600, 1620]), (1390, [1450, 1400, 1390])],
)
def test_a_distant_position_is_approached_in_steps(target, steps):
    client = FakeCalibrationClient()
    session = client.session
    position = named_position(session, "lid", "open", "servo")
    conduct(Placing(session, position, target, 1500, gently=True), as_json=False)
    moves = [(body["to"], body["begin_at"]) for path, body in client.asked if path == "/move"]
    assert moves == [(None, 1500), *((step, None) for step in steps)]


def test_positions_are_found_by_their_names():
    session = FakeCalibrationClient(**{OPEN: 1340}).session
    assert named_position(session, "lid", "open", "servo").value == 1340, "not the profile's"
    for actuator, position, known in (
        ("hat", "open", "there is no hat; the profile has holder, lid"),
        ("lid", "up", "there is no position up; it has open, close, flip"),
    ):
        with pytest.raises(InvalidRequest, match=known):
            named_position(session, actuator, position, "servo")
    with pytest.raises(InvalidRequest, match="cubotino has no gripper at R: it has no grippers"):
        jaw_position(session, "R", "open")
    assert position_keys(CUBOTINO)["lid.open"] == OPEN
    session = FakeCalibrationClient("two-arm").session
    opened, closed = (jaw_position(session, "D", name) for name in ("open", "closed"))
    assert (opened.actuator, opened.name, closed.name) == ("down-jaw", "open", "closed")
    with pytest.raises(
        InvalidRequest, match="two-arm has no gripper at L: it has grippers at R, D"
    ):
        jaw_position(session, "L", "open")


def moved(fake: FakeMachine, contact: ConfirmedRange, profile: str, **asked: Any) -> Any:
    bench = Bench(fake.machine(), load_profile(profile), contact)
    found = MOVING.run(bench, MoveRequest(**asked))
    return found.position, found.low, found.high


def test_an_actuator_moves_and_what_it_has_walked_is_known(fake):
    contact, lid = ConfirmedRange({}), {"actuator": "lid"}
    with pytest.raises(NotConfirmed):
        moved(fake, contact, "cubotino", **lid)
    assert moved(fake, contact, "cubotino", **lid, begin_at=1340) == (1340, 1340, 1340)
    assert moved(fake, contact, "cubotino", **lid, to=1350) == (1350, 1340, 1350)
    assert moved(fake, contact, "cubotino", **lid, to=1330) == (1330, 1330, 1350)
    assert moved(fake, contact, "cubotino", **lid) == (1330, 1330, 1350)
    assert fake.motion.done == ["home-alone lid 1340", "jog lid 1350", "jog lid 1330"]
    for to in (899, 2101):
        with pytest.raises(InvalidRequest, match="its limits are 900 to 2100 us"):
            moved(fake, contact, "cubotino", **lid, to=to)
    with pytest.raises(InvalidRequest, match="there is no 'hat'; the profile has holder, lid"):
        moved(fake, contact, "cubotino", actuator="hat", to=1)


def test_a_motor_needs_its_direction_and_begins_at_its_own_start(fake):
    with pytest.raises(NotConfirmed, match="the direction in which table turns"):
        moved(fake, ConfirmedRange({}), "mindcuber", actuator="table")
    contact = ConfirmedRange({direction_key("table"): False})
    assert moved(fake, contact, "mindcuber", actuator="table", to=400) == (400, 0, 400)
    assert fake.motion.done == ["home-alone table 0", "jog table 400"]
