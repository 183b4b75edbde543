"""Learning colours and light from solved cubes: surer with every run, from proven cubes only."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from statistics import mean
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import numpy as np
import pytest

from robot.api.calibrations import Calibration
from robot.calibration.learned_colours import Lesson, learn_colours
from robot.calibration.steps.colours import LOOKING
from robot.calibration.store import CalibrationStore
from robot.calibration.values import apply
from robot.daemon.colour_watch import ColourWatch
from robot.machine.scanner import as_cube_face, stored_colours, stored_light
from robot.planner import FaceView
from robot.settings import RobotProfile, load_profile
from robot.settings.profile import ColourSettings
from robot.text.outcomes import Outcome
from robot.twin.render import Image
from solver.cube.cube import Cube
from solver.cube.orientation import all_orientations, site_facelets
from solver.files import JsonObject
from tests.calibration.conftest import calibrating
from tests.rig.drifting_robot import FIRST_DAY, DriftingRobot
from tests.rig.pictures import to_linear, to_srgb
from tests.rig.profiles import changed
from tests.rig.scenes import SCHEMES
from vision.decide.reader import Unreadable, read_cube
from vision.measure.sticker_colours import FACES, FaceColours, StickerColours

CUBOTINO = load_profile("cubotino")
LEARNING = {"policy.learn_colours": True, "policy.improve_while_turning": False}
THAT_LEARNS = changed("cubotino", LEARNING)
PLACE = ("top", "U")
"""The only site its camera sees: all faces come there."""
VIEWS = [
    FaceView(*PLACE, face, next(held for held in all_orientations() if held.faces[0] == face))
    for face in FACES
]


class Room:
    """A room with a lamp beside the camera, and the shadow of the robot's frame."""

    def __init__(self, seed: int, *, lamp: float = 0.6) -> None:
        self._rng = np.random.default_rng(seed)
        colours = np.array([SCHEMES["classic"][face] for face in FACES], dtype=np.uint8)
        self._palette = dict(zip(FACES, to_linear(colours), strict=True))
        x, y = np.meshgrid([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0])
        brighter = 0.8 * np.exp(-((x - lamp) ** 2) - (y + 0.5) ** 2)
        self._light = np.exp(brighter - 0.7 * (x + 0.3 * y < -0.5)).reshape(9, 1)

    def looks(self, profile: RobotProfile, facelets: str) -> Lesson:
        """Take the pictures of a cube as the robot's scanner does with its learned light."""
        known = stored_light(profile).get(PLACE, np.zeros((9, 3)))
        looks = []
        for view in VIEWS:
            at_site = [facelets[number] for number in site_facelets(view.orientation, 3)[:9]]
            gain = np.exp(self._rng.normal(0, 0.1) + self._rng.normal(0, 0.02, 3))
            light = np.array([self._palette[letter] for letter in at_site])
            light = light * self._light * gain * 0.45
            seen = to_srgb((light + self._rng.normal(0, 0.003, (9, 3))).astype(np.float32))
            look = FaceColours.from_light(to_linear(seen)).even_out(known)
            looks.append((view, as_cube_face(look, view, 3)))
        return Lesson(facelets, looks)

    def cube(self) -> str:
        return Cube.random(self._rng).facelets()


def margin_of(profile: RobotProfile, lesson: Lesson) -> float:
    """Return the margin of the correct cube; 0 if the robot would look again."""
    colours = StickerColours.from_faces({view.face: seen for view, seen in lesson.looks})
    try:
        reading = read_cube(colours, stored_colours(profile))
    except Unreadable:
        return 0.0
    assert reading.facelets == lesson.facelets or not reading.confident
    return reading.margin if reading.facelets == lesson.facelets else 0.0


def measured(learned: ColourSettings | None) -> JsonObject:
    """Return the colours that `calibrate colours` finds on a robot that has learned some."""
    profile = CUBOTINO.model_copy(update={"colours": learned})
    with calibrating(profile, confirmed=True) as (_, session):
        return session.perform(LOOKING, facelets=None).values


def test_colours_are_measured_without_the_learned_light_that_they_replace():
    plain = measured(None)
    colours = ColourSettings.model_validate(plain["colours"])
    assert colours == ColourSettings.model_validate(plain["colours"] | {"trust": 4.0})  # as before
    learned = taught(Room(4), 3).colours
    assert measured(colours.model_copy(update={"light": learned.light, "solves": 3})) == plain


def taught(room: Room, runs: int) -> RobotProfile:
    """Return the robot after some solves on one day."""
    profile = CUBOTINO
    for _ in range(runs):
        learned = learn_colours(profile, room.looks(profile, room.cube()), FIRST_DAY)
        assert learned is not None
        profile = profile.model_copy(update={"colours": learned})
    return profile


def test_what_was_learned_under_another_lamp_is_given_up():
    profile = taught(Room(5, lamp=0.6), 8)
    moved = Room(6, lamp=-0.8)
    learned = learn_colours(profile, moved.looks(profile, moved.cube()), FIRST_DAY)
    assert learned is not None and learned.solves == 1
    after = profile.model_copy(update={"colours": learned})
    lesson = moved.looks(after, moved.cube())
    assert margin_of(after, lesson) > margin_of(CUBOTINO, moved.looks(CUBOTINO, lesson.facelets))


def test_a_wrong_or_doubtful_reading_teaches_nothing():
    room = Room(7)
    lesson = room.looks(CUBOTINO, room.cube())
    assert learn_colours(CUBOTINO, lesson, FIRST_DAY) is not None
    other = Lesson(room.cube(), lesson.looks)
    assert learn_colours(CUBOTINO, other, FIRST_DAY) is None
    # A reading with a flipped edge is a cube that the stickers contradict.
    flipped = list(lesson.facelets)
    flipped[7], flipped[19] = flipped[19], flipped[7]
    assert learn_colours(CUBOTINO, Lesson("".join(flipped), lesson.looks), FIRST_DAY) is None
    dim = [(v, replace(one, linear_rgb=one.linear_rgb * 0 + 0.1)) for v, one in lesson.looks]
    assert learn_colours(CUBOTINO, Lesson(lesson.facelets, dim), FIRST_DAY) is None


@pytest.mark.parametrize(
    ("outcome", "proven", "keeps"),
    [
        (Outcome.SOLVED, True, True),
        # Solved by a second plan: the first scan may have read another cube.
        (Outcome.SOLVED, False, False),
        (Outcome.DONE, True, False),
        (Outcome.NOT_SOLVED, False, False),
        (Outcome.STOPPED, True, False),
    ],
)
def test_only_a_cube_that_was_seen_to_be_solved_teaches(tmp_path, outcome, proven, keeps):
    room, keep = Room(10), AsyncMock()
    watch = ColourWatch(THAT_LEARNS, CalibrationStore(tmp_path), keep)
    record = SimpleNamespace(id="000001", outcome=outcome)
    lesson = room.looks(THAT_LEARNS, room.cube())
    job: Any = SimpleNamespace(lesson=lesson, is_proven=proven, record=record)
    asyncio.run(watch.follow(job))
    assert keep.await_count == keeps


def under_a_lamp(robot: DriftingRobot) -> None:
    """Put a moving lamp beside the camera."""
    (view,) = CUBOTINO.cameras[0].views
    middle, half = np.mean(view.quad, axis=0), np.ptp(view.quad, axis=0).max() / 2

    def lens(image: Image) -> Image:
        height, width = image.shape[:2]
        days = (robot.today - FIRST_DAY).days
        x, y = np.meshgrid(np.arange(width) / width, np.arange(height) / height)
        across, down = (x - middle[0]) / half, (y - middle[1]) / half
        lamp = 0.5 * np.exp(-2 * ((across - 0.6 + days / 60) ** 2 + (down + 0.5) ** 2))
        light = (0.5 + lamp) * np.where(across + 0.3 * down < -0.4, 0.5, 1.0)
        return np.asarray(to_srgb((to_linear(image) * light[..., None]).astype(np.float32)))

    robot.see_through(lens)


def margins(robot: DriftingRobot) -> list[float]:
    return [float(record.reading["margin"]) for record in robot.records if record.reading]


def test_a_robot_learns_from_a_solve_and_the_version_before_can_be_restored(tmp_path):
    with DriftingRobot(THAT_LEARNS, tmp_path) as robot:
        under_a_lamp(robot)
        robot.calibrations.save(Calibration(robot="cubotino", values={"policy.search_s": 0.5}))
        assert robot.solve_and_drift(2, 0.0, "R U F") == 2
        first, second = margins(robot)
        assert second > first
        learned = robot.calibrations.load(robot.profile)
        assert (learned.version, learned.by) == (2, "learned")
        assert learned.sources["colours"].how == "learned"
        colours = apply(robot.profile, learned).colours
        assert colours is not None and (colours.solves, colours.since) == (2, FIRST_DAY)
        robot.calibrations.restore(robot.profile)
        restored = robot.calibrations.load(robot.profile)
        assert restored.values == {"policy.search_s": 0.5}


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_robot_gets_surer_over_twenty_solves(tmp_path):
    with DriftingRobot(THAT_LEARNS, tmp_path) as robot:
        under_a_lamp(robot)
        assert robot.solve_and_drift(20, 0.0) == 20
        found = margins(robot)
        assert mean(found[-5:]) > mean(found[:3]) + 1.5
