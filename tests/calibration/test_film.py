"""Films of motions: what is asked of the robot for one, and what they are worth."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from robot.calibration.auto import film
from robot.calibration.auto.film import (
    FILMING,
    Film,
    FilmedPose,
    FilmedTravel,
    FilmRequest,
    angles,
    find_travel,
    travel_us,
)
from robot.calibration.steps.travel import AT_ONCE_US, PATIENCE, STILL_PICTURES
from robot.calibration.trials.trial import Bench
from robot.motion.schedule import TimedTurn
from robot.motion.servo import servo_slew
from robot.settings import load_profile
from solver.errors import InvalidRequest
from vision.frame import Frame
from vision.locate.face import FaceGrid

CUBOTINO = load_profile("cubotino")
CORNERS = np.array([(10.0, 10.0), (40.0, 10.0), (40.0, 40.0), (10.0, 40.0)])


class Machine:
    """Notes what is asked of motion and camera; it moves until it is filmed two times."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.motion = self.scanner = self
        self.pictures = 0

    def home(self) -> None:
        self.done.append("home")

    def jog(self, name: str, place: int) -> None:
        self.done.append((name, place))

    def settle(self) -> None:
        self.done.append("settle")

    def frame(self, camera: str | None) -> Frame:
        self.pictures += 1
        self.done.append(camera)
        image = np.zeros((960, 1280, 3), np.uint8)
        return Frame(image, "top", 1000 * self.pictures)

    def perform(self, schedule: Any, told: Any) -> None:
        until = time.monotonic() + 30
        while self.pictures < STILL_PICTURES + 2 and time.monotonic() < until:
            time.sleep(0.001)
        self.done.append(schedule)


def test_a_servo_is_filmed_at_rest_and_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    machine: Any = Machine()

    def seen(image: Any, size: int) -> FaceGrid:
        assert (image.shape, size) == ((480, 640, 3), 3)
        return FaceGrid.from_corners(CORNERS, size)

    monkeypatch.setattr(film, "face_in_view", seen)
    asked = FilmRequest(
        actuator="holder", between=["home", "cw"], camera="top", aside={"lid": "open"}
    )
    found = FILMING.run(Bench(machine, CUBOTINO), asked)
    (schedule,) = (each for each in machine.done if not isinstance(each, str | tuple))
    still = ["top"] * STILL_PICTURES
    assert machine.done[: 4 + len(still)] == [
        *("home", ("lid", 1335), ("holder", 1500), "settle"),
        *still,
    ]
    assert machine.done[-1] == "home"
    assert len(found.pictures) >= STILL_PICTURES + 2
    assert [one.time_us for one in found.pictures[:3]] == [1000, 2000, 3000]
    assert found.pictures[0].corners == [(20, 20), (80, 20), (80, 80), (20, 80)], "of the camera"
    assert len(found.pictures[0].colours) == 9
    assert schedule.duration_us == AT_ONCE_US + round(PATIENCE * 700_000)
    assert schedule.turns == (TimedTurn(0, 0),)
    (move,) = schedule.profiles
    assert move == servo_slew("holder", 1500, 2000, 20_000, 1_400_000)


def test_what_cannot_be_filmed_is_said_before_anything_moves() -> None:
    machine: Any = Machine()
    bench = Bench(machine, CUBOTINO)
    for request in (
        FilmRequest(actuator="arm", between=["home", "cw"]),
        FilmRequest(actuator="holder", between=["home", "up"]),
        FilmRequest(actuator="holder", between=["home", "cw"], aside={"lid": "up"}),
        FilmRequest(actuator="holder", between=["home", "cw"], aside={"arm": "open"}),
    ):
        with pytest.raises(InvalidRequest):
            FILMING.run(bench, request)
    servo = CUBOTINO.actuators["holder"]
    bare = servo.model_copy(update={"travel": ()})
    stripped: Any = SimpleNamespace(
        actuators={"holder": bare}, actuators_of=lambda _: {"holder": bare}, cube=CUBOTINO.cube
    )
    with pytest.raises(InvalidRequest, match="holder: the profile gives no travel from home to cw"):
        FILMING.run(
            Bench(machine, stripped), FilmRequest(actuator="holder", between=["home", "cw"])
        )
    assert machine.done == []


def test_angles_are_counted_from_the_first_picture_of_a_face() -> None:
    def turned(first: Any, later: Any, near: float) -> float | None:
        asked.append(near)
        assert first[0].tolist() == [[1.0, 1.0]]
        degrees = float(later[0][0, 0] - 1)
        return None if degrees == 5 else degrees

    asked: list[float] = []
    watch: Any = SimpleNamespace(measure_turn=turned)
    faces = [FilmedPose(time_us=7)] + [
        FilmedPose(time_us=at, corners=[(float(at), float(at))], colours=[]) for at in (1, 3, 6, 9)
    ]
    assert angles(watch, Film(pictures=faces), -90.0) == [(1, 0.0), (3, 2.0), (9, 8.0)]
    assert asked == [-45.0] * 4
    assert angles(watch, Film(pictures=faces[:1]), 90.0) == []


def ramp(last: float = 90.0, moving: int = 4) -> list[tuple[int, float]]:
    """Three pictures at rest, some on the way, three at rest."""
    way = [(30_000 + 10_000 * n, last * (n + 1) / (moving + 1)) for n in range(moving)]
    rest = [(100_000 + 10_000 * n, last) for n in range(3)]
    return [(0, 0.0), (10_000, 0.0), (20_000, 0.0), *way, *rest]


def test_a_passage_is_what_lies_between_two_rests() -> None:
    found = find_travel(ramp(), 90.0)
    assert found is not None
    assert found.times.tolist() == [30_000, 40_000, 50_000, 60_000]
    assert found.degrees.tolist() == [18, 36, 54, 72]
    assert found.way == 90
    assert found.spread == pytest.approx(5e8)
    assert found.duration_us == pytest.approx(50_000)


@pytest.mark.parametrize(
    ("expected", "is_one"), [(90, True), (80, True), (100, True), (79.9, False), (100.1, False)]
)
def test_a_motion_that_ends_elsewhere_is_none(expected: float, is_one: bool) -> None:
    assert (find_travel(ramp(), expected) is not None) is is_one


def travel(took_us: float, count: int = 4, way: float = 90.0) -> FilmedTravel:
    times = 10_000.0 * np.arange(count)
    return FilmedTravel(times, way * times / took_us, way)


def test_motions_that_agree_count_by_how_long_they_are_seen() -> None:
    found = travel_us([travel(100_000), travel(102_000, 6)])
    assert found is not None
    # Spread of 4 pictures 5, of 6 17.5.
    took = (5 * 100_000 + 17.5 * 102_000) / 22.5
    assert found == pytest.approx((took, (took - 100_000) / 2))
    found = travel_us([travel(100_000)] * 2)
    assert found == pytest.approx((100_000, 500))


@pytest.mark.parametrize(("other", "agree"), [(105_100, True), (105_200, False)])
def test_two_films_agree_within_a_twentieth(other: float, agree: bool) -> None:
    assert (travel_us([travel(100_000), travel(other)]) is not None) is agree
    assert (travel_us([travel(other), travel(100_000)]) is not None) is agree


def test_a_film_that_differs_from_those_that_agree_is_left_out() -> None:
    found = travel_us([travel(120_000, 9), travel(100_000), travel(100_100)])
    assert found is not None
    assert found[0] == pytest.approx(100_050, abs=1)
