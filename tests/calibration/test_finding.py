"""A robot that finds out about itself: fits, what the face says, all of it in simulated time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.calibration.auto import calibration as flow
from robot.calibration.auto.calibration import AutomaticCalibration, can_find, stage_of, stages_of
from robot.calibration.auto.face_watch import (
    UNIT_SQUARE,
    RotationGauge,
    are_two_faces,
    chromaticities,
    degrees_of,
    nearest_quarter,
    view_from_above,
)
from robot.calibration.auto.film import FilmedTravel, find_travel, travel_us
from robot.calibration.auto.finder import FilmedServo
from robot.calibration.auto.finding import CalibrationError, Finding
from robot.calibration.auto.fitting import SweepPoint, fit_line
from robot.calibration.auto.flipper import FlipperFinder
from robot.calibration.step import Row, Session
from robot.calibration.trials.proof import PROVING
from robot.machine.confirmed_range import confirmable
from robot.settings import load_profile
from robot.settings.actuators import Servo
from robot.twin.cube import NORMALS, Pose, scrambled, turned
from robot.twin.misadjustment import parse_misadjustment
from robot.twin.registry import degree_us, parts_of
from robot.twin.render import Painter, StudioLight, place_camera
from robot.twin.studio import OddScene
from tests.calibration.found import Outcome, calibrated
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun
from vision.locate.view_check import face_in_view

KEY = "actuators.lid.positions_us.open"
DEGREES = st.floats(-400, 400)


@given(
    slope=st.floats(0.05, 0.5) | st.floats(-0.5, -0.05),
    zero=st.floats(1300, 1700),
    slack=st.floats(0, 20),
    noise=st.floats(0, 0.05),
    seed=st.integers(0, 99),
)
def test_a_line_with_slack_is_found_from_both_directions(
    slope: float, zero: float, slack: float, noise: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    points = [
        SweepPoint(
            pulse,
            slope * (pulse - zero - side * slack / 2) + noise * random.standard_normal(),
            side > 0,
        )
        for side in (1, -1)
        for pulse in range(1100, 1900, 40)
    ]
    line = fit_line(points)
    assert line is not None
    off_us = 4 * noise / abs(slope) + 1e-6
    assert line.degrees_per_us == pytest.approx(slope, abs=4 * noise / 400 + 1e-9)
    assert line.pulse(0.0) == pytest.approx(zero, abs=off_us)
    assert line.slack_us == pytest.approx(slack, abs=2 * off_us)
    assert line.pulse(30.0, True) - line.pulse(30.0, False) == pytest.approx(line.slack_us)
    assert line.about(10.0).pulse(0.0) == pytest.approx(line.pulse(10.0))


def test_a_servo_that_turns_nothing_has_no_line() -> None:
    still = [SweepPoint(pulse, 3.0, up) for up in (True, False) for pulse in range(1100, 1900, 40)]
    assert fit_line(still) is None
    assert fit_line(still[:3]) is None


@given(DEGREES, st.floats(-0.2, 0.2), st.floats(-0.2, 0.2), st.integers(0, 3), DEGREES)
def test_the_angle_of_a_square_is_known_up_to_quarter_turns(
    degrees: float, right: float, down: float, first: int, near: float
) -> None:
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    corners = np.roll(UNIT_SQUARE @ turn.T, first, axis=0) + np.array([right, down])
    found = nearest_quarter(degrees_of(corners), near)
    assert abs(found - near) <= 45 + 1e-6
    assert (found - degrees) / 90 == pytest.approx(round((found - degrees) / 90), abs=1e-6)


@given(st.integers(0, 999), st.integers(0, 3))
def test_a_face_is_the_same_however_it_is_turned(seed: int, turns: int) -> None:
    colours = np.random.default_rng(seed).random((9, 3))
    turned = np.rot90(colours.reshape(3, 3, 3), turns).reshape(9, 3)
    assert not are_two_faces(colours, turned + 0.02)
    assert are_two_faces(np.zeros((9, 3)), np.eye(3)[[0, 1, 2] * 3])


def film(took_s: float, way: float, period_s: float, phase: float) -> list[tuple[int, float]]:
    """Angles of a motion that begins 0.2 s after the first picture."""
    times = np.arange(phase * period_s, 0.2 + took_s + 0.4, period_s)
    return [(round(t * 1e6), way * min(1.0, max(0.0, (t - 0.2) / took_s))) for t in times]


@given(
    took_s=st.floats(0.15, 2.0),
    way=st.sampled_from([90.0, -90.0, 180.0]),
    period_s=st.floats(0.02, 0.05),
    phase=st.floats(0, 1),
)
def test_a_filmed_motion_takes_as_long_as_it_takes(
    took_s: float, way: float, period_s: float, phase: float
) -> None:
    travels = [find_travel(film(took_s, way, period_s, part), way) for part in (phase, 0.3)]
    found = travel_us([one for one in travels if one is not None])
    assert found is not None
    took, within = found
    assert took == pytest.approx(took_s * 1e6, rel=0.002)
    assert within <= 0.02 * took


def test_films_with_two_pictures_each_are_enough_together_but_not_one_alone() -> None:
    travels = [find_travel(film(0.2, 90.0, 0.07, part / 4), 90.0) for part in range(4)]
    good = [one for one in travels if one is not None]
    assert travel_us(good[:1]) is None
    found = travel_us(good)
    assert found is not None
    assert found[0] == pytest.approx(200_000, rel=0.01)


def test_what_went_elsewhere_or_never_came_to_rest_is_no_passage() -> None:
    samples = film(0.3, 90.0, 0.03, 0.0)
    assert find_travel(samples, 180.0) is None
    assert find_travel(samples[:-13], 90.0) is None
    assert find_travel(samples[:3], 90.0) is None
    assert travel_us([]) is None
    assert travel_us([travel for travel in [find_travel(samples, 90.0)] if travel]) is None
    back = FilmedTravel(np.array([0.0, 1e4, 2e4, 3e4]), np.array([30.0, 20.0, 10.0, 5.0]), 90.0)
    assert travel_us([back, back]) is None


def test_a_motion_that_was_held_up_in_one_film_is_timed_by_the_others() -> None:
    def travel(took_s: float, phase: float) -> FilmedTravel:
        found = find_travel(film(took_s, 90.0, 0.03, phase), 90.0)
        assert found is not None
        return found

    held_up = travel(0.3, 0.5)
    assert travel_us([held_up, travel(0.2, 0.0)]) is None
    found = travel_us([held_up, travel(0.2, 0.0), travel(0.2, 0.4)])
    assert found is not None
    assert found[0] == pytest.approx(200_000, rel=0.01)


@pytest.mark.parametrize(
    ("name", "can"),
    [
        ("cubotino", True),
        ("cubotino-uno", True),
        ("mindcuber", True),
        ("two-arm", True),
        ("four-arm", True),
        ("otvinta", False),
        ("six-motor", True),
    ],
)
def test_the_step_is_there_for_robots_that_it_can_calibrate(name: str, can: bool) -> None:
    assert can_find(load_profile(name)) is can


def test_a_robot_that_was_not_built_as_drawn_calibrates_itself() -> None:
    outcome = calibrated("cubotino", "7")
    assert outcome.because == ""
    assert outcome.solved == 2
    assert outcome.violations == []
    assert outcome.kept_before_the_end == {}
    assert len(outcome.off_degrees) == 6
    assert max(abs(off) for off in outcome.off_degrees.values()) < 2.0
    assert len(outcome.travel_parts) == 3
    assert all(1.0 <= part <= 1.1 for part in outcome.travel_parts)
    assert outcome.took_s < 360
    assert outcome.planned_s is not None
    before, after = outcome.planned_s
    # The profile's times of the lid and the table against those that were found, on average.
    assert after != before
    assert 0.6 < after / before < 1.6


@contextmanager
def robot(misadjusted: str = "7") -> Iterator[tuple[SimulatedRun, SimulatedCalibration]]:
    with SimulatedRun(
        load_profile("cubotino"), scrambled(3, 1), misadjusted=parse_misadjustment(misadjusted)
    ) as run:
        yield run, SimulatedCalibration(run)


def test_a_proof_is_planned_by_what_is_kept_too() -> None:
    with SimulatedRun(load_profile("cubotino"), scrambled(3, 1)) as run:
        session = SimulatedCalibration(run)
        servos = run.profile.actuators_of(Servo)
        longer = {
            f"actuators.{name}.travel": [
                row.model_dump(mode="json") | {"ms": 2 * row.ms} for row in servo.travel
            ]
            for name, servo in servos.items()
        }
        with session.maintenance():
            session.try_out({**confirmable(run.profile), **longer})
            proof = session.perform(PROVING)
            # It is known to be solved now: it is scrambled without a look.
            assert session.perform(PROVING, solved=True).solved
    assert proof.solved
    assert 1.4 < proof.planned_us / proof.planned_before_us <= 2.0


def failed(session: SimulatedCalibration) -> str:
    measurement = AutomaticCalibration(session)
    with session.maintenance():
        for _ in measurement.measure():
            pass
    assert not measurement.is_found
    assert measurement.values == {}
    assert measurement.document["calibrated"] is False
    assert session.calibration.values == {}
    because: str = measurement.document["because"]
    assert because in measurement.text
    return because


def test_without_a_cube_in_view_nothing_moves() -> None:
    with robot() as (_, session):
        for camera in session.cameras.values():
            camera.studio.disturbances.odd = OddScene.NO_CUBE
        assert "put a scrambled cube in" in failed(session)
        assert set(session.trials) == {"picture"}


def test_a_blurred_picture_is_blamed_for_a_face_that_is_lost() -> None:
    """Not what turns the cube, nor something in front of the camera."""
    with robot() as (_, session):
        for camera in session.cameras.values():
            camera.lens = lambda image: np.asarray(cv2.GaussianBlur(image, (0, 0), 3.0), np.uint8)
        because = failed(session)
    assert "the picture is blurred: focus the camera" in because
    assert "hold the cube" not in because


@pytest.mark.parametrize(
    ("jammed", "why"),
    [("holder", "the cube does not turn with holder"), ("lid", "lid went 300 us")],
)
def test_a_servo_that_does_not_move_is_named(jammed: str, why: str) -> None:
    with robot() as (run, session):
        run.robot.jam(jammed)
        assert why in failed(session)


def test_a_camera_that_shows_the_face_cut_off_when_it_turns_is_named() -> None:
    with robot("11:2") as (_, session):
        assert "too near to the border of the picture" in failed(session)


@pytest.mark.parametrize(("beyond_px", "is_shown"), [(3.0, True), (40.0, False)])
def test_a_face_that_the_picture_cuts_off_where_it_stands_square_is_named(
    beyond_px: float, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    corners = np.array([[-beyond_px, 10.0], [300.0, 10.0], [300.0, 300.0], [0.0, 300.0]])
    monkeypatch.setattr(RotationGauge, "corners_at", lambda *_: corners)
    with robot() as (_, session):
        finder = FlipperFinder(session)
        if is_shown:
            (quad,) = finder._square_place("square", {}).values.values()
            assert quad[0][0] == 0.0
            return
        with pytest.raises(
            CalibrationError, match="cuts the face off where the robot holds it square"
        ):
            finder._square_place("square", {})


PLACE_FOR_SEVEN = [[0.26892, 0.11743], [0.69297, 0.17039], [0.69132, 0.7253], [0.21242, 0.67956]]
"""Where the camera of robot 7 has the face."""


class KnowingFinder:
    """Finds a position at once; the camera sees nothing move."""

    seen_moving: Mapping[str, FilmedServo] = {}
    watch = None

    def __init__(self, session: Session) -> None:
        del session

    def find(self) -> Iterator[Finding]:
        yield Finding("lid", "there", {KEY: 1340}, {KEY: 2.0})


def test_broken_off_it_leaves_what_was_kept_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "finder_for", lambda _: KnowingFinder)
    before = {KEY: 1330}
    with robot() as (_, session):
        session.keep(before)
        with session.maintenance():
            script = AutomaticCalibration(session).measure()
            shown = [next(script), next(script)]
            assert all(isinstance(row, Row) and row.document for row in shown)
            assert session.calibration.values == {KEY: 1340}
            assert session.stored.values == before
            script.close()
            assert session.calibration.values == before


@pytest.mark.parametrize(
    ("only", "keys"),
    [
        ("lid", {f"actuators.lid.positions_us.{place}" for place in ("open", "close", "flip")}),
        ("times", {"actuators.holder.travel"}),
        ("colours", {"colours"}),
    ],
)
@pytest.mark.long
def test_one_stage_is_found_anew_and_the_rest_is_kept(only: str, keys: set[str]) -> None:
    profile, truth = load_profile("cubotino"), parse_misadjustment("7")
    per_degree = degree_us(profile, parts_of(profile).rotations)
    true = {
        f"actuators.{name}.positions_us.{place}": round(
            truth.servo(name, servo, per_degree).pulse(pulse)
        )
        for name, servo in profile.actuators_of(Servo).items()
        for place, pulse in servo.positions_us.items()
    }
    with robot("7") as (run, session):
        kept: dict[str, Any] = true | {"cameras.top.views.U.quad": PLACE_FOR_SEVEN}
        if only == "lid":
            kept["actuators.lid.positions_us.close"] += 40
        session.keep(kept)
        measurement = AutomaticCalibration(session, only=only)
        with session.maintenance():
            for _ in measurement.measure():
                pass
            assert session.stored.values == kept
        assert measurement.document.get("because", "") == ""
        assert set(measurement.values) == keys
        assert run.robot.violations == []
        for key, value in measurement.values.items():
            if key in true:
                assert value == pytest.approx(true[key], abs=2 * per_degree)


class TalkativeFinder(KnowingFinder):
    """Finds positions of two actuators."""

    def find(self) -> Iterator[Finding]:
        yield Finding("table", "there, too", {"actuators.holder.positions_us.home": 1490})
        yield from super().find()


def test_what_is_found_on_the_way_to_one_stage_is_not_tried_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flow, "finder_for", lambda _: TalkativeFinder)
    with robot() as (_, session):
        session.keep(confirmable(session.profile) | {"actuators.holder.positions_us.home": 1480})
        with session.maintenance():
            measurement = AutomaticCalibration(session, only="camera")
            assert list(measurement.measure()) != []
            assert "shows nothing of camera" in measurement.document["because"]
            assert measurement.values == {}
            tried: list[dict[str, Any]] = []
            monkeypatch.setattr(session, "try_out", lambda values: tried.append(dict(values)))
            monkeypatch.setattr(session, "perform", failing)
            assert len(list(AutomaticCalibration(session, only="lid").measure())) == 2
        assert {KEY: 1340} in tried
        assert all("holder" not in key for values in tried for key in values)


def failing(*_: object, **__: object) -> None:
    raise CalibrationError("nothing moves in this test")


def test_times_are_tried_out_before_cubes_prove_them(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"actuators.lid.travel": [{"between": ["open", "close"], "ms": 280.0}]}
    monkeypatch.setattr(flow, "finder_for", lambda _: KnowingFinder)
    seen = [Finding("times", "lid: quicker", found)]
    monkeypatch.setattr(AutomaticCalibration, "_travel", lambda *_: iter(seen))
    tried: list[dict[str, Any]] = [{}]
    proven: list[dict[str, Any]] = []

    def proving(*_: object, **__: object) -> None:
        proven.append(tried[-1])
        failing()

    with robot() as (_, session):
        session.keep(confirmable(session.profile))
        monkeypatch.setattr(session, "try_out", lambda values: tried.append(dict(values)))
        monkeypatch.setattr(session, "perform", proving)
        assert list(AutomaticCalibration(session, only="times").measure()) != []
    assert proven == [found]


def test_every_value_that_is_found_belongs_to_a_stage() -> None:
    stages = stages_of(load_profile("cubotino"))
    assert stages == ("holder", "lid", "camera", "times", "colours")
    found = {
        "actuators.lid.positions_us.open": "lid",
        "actuators.lid.travel": "times",
        "cameras.top.views.U.quad": "camera",
        "colours": "colours",
    }
    assert {key: stage_of(key) for key in found} == found


def test_an_outcome_tells_how_far_off_a_wrong_value_is() -> None:
    robot = parse_misadjustment("7")
    profile = load_profile("cubotino")
    wrong = {"actuators.lid.positions_us.open": 1335}
    outcome = Outcome.of(profile, robot, {"values": wrong, "solved": 0, "took_s": 1.0}, [], {})
    assert abs(outcome.off_degrees["actuators.lid.positions_us.open"]) > 0.5


@given(st.floats(-175, 175), st.integers(0, 3), st.floats(-180, 180))
@settings(max_examples=20)
def test_stickers_tell_how_far_a_face_has_turned_beyond_quarter_turns(
    degrees: float, first: int, near: float
) -> None:
    profile = load_profile("cubotino")
    painter = Painter(place_camera(profile.cameras[0]), 2.0)
    watch = RotationGauge(Session(profile=profile), *view_from_above(profile), sign=-1)
    seen = []
    for angle in (0.0, degrees):
        image = painter.paint(
            scrambled(3, 7), Pose(turned(NORMALS["D"], angle / 90)), StudioLight()
        )
        grid = face_in_view(image, 3)
        if angle == 0.0:
            watch.begin(image, grid)
        seen.append((np.array(grid.corners), chromaticities(image, grid)))
    corners, colours = seen[1]
    again = np.rot90(colours.reshape(3, 3, 3), first).reshape(9, 3)
    found = watch.turned(seen[0], (np.roll(corners, -first, axis=0), again), near)
    assert found is not None
    assert abs(found - near) <= 181
    assert (found - degrees + 180) % 360 - 180 == pytest.approx(0.0, abs=0.2)
    assert watch.turned(seen[0], (corners, np.roll(colours, 1, axis=1)), near) is None


@pytest.mark.parametrize(("clear", "opened"), [(1053, 905), (1300, 965)])
def test_an_arm_is_out_of_the_picture_wherever_the_robot_looks_past_it(
    clear: float, opened: int
) -> None:
    """MindCuber's arm opens only by a part of its way back from a roll to let the robot look."""
    profile = load_profile("mindcuber")
    with SimulatedRun(profile, scrambled(3, 1)) as run:
        finder = FlipperFinder(SimulatedCalibration(run))
        finder.lid.go = lambda target: None  # type: ignore[method-assign]
        finder._hold_at, finder._open_at = 1465.0, clear
        values = finder._found_beyond(1432.0).values
    assert values["actuators.arm.positions_us.rest"] == opened
    assert values["actuators.arm.positions_us.hold"] == 1465
    (arm,) = profile.mechanism.arms
    assert opened + (1 - arm.clear_part) * (1965 - opened) <= clear + 1


@pytest.mark.parametrize(("gain", "zero"), [(1.0, 0.0), (1.1, 30.0), (0.9, -40.0)])
@pytest.mark.parametrize(("into", "closer"), [(1400, False), (1330, True)])
def test_a_lid_s_open_is_told_by_where_the_cube_lies_flat_and_is_held(
    gain: float, zero: float, into: int, closer: bool
) -> None:
    """In the profile it is 0.652 of the way from flip; whatever its servo turns for a pulse."""

    def built(pulse: float) -> float:
        return 1500 + zero + (pulse - 1500) / gain

    with SimulatedRun(load_profile("cubotino"), scrambled(3, 1)) as run:
        finder = FlipperFinder(SimulatedCalibration(run))
        finder._under_cube, finder._into_picture = built(1050 + 0.652 * 285), built(into)
        values = finder._open_from_part(0.702, built(1480), 20.0)
    opened = values["actuators.lid.positions_us.open"]
    if closer:
        assert built(1250) < opened < built(into) - 20
    else:
        assert opened == pytest.approx(built(1335), abs=1)
