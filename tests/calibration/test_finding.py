"""Robots that were not built as drawn calibrate themselves."""

from __future__ import annotations

import numpy as np
import pytest

from robot.calibration.auto.calibration import AutomaticCalibration
from robot.calibration.auto.layered_flipper import FlatPlace, fit_heights
from robot.calibration.auto.proof import PROVING
from robot.settings import load_profile
from robot.twin.misadjustment import SPEED, parse_misadjustment
from robot.twin.studio import OddScene
from tests.calibration.conftest import calibrating
from tests.calibration.found import LEAST_WIDER, MOST_WIDER, Outcome, calibrated
from tests.rig.profiles import changed


def test_raised_faces_tell_where_the_cube_was_reached_and_where_a_level_one_is():
    height, foot, begins = 7.0, np.array([0.3, -0.8]), 40

    def seen(steps: int) -> FlatPlace:
        scale = height / (height - (steps - begins) / 570)
        return FlatPlace(foot * (1 - scale), scale)

    askew = FlatPlace(np.array([0.0, 0.1]), 1.0)
    line = fit_heights(askew, {steps: seen(steps) for steps in range(200, 1200, 200)})
    assert line.begins == pytest.approx(begins, abs=0.1)
    assert line.level == pytest.approx(np.zeros(2), abs=0.001)


def test_a_robot_that_was_not_built_as_drawn_calibrates_itself():
    outcome = calibrated("cubotino", "7")
    assert (outcome.why_not, outcome.violations, outcome.kept_before_the_end) == ("", [], {})
    assert len(outcome.off_degrees) == 6
    assert max(abs(off) for off in outcome.off_degrees.values()) < 2.0
    assert len(outcome.travel_parts) == 3
    assert all(1.0 <= part <= 1.1 for part in outcome.travel_parts)
    assert outcome.document["took_s"] < 480
    # The profile's times of the lid and the table compared with those found, on average.
    before, after = (outcome.document[key] for key in ("planned_before_s", "planned_s"))
    assert after != before
    assert 0.6 < after / before < 1.6


def test_without_a_cube_in_view_nothing_moves():
    with calibrating(load_profile("cubotino")) as (_, session):
        for camera in session.cameras.values():
            camera.studio.disturbances.odd = OddScene.NO_CUBE
        measurement = AutomaticCalibration(session)
        assert list(measurement.measure()) == []
        assert set(session.trials) == {"picture"}
    assert "put a scrambled cube in" in measurement.document["because"]
    assert (measurement.is_found, measurement.values) == (False, {})
    assert session.calibration.values == {}


ROBOTS = {
    "cubotino": (range(1, 51), 6, 3),
    "two-arm": (range(1, 21), 10, 6),
    "mindcuber": (range(1, 21), 3, 0),
    "four-arm": (range(1, 11), 8, 0),
    "six-motor": (range(1, 11), 0, 0),
    "two-arm-2x2x2": (range(1, 4), 10, 6),
    "v-arms": (range(1, 3), 10, 6),
    "otvinta": (range(1, 2), 20, 12),
    "rubpyx": (range(1, 3), 20, 12),
    "cubotone": (range(1, 3), 5, 0),
    "soltvvo": (range(1, 3), 8, 0),
    "crane": (range(2, 6, 3), 4, 0),
}
"""Seeds of each profile's robots; numbers of servo positions and travel times each finds."""

SLOWER_OF_PAIR = (1 + SPEED) / (1 - SPEED)
"""Largest ratio of two servos' times. A pair that turns the cube gets the slower one's times."""

JAWS_OPEN = ("-jaw.positions_us.open",)
NOT_SEEN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("two-arm", "two-arm-2x2x2", "v-arms", "four-arm", "otvinta", "soltvvo"), JAWS_OPEN
    ),
    "rubpyx": ("-clamp.positions_us.open",),
    "crane": ("squisher.positions_us.open",),
    "cubotone": (
        *("flipper.positions_us.low", "flipper.positions_us.high"),
        "lid.positions_us.read",  # a margin away from where the lid begins to hide the face
    ),
    "mindcuber": ("arm.positions_us.rest", "arm.positions_us.pull"),
}
"""Positions only as exact as their reported uncertainty: the camera sees no motion there."""

QUICKER = {
    "simulation.actuators.holder.max_speed_us_per_s": 1.25 * 500 / 0.7,
    "simulation.actuators.lid.max_speed_us_per_s": 1.25 * 450 / 0.6,
}
"""Servos that take four fifths of the profile's times."""


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("name", "seed"), [(name, seed) for name, (seeds, *_) in ROBOTS.items() for seed in seeds]
)
def test_every_robot_finds_its_positions_times_and_colours(name, seed):
    _, positions, travels = ROBOTS[name]
    outcome = calibrated(name, str(seed))
    assert (outcome.why_not, outcome.wrong_motors) == ("", {})
    # A trial loses the steps of a weak motor, which then gets a lower speed.
    is_slowed = "lost" in str(outcome.document["slower"])
    harmed = [one for one in outcome.violations if not (is_slowed and one.kind == "lost-steps")]
    assert harmed == []
    off = {key: abs(degrees) for key, degrees in outcome.off_degrees.items()}
    assert len(off) == positions
    unseen = NOT_SEEN.get(name, ())
    assert max((off[key] for key in off if not key.endswith(unseen)), default=0.0) <= 3.0
    # An uncertainty holds for 95 % of the positions: one of a robot may be further off.
    too_sure = [key for key, degrees in off.items() if degrees > outcome.uncertain_degrees[key]]
    assert len(too_sure) <= 1
    assert not any(key.endswith(unseen) for key in too_sure)
    way = 2.5 if name == "rubpyx" else 1.0  # its jaws travel that much further
    wider = outcome.wider_degrees.values()
    assert all(LEAST_WIDER * way <= degrees <= MOST_WIDER * way for degrees in wider)
    assert len(outcome.travel_parts) == travels
    # Servos creep at the end of their travel, and a film of few pictures is less exact.
    longest = 1.15 * SLOWER_OF_PAIR if name in ("otvinta", "rubpyx") else 1.15
    assert all(1.0 <= part <= longest for part in outcome.travel_parts)
    # Four grippers on servos measure twelve motions; a crane's solves take most of its time.
    longest_s = 1800 if name in ("otvinta", "rubpyx", "crane") else 600
    assert outcome.document["took_s"] <= longest_s


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 21))
@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_built_twice_as_badly_is_calibrated_or_says_why_not(name, seed):
    outcome = calibrated(name, f"{seed}:2")
    if outcome.why_not:
        assert outcome.document["because"] and outcome.kept_before_the_end == {}
        return
    assert outcome.wrong_motors == {}
    unseen = NOT_SEEN.get(name, ())
    off = [abs(off) for key, off in outcome.off_degrees.items() if not key.endswith(unseen)]
    assert max(off, default=0.0) <= 4.0


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_robot_that_is_quicker_than_its_profile_plans_shorter_and_is_never_too_short():
    profile = changed("cubotino", QUICKER)
    truth = parse_misadjustment("3:0.1")
    with calibrating(profile, seed=3, misadjusted=truth) as (run, session):
        measurement = AutomaticCalibration(session, faster=0.18)
        assert list(measurement.measure())
        document = measurement.document
        session.try_out(document["values"])
        solves = [session.perform(PROVING, solved=number > 0).solved for number in range(5)]
    outcome = Outcome.of(profile, truth, document, run.robot.violations, {})
    assert outcome.why_not == ""
    assert all(solves)
    assert outcome.violations == []
    assert len(outcome.travel_parts) == 6
    assert min(outcome.travel_parts) >= 1.0
    assert document["planned_s"] <= 0.85 * document["planned_before_s"]
