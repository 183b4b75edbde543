"""Two grippers find their positions by watching the cube, in simulated time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from robot.calibration.auto.face_watch import RotationGauge, view_from_above
from robot.calibration.auto.film import FILMING, angles, find_travel, travel_us
from robot.calibration.auto.grippers import WIDER_PART, GripperFinder
from robot.machine.confirmed_range import confirmable
from robot.settings import load_profile
from robot.text.faults import CalibrationError
from robot.twin.cube import scrambled
from robot.twin.misadjustment import parse_misadjustment
from solver.files import JsonObject
from tests.calibration.found import LEAST_WIDER, MOST_WIDER, Outcome
from tests.rig.simulated_calibration import SimulatedCalibration
from tests.rig.simulated_run import SimulatedRun

OPEN = ("right-jaw.positions_us.open", "down-jaw.positions_us.open")
"""Not seen by the camera: as far from ``closed`` as in the profile."""


@contextmanager
def robot(misadjusted: str = "3") -> Iterator[tuple[SimulatedRun, SimulatedCalibration]]:
    truth = parse_misadjustment(misadjusted)
    cube = scrambled(3, truth.seed)
    with SimulatedRun(load_profile("two-arm"), cube, misadjusted=truth) as run:
        session = SimulatedCalibration(run)
        with session.maintenance():
            yield run, session


def test_two_grippers_find_all_their_positions() -> None:
    values: JsonObject = {}
    uncertain: JsonObject = {}
    clear: list[float] = []
    with robot() as (run, session):
        for finding in GripperFinder(session).find():
            values |= finding.values
            uncertain |= finding.uncertain
            if at_us := finding.evidence.get("clear_at_us"):
                clear.append(at_us)
        assert run.robot.violations == []
        profile = run.profile
    assert set(confirmable(profile)) <= set(values)
    assert "cameras.top.views.U.quad" in values
    document = {"values": values, "uncertain": uncertain, "solved": 0, "took_s": 0.0}
    outcome = Outcome.of(profile, parse_misadjustment("3"), document, [], {})
    seen = {key: off for key, off in outcome.off_degrees.items() if not key.endswith(OPEN)}
    assert len(seen) == 8
    # A tenth of the way less open they were clear of the turning cube already.
    for jaws, at_us in zip(("right-jaw", "down-jaw"), clear, strict=True):
        opened, closed = (
            values[f"actuators.{jaws}.positions_us.{place}"] for place in ("open", "closed")
        )
        assert at_us == pytest.approx(0.9 * opened + 0.1 * closed, abs=1.0)
        # A servo may turn less for a pulse than the profile has it.
        places = profile.actuators[jaws].places
        drawn = places["open"] - places["closed"]
        assert opened - closed == pytest.approx((1 + WIDER_PART) * drawn, abs=1.0)
    assert max(abs(off) for off in seen.values()) < 1.5
    for key in outcome.off_degrees.keys() - seen.keys():
        assert abs(outcome.off_degrees[key]) <= outcome.uncertain_degrees[key]
    for degrees in outcome.wider_degrees.values():
        assert LEAST_WIDER <= degrees <= MOST_WIDER


@pytest.mark.parametrize(
    ("jammed", "why"),
    [
        ("down", "the cube does not turn with down"),
        pytest.param("right", "the cube does not turn with right", marks=pytest.mark.long),
        ("right-jaw", "does nothing else hold the cube"),
        pytest.param("down-jaw", "does something else hold the cube", marks=pytest.mark.long),
    ],
)
def test_a_servo_that_does_not_move_is_noticed(jammed: str, why: str) -> None:
    with robot() as (run, session):
        run.robot.jam(jammed)
        with pytest.raises(CalibrationError, match=why):
            for _ in GripperFinder(session).find():
                pass


@pytest.mark.long
def test_jaws_that_never_hold_are_named() -> None:
    why = r"right-jaw does not hold the cube even at \d+ us"
    with robot() as (run, session), pytest.raises(CalibrationError, match=why):
        for finding in GripperFinder(session).find():
            if finding.stage == "rotation":  # its jaws are open by then
                run.robot.jam("right-jaw")


def test_a_gripper_beside_the_cube_is_filmed_face_after_face() -> None:
    way, turned = ("ccw", "cw"), 180.0
    profile = load_profile("two-arm")
    with SimulatedRun(profile, scrambled(3, 1)) as run:
        session = SimulatedCalibration(run)
        session.keep(confirmable(profile))
        with session.maintenance():
            finder = GripperFinder(session)
            assert finder.watch.look() is not None
            seen = finder.seen_moving["right"]
            assert seen.degrees(way[1]) - seen.degrees(way[0]) == turned
            travels = []
            for _ in range(2):
                film = session.perform(
                    FILMING, actuator="right", between=list(way), aside=dict(seen.aside)
                )
                travels.append(find_travel(seen.rotation.read_film(film, turned), turned))
        assert run.robot.violations == []
    took = travel_us([one for one in travels if one is not None])
    assert took is not None
    assert took[0] == pytest.approx(turned / 90 * 800 / 4000 * 1e6, rel=0.04)


@pytest.mark.parametrize(("aside", "is_seen"), [({"right-jaw": "open"}, True), ({}, False)])
def test_a_gripper_is_filmed_while_the_other_one_is_out_of_the_way(
    aside: dict[str, str], is_seen: bool
) -> None:
    profile = load_profile("two-arm")
    with SimulatedRun(profile, scrambled(3, 1)) as run:
        session = SimulatedCalibration(run)
        watch = RotationGauge(session, *view_from_above(profile), sign=-1)
        session.keep(confirmable(profile))
        with session.maintenance():
            assert watch.look() is not None
            film = session.perform(FILMING, actuator="down", between=["home", "cw"], aside=aside)
        assert run.robot.violations == []
    assert (find_travel(angles(watch, film, 90.0), 90.0) is not None) is is_seen
