"""Drift since a robot was calibrated: seen in its scans, reported, and followed."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robot.api.calibrations import Calibration
from robot.calibration.drift import (
    ADJUST_FROM_DEGREES,
    FIRST_SOLVES,
    MOST_AT_ONCE_DEGREES,
    MOST_DEGREES,
    DriftRecord,
    DriftStore,
    values_of,
)
from robot.calibration.sighting import PoseDeviation
from robot.calibration.values import apply
from robot.settings import load_profile
from tests.rig.drifting_robot import FIRST_DAY, DriftingRobot
from tests.rig.profiles import changed

MAY = date(2026, 5, 3)
CUBOTINO = load_profile("cubotino")
TOLERANCE = 5
"""Degrees off square that jam the robot of the tests."""
DEGREE_US = 500 / 90


def seen(
    degrees: float, *positions: str, right: float = 0.0, picture: float = 0.0
) -> list[PoseDeviation]:
    """Return one solve's faces with these deviations at these positions of the table."""
    at = positions or ("home",)
    return [PoseDeviation("holder", one, degrees, right, 0.0, picture) for one in at]


def followed(*solves: list[PoseDeviation]) -> DriftRecord:
    """Return the record of a robot in order, and after more solves."""
    record = DriftRecord.begin(CUBOTINO, MAY)
    for one in [seen(0.0, "home", "cw")] * FIRST_SOLVES + list(solves):
        record = record.add_solve(one)
    return record


def moved(record: DriftRecord) -> dict[str, float]:
    return {one.position: one.degrees for one in record.positions}


@given(st.floats(-10, 10), st.floats(-10, 10))
def test_what_the_first_solves_show_is_in_order_and_what_differs_has_moved(first, later):
    record = DriftRecord.begin(CUBOTINO, MAY)
    for _ in range(FIRST_SOLVES):
        record = record.add_solve(seen(first))
    assert moved(record)["home"] == 0.0
    for _ in range(30):
        record = record.add_solve(seen(first + later))
    assert moved(record)["home"] == pytest.approx(later, abs=0.01)
    assert moved(record)["ccw"] == 0.0


@pytest.mark.parametrize(
    ("faces", "solves", "code", "said"),
    [
        (seen(3.0), 20, "moved", "holder home has moved 3.0 degrees since 2026-05-03: "),
        (seen(MOST_DEGREES + 2), 30, "moved-too-far", "holder home"),
        (seen(4.0, "home", "cw", right=0.3), 20, "camera-moved", "15 % of their width"),
        # A camera that looks straight down cannot tell which part has turned.
        (seen(4.0, "home", "cw", picture=2.0), 20, "turned", "4.0 degrees"),
        # One face was measured wrongly.
        (seen(0.0) + seen(0.1) + seen(30.0), 1, None, ""),
    ],
)
def test_people_are_told_what_has_moved(faces, solves, code, said):
    record = followed(*[faces] * solves)
    notes = list(record.notes())
    assert [note.code for note in notes] == ([code] if code else [])
    assert all(said in note for note in notes)
    assert (record.correction(CUBOTINO, MAY) is not None) is (code in {"moved", "moved-too-far"})


def test_a_correction_turns_the_table_back_at_all_its_positions():
    record = followed(*[seen(2.0, "home", "cw")] * 30)
    made = record.correction(CUBOTINO, MAY)
    assert made is not None
    after, correction = made
    # Longer pulses of this table mean larger angles.
    expected = round(-2.0 * DEGREE_US)
    before = CUBOTINO.actuators["holder"].places
    for position, pulse in correction.after_us.items():
        assert pulse - before[position] == pytest.approx(expected, abs=1)
    assert set(correction.after_us) == {"ccw", "home", "cw"}
    assert all(abs(degrees) < 0.2 for degrees in moved(after).values())
    calibrated = apply(CUBOTINO, Calibration(robot="cubotino", values=values_of(correction)))
    assert after.is_of(calibrated)
    assert not record.is_of(calibrated)
    assert after.correction(calibrated, MAY) is None


@given(st.floats(0.2, 5.0), st.sampled_from([-1, 1]), st.integers(1, 60))
@settings(max_examples=20)
def test_corrections_stay_within_bounds(step, sign, solves):
    profile, record, true = CUBOTINO, followed(), 0.0
    for _ in range(solves):
        true += sign * step
        corrected = record.positions[1].corrected
        record = record.add_solve(seen(true - corrected, "home", "cw"))
        made = record.correction(profile, MAY)
        if made is None:
            continue
        after, correction = made
        for one, was in zip(after.positions, record.positions, strict=True):
            assert abs(one.corrected - was.corrected) <= MOST_AT_ONCE_DEGREES + 0.1
            assert abs(one.corrected) <= MOST_DEGREES
        profile = apply(profile, Calibration(robot="cubotino", values=values_of(correction)))
        record = after
    low, high = profile.actuators["holder"].limits or (0, 0)
    assert all(low <= one.pulse_us <= high for one in record.positions)


@given(st.floats(-8, 8), st.floats(-8, 8), st.floats(0, 1), st.integers(0, 999))
@settings(max_examples=25)
def test_the_table_is_corrected_only_where_the_camera_cannot_be_to_blame(
    table, camera, noise, seed
):
    draw = Random(seed)
    record = DriftRecord.begin(CUBOTINO, MAY)
    for _ in range(FIRST_SOLVES):
        picture = draw.uniform(-noise, noise)
        record = record.add_solve(seen(0.0, "home", "cw", picture=picture))
    for _ in range(20):
        picture = camera + draw.uniform(-noise, noise)
        record = record.add_solve(seen(table + camera, "home", "cw", picture=picture))
        if record.correction(CUBOTINO, MAY) is not None:
            assert abs(table) > abs(camera) - 4 * noise - 1e-6
    noted = {note.code for note in record.notes()}
    assert len(noted) <= 1
    if abs(camera) < 0.1 and noise < 0.05:
        assert not noted & {"camera-turned", "turned"}
        assert abs(table) < ADJUST_FROM_DEGREES + 0.2 or record.correction(CUBOTINO, MAY)


@pytest.mark.parametrize("content", [b"", b"{", b'{"robot": 1}', b"\xff", b'{"format": 99}'])
def test_what_cannot_be_read_is_kept_and_the_estimate_starts_anew(tmp_path, content):
    store = DriftStore(tmp_path)
    for count in (1, 2):
        store.save(followed(*[seen(3.0)] * 9))
        assert moved(store.load(CUBOTINO, MAY))["home"] > 2
        store.path.write_bytes(content)
        assert store.load(CUBOTINO, MAY) == DriftRecord.begin(CUBOTINO, MAY)
        kept = [one.read_bytes() for one in tmp_path.iterdir() if one != store.path]
        assert kept == [content] * count


def drifting(
    state_dir: Path, *, self_adjust: bool, robot: str = "cubotino", **policy: object
) -> DriftingRobot:
    policy |= {"self_adjust": self_adjust, "improve_while_turning": False, "solve_retries": 0}
    changes: dict[str, Any] = {f"policy.{key}": value for key, value in policy.items()}
    changes["simulation.tolerance_degrees"] = TOLERANCE
    return DriftingRobot(changed(robot, changes), state_dir)


def begin(robot: DriftingRobot, *, everywhere: bool = False) -> None:
    """Begin with a record of a robot's first solves, in which the faces it shows did not deviate.

    If ``everywhere``, the record has faces at all positions.
    """
    record = DriftRecord.begin(robot.profile, FIRST_DAY)
    faces = [
        PoseDeviation(one.actuator, one.position, 0.0, 0.0, 0.0)
        for one in record.positions
        if everywhere or (one.turns_face and one.position in {"home", "ccw"})
    ]
    for _ in range(FIRST_SOLVES):
        record = record.add_solve(faces)
    robot.drifts.save(record)


def test_a_robot_that_may_adjust_itself_goes_on_solving(tmp_path):
    with drifting(tmp_path, self_adjust=True, check_after=False) as robot:
        begin(robot)
        assert robot.solve_and_drift(3, 2.6, "R") == 3
        assert robot.robot.violations == []
        calibrated = apply(robot.profile, robot.calibrations.load(robot.profile))
        corrections = robot.drifts.load(calibrated, robot.today).corrections
        assert len(corrections) > 1
        # The first solve that shows 2.6 degrees moves the estimate by a third of them.
        assert corrections[0].degrees == pytest.approx(2.6 / 3, abs=0.1)
        assert corrections[-1].after_us == robot.in_force["holder"]
        notes = [note for record in robot.records for note in record.notes]
        assert [note.code for note in notes].count("adjusted") == len(corrections)
        assert "since 2026-05-03; the robot adjusted it: ccw 1000 -> " in notes[0].text
        # One step back leads to the version that a person kept, not to the previous correction.
        robot.calibrations.restore(robot.profile)
        assert robot.in_force["holder"] == CUBOTINO.actuators["holder"].places


@pytest.mark.long
@pytest.mark.parametrize("robot", ["cubotino", "two-arm"])
def test_a_camera_that_was_turned_moves_no_servo(tmp_path, robot):
    with drifting(tmp_path, self_adjust=True, robot=robot, check_after=False) as turning:
        places = turning.in_force
        begin(turning)
        turning.turn_camera(3.0)
        assert turning.solve_and_drift(4, 0.0, "R") == 4
        assert turning.in_force == places
        assert [note.code for note in turning.records[-1].notes] == ["camera-turned"]
        _, watch, _ = turning.daemon()
        asyncio.run(watch.begin())
        assert all(abs(one.degrees) < ADJUST_FROM_DEGREES for one in watch.estimates)


def test_grippers_that_drift_are_followed_the_one_below_by_turns_the_other_by_tilts(tmp_path):
    with drifting(tmp_path, self_adjust=False, robot="two-arm", check_after=False) as robot:
        begin(robot, everywhere=True)
        assert robot.solve_and_drift(1, 2.0, "R") == 1
        first = robot.drifts.load(robot.profile, robot.today)
        assert robot.solve_and_drift(1, 0.0, "R") == 1
        later = robot.drifts.load(robot.profile, robot.today)
        assert robot.robot.violations == []
    for name in ("right", "down"):
        pairs = [
            (before, after)
            for before, after in zip(first.positions, later.positions, strict=True)
            if before.actuator == name and after.solves == FIRST_SOLVES + 2
        ]
        # Each solve moves an estimate a third of the way to its own measurement.
        seen_later = median(3 * after.degrees - 2 * before.degrees for before, after in pairs)
        shown = seen_later - median(3 * before.degrees for before, _ in pairs)
        # Tilts depend on the camera's height above the face, which is not known exactly.
        assert shown == pytest.approx(2.0, rel=0.15)
    assert later.camera.distance < 0.02, "a face that is tilted has not moved"


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("profile", ["cubotino", "two-arm"])
@pytest.mark.parametrize("self_adjust", [True, False])
def test_a_drift_of_a_fifth_of_a_degree_ends_fifty_solves_unless_it_is_followed(
    tmp_path, profile, self_adjust
):
    with drifting(tmp_path, self_adjust=self_adjust, robot=profile) as robot:
        solved = robot.solve_and_drift(50, 0.2)
        if self_adjust:
            assert (solved, robot.robot.violations) == (50, [])
        else:
            assert solved < 30
            assert {note.code for note in robot.records[-1].notes} & {"moved", "moved-too-far"}
