"""Calibration that measures: colours of a known cube, times of operations, a camera's view.

The wizard runs these one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from robot.api.calibrations import Calibration
from robot.calibration.step import Bench, Row
from robot.calibration.steps import camera
from robot.calibration.steps.camera import CameraAdvice, QuadEditor
from robot.calibration.steps.colours import ColoursRequest, measured_colours
from robot.calibration.steps.timing import measured_timing
from robot.calibration.values import BadCalibration, apply
from robot.machine.scanner import as_jpeg, stored_colours
from robot.motion.schedule import Schedule
from robot.planner import build_mechanism
from robot.records.documents import ApiRequest
from robot.settings import load_profile
from robot.text.faults import ScanError
from robot.twin.cube import scrambled
from robot.twin.simulated import SimulatedRobot
from robot.twin.studio import Studio
from solver.cube.cube import Cube
from solver.errors import CubistError, InvalidRequest
from tests.calibration.conftest import show_cube
from tests.rig.guide import FakeCalibrationClient
from vision.frame import Frame
from vision.measure.colour_space import USUAL

CUBOTINO = load_profile("cubotino")
SOLVED, TURNED = (Cube.solved().apply(moves).facelets() for moves in ("", "R U F2 L' D B"))

MISREAD = SOLVED.replace("F" * 9, "UUUDDDFFF").replace("B" * 9, "UUUDDDBBB")


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
    ("seen", "named", "error", "why"),
    [
        (TURNED, SOLVED, ScanError, "not the cube that was named"),
        ("", SOLVED, CubistError, "no sticker of colour"),
        (TURNED, None, ScanError, "with certainty"),
    ],
)
def test_a_cube_that_is_not_known_teaches_no_colours(fake, seen, named, error, why):
    show_cube(fake, seen)
    fake.scanner.readings = [("scrambled", "F")]
    bench = Bench(fake.machine(), CUBOTINO)
    with pytest.raises(error, match=why) as raised:
        measured_colours(bench, ColoursRequest(facelets=named))
    assert error is CubistError or "put a solved cube in" in str(raised.value.remedy)


@pytest.mark.parametrize(
    ("seen", "named", "why"),
    [
        (TURNED, SOLVED, "not the cube that was named"),
        (SOLVED, SOLVED[1:], "53 letters do not name"),
        (MISREAD, SOLVED, "picture F, B: the picture is too dark"),
    ],
)
def test_a_flaw_is_the_reason_only_where_the_other_pictures_show_the_named_cube(
    fake, seen, named, why
):
    show_cube(fake, seen)
    dark, take = Frame(np.zeros((6, 8, 3), np.uint8), "top", 0), fake.scanner.take
    fake.scanner.take = lambda looks, **_: [
        replace(image, frame=dark) if image.face in "FB" else image for image in take(looks)
    ]
    with pytest.raises(CubistError, match=why):
        measured_colours(Bench(fake.machine(), CUBOTINO), ColoursRequest(facelets=named))


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
    before, after = build_mechanism(CUBOTINO), build_mechanism(calibrated)
    assert sum(t.duration_us for t in after.transitions) > sum(
        t.duration_us for t in before.transitions
    )


def test_steps_of_the_wizard_can_be_left_out_and_answer_for_it(daemon, ask):
    show_cube(daemon, SOLVED)
    daemon.scanner.readings = [SOLVED]
    command = ("calibrate", "all", "--robot", "cubotino")
    steps = [f"--skip={step}" for step in ("home", "positions", "camera")]
    code, told, err = ask(*command, "--yes", *steps)
    assert code == 0 and "shows the values kept" in err
    assert [document["step"] for document in told] == ["colours", "timing"]
    steps = [f"--skip={step}" for step in ("home", "positions", "colours", "timing")]
    for grey, why in ((128, "no cube"), (0, "the picture is too dark")):
        empty = as_jpeg(Frame(np.full((480, 640, 3), grey, np.uint8), "top", 0))
        daemon.scanner.picture = lambda _, empty=empty: empty
        code, told, _ = ask(*command, "--yes", *steps)
        assert code == 1
        assert told[-1]["views"]["U"][0].startswith(f"in view: {why}")
    for wrong, why in (
        (command, "--yes"),
        ((*command, "--yes", "--set", "lid.ajar=1"), "lid.open"),
        (("calibrate", "all", "--robot", "two-arm", "--yes"), "cubistd controls cubotino, not two"),
    ):
        code, _, err = ask(*wrong)
        assert code == 2 and why in err


def test_the_wizard_practises_on_a_simulated_robot_where_no_daemon_runs(ask, tmp_path, monkeypatch):
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    code, told, err = ask("calibrate", "all", "--robot", "cubotino", "--yes", "--set=lid.open=1345")
    assert code == 0, err
    kept = next(one["values"] for one in told if one.get("step") == "positions")
    robot = load_profile("cubotino")
    confirmed = {
        f"actuators.{name}.positions_us.{position}": pulse
        for name, servo in robot.actuators.items()
        for position, pulse in servo.positions_us.items()
    }
    assert kept == confirmed | {"actuators.lid.positions_us.open": 1345}
    order = list(dict.fromkeys(document["step"] for document in told if "step" in document))
    assert order == ["positions", "home", "camera", "colours", "timing"]
    assert [document["saved"] for document in told if document.get("step") == "colours"] == [True]
    timing = next(one for one in told if one.get("step") == "timing")
    assert all(row["planned_us"] == row["measured_us"] for row in timing["operations"])
    assert "practising" in err
    assert "all steps are done; nothing was kept" in err


@pytest.mark.parametrize("name", ["four-arm", "six-motor"])
def test_a_robot_as_drawn_needs_no_advice(name):
    """Take a camera at the cube's corner that sees three faces at an angle, and jaws at edges."""
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
