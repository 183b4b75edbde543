"""Calibrated values: their keys, their differences, and values that no robot can have.

CUBOTino's own settings file becomes such values.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from robot.api.calibrations import Calibration
from robot.api.client import RequestError
from robot.calibration.cubotino import import_cubotino
from robot.calibration.step import Session
from robot.calibration.steps.travel import travel_values
from robot.calibration.values import (
    BadCalibration,
    apply,
    differences,
    require_plausible,
    require_possible,
)
from robot.cli.main import run
from robot.machine.confirmed_range import confirmable
from robot.settings import RobotProfile, list_profiles, load_profile
from robot.settings.actuators import Servo
from solver.files import BadFile
from tests.rig.profiles import kept

CUBOTINO = load_profile("cubotino")
OPEN = "actuators.lid.positions_us.open"
RIGHT = "actuators.right"
HOLDER = "actuators.holder.travel"
QUAD = "cameras.top.views.U.quad"

LID = "actuators.lid.positions_us"
LIMITS = "actuators.lid.limits_us"
REPRESENTATIVE = ("cubotino", "two-arm", "six-motor", "crane")
FAST = {"max_speed_steps_per_s": 60_000, "max_acceleration_steps_per_s2": 8000}
SETTINGS = """
    t_min_pulse_width 1, t_max_pulse_width 2, t_servo_close 0, t_servo_open -0.33,
    t_servo_read -0.5, t_servo_flip -0.9, t_servo_rel_delta 0.02, t_flip_to_close_time 0.6,
    t_close_to_flip_time 0.6, t_flip_open_time 0.5, t_open_close_time 0.3, t_rel_time 0.2,
    b_min_pulse_width 1, b_max_pulse_width 2, b_servo_CCW -1, b_servo_CW 1, b_home 0,
    b_rel_CCW 0.04, b_extra_home_CW 0.12, b_spin_time 0.7, b_rotate_time 0.8, b_rel_time 0.2
"""
"""Settings that CUBOTino comes with."""
SHIPPED = dict(setting.split() for setting in SETTINGS.split(","))


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("mechanism.kind", 1, "only actuators, cameras, colours, policy can be calibrated"),
        ("actuators.hat.positions_us.open", 1, "the profile has no hat there"),
        ("actuators.lid.positions_us.up", 1, "the profile has no up there"),
        ("cameras.bottom.views.U.quad", 1, "the profile has no bottom there"),
        ("cameras.top.views.D.quad", 1, "the profile has no D there"),
        ("actuators.lid.positions_us.open.more", 1, "the profile has no more there"),
        ("actuators.lid", {"limits_us": [500, 2500]}, "name one setting of one actuator"),
        (OPEN, "far", rf"^{OPEN}: Input should be a valid integer.*'far'"),
        (OPEN, 5000, rf"^{OPEN}: .* less than or equal to 2500, not 5000"),
        (QUAD, [[0.3, 2], [0.7, 0.2], [0.7, 0.7], [0.2, 0.7]], r"^cameras\[0\]\.views\[0\]\.quad"),
    ],
)
def test_values_that_do_not_fit_are_named(key, value, why):
    with pytest.raises(BadCalibration, match=why):
        apply(CUBOTINO, Calibration(robot="cubotino", values={key: value}))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({LIMITS: [500, 2500]}, "protects the robot and comes only from its profile"),
        ({LIMITS: [500, 2500], OPEN: 2400}, "comes only from its profile"),
        ({OPEN: 1500, f"{LID}.close": 1345, f"{LID}.flip": 1050}, "lid.*close"),
        ({OPEN: 1335, f"{LID}.close": 1357}, "22 us apart, 165 in the profile"),
        ({OPEN: 1585}, "set them together"),
        ({"actuators.holder.positions_us.home": 1950}, "holder"),
    ],
)
def test_what_the_robot_cannot_be_is_named(values, why):
    before = kept("cubotino", confirmable(CUBOTINO))
    with pytest.raises(BadCalibration, match=why):
        require_possible(CUBOTINO, before, before.changed(values))
    all_at_once = {
        f"{LID}.{name}": place + 250 for name, place in CUBOTINO.actuators["lid"].places.items()
    }
    require_possible(CUBOTINO, before, before.changed(all_at_once))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] * (name not in REPRESENTATIVE))
        for name in list_profiles()
    ],
)
def test_a_robot_that_is_built_as_usual_can_be_calibrated_and_swapped_positions_cannot_be_kept(
    name,
):
    profile = load_profile(name)
    empty = Calibration(robot=name)
    for shift_us, scale in itertools.product((-25, 0, 25), (0.9, 1.0, 1.1)):
        values = built(profile, shift_us, scale)
        require_possible(profile, empty, kept(name, values))
        for one, other in swaps(profile):
            swapped = values | {one: values[other], other: values[one]}
            with pytest.raises(BadCalibration):
                require_possible(profile, empty, kept(name, swapped))


def built(profile: RobotProfile, shift_us: int, scale: float) -> dict[str, Any]:
    """Return positions with horns mounted a few degrees off, and servos of another scale."""
    places = confirmable(profile)
    for name, servo in profile.actuators_of(Servo).items():
        low, high = servo.limits_us
        middle = sum(servo.places.values()) / len(servo.places)
        for position, pulse in servo.places.items():
            there = round(middle + (pulse - middle) * scale + shift_us)
            places[f"actuators.{name}.positions_us.{position}"] = max(low, min(high, there))
    return places


def swaps(profile: RobotProfile) -> list[tuple[str, str]]:
    """Return all pairs of positions of an actuator, except a table's two outer ones.

    Those swap if its servo is mounted the other way round.
    """
    found: list[tuple[str, str]] = []
    for name, one in profile.actuators.items():
        in_order = sorted(one.places, key=one.places.__getitem__)
        keys = [f"actuators.{name}.{one.positions_key}.{position}" for position in in_order]
        outer = (keys[0], keys[-1]) if profile.mechanism.rotated_by(name) and keys else None
        found += [pair for pair in itertools.combinations(keys, 2) if pair != outer]
    return found


@pytest.mark.parametrize(
    ("key", "value", "refused"),
    [
        (f"{RIGHT}.backlash_steps", 60, ""),
        (f"{RIGHT}.backlash_steps", 1000, "225 degrees of play"),
        (f"{RIGHT}.steps_per_turn", 3200, ""),
        (f"{RIGHT}.steps_per_turn", 1620, ""),
        (f"{RIGHT}.steps_per_turn", 16, "no microstep setting gives 16 steps"),
        (f"{RIGHT}.steps_per_turn", 2200, "no microstep setting"),
        (f"{RIGHT}.max_speed_steps_per_s", 100, ""),
        (f"{RIGHT}.max_speed_steps_per_s", 60_000, "far from the"),
        (f"{RIGHT}.max_acceleration_steps_per_s2", 9_999_999, "far from the"),
        (f"{RIGHT}.held", FAST, "held.max_speed_steps_per_s: 60000 is far"),
        (HOLDER, 150, ""),
        (HOLDER, 10, "10 ms from ccw to home is impossible"),
        (HOLDER, 15_000, "15000 ms from ccw to home is impossible"),
        (QUAD, [[0.3, 0.2], [0.7, 0.2], [0.72, 0.7], [0.28, 0.7]], ""),
        (QUAD, [[0.1, 0.2], [0.9, 0.2], [0.53, 0.9], [0.47, 0.9]], "sides of the face"),
    ],
)
def test_values_are_near_to_the_profile_s(key, value, refused):
    profile = load_profile("four-arm") if key.startswith(RIGHT) else CUBOTINO
    if key == HOLDER:
        servo = CUBOTINO.actuators_of(Servo)["holder"]
        values: dict[str, Any] = travel_values("holder", servo, ("ccw", "home"), value)
    else:
        values = {key: value}
    calibrated = apply(profile, Calibration(robot=profile.name, values=values))
    if not refused:
        require_plausible(profile, calibrated, values)
        return
    with pytest.raises(BadCalibration, match=refused):
        require_plausible(profile, calibrated, values)
    # A change of another value does not complain about values already kept.
    require_plausible(profile, calibrated, ["policy.search_s"])


@pytest.fixture
def profile_name() -> str:
    return "four-arm"


def test_the_daemon_keeps_and_tries_out_nothing_that_cannot_be(daemon, ask):
    code, _, err = ask("calibrate", "stepper", "backlash", "right", "--to", "1000")
    assert code == 2
    assert "225 degrees of play" in err
    session = Session()
    with session.maintenance(), pytest.raises(RequestError, match="degrees of play"):
        session.try_out({f"{RIGHT}.backlash_steps": 1000})
    assert ask("calibration", "show")[1][0]["values"] == {}


def settings_file(folder: Path, **changes: Any) -> Path:
    path = folder / "Cubotino_T_servo_settings.txt"
    kept = {key: value for key, value in (SHIPPED | changes).items() if value is not None}
    path.write_text(json.dumps(kept))
    return path


@pytest.mark.quick
def test_the_settings_it_comes_with_are_those_of_the_profile(tmp_path, capfd):
    made = tmp_path / "mine.json"
    assert run(["config", "import-cubotino", str(settings_file(tmp_path)), str(made)]) == 0
    out = capfd.readouterr().out
    assert "actuators.lid.positions_us.open: 1335" in out and f"calibration import {made}" in out
    unused = {line.split()[2].rstrip(":,") for line in out.splitlines() if "not imported" in line}
    assert unused == {"t_servo_rel_delta", "b_rel_CCW", "b_extra_home_CW"}
    found = Calibration.model_validate_json(made.read_bytes())
    assert found.robot == "cubotino"
    calibrated = apply(CUBOTINO, found)
    for name in ("lid", "holder"):
        ours, its = CUBOTINO.actuators[name], calibrated.actuators[name]
        assert its.places == ours.places
        for way in itertools.permutations(ours.places, 2):
            for held in (False, True):
                assert its.transition_us(*way, held) == ours.transition_us(*way, held)
    changed = [key for key, *_ in differences(CUBOTINO, found)]
    assert not any("positions" in key or "settle" in key for key in changed)


def test_positions_are_between_the_servo_s_own_pulses(tmp_path):
    """Convert a micro's file: numbers instead of text, and another range for each servo."""
    path = settings_file(
        tmp_path,
        t_min_pulse_width=0.5,
        t_max_pulse_width=2.5,
        t_servo_flip=-0.94,
        b_min_pulse_width=0.38,
        b_max_pulse_width=2.62,
        b_servo_CW=0.8,
        b_servo_CCW=-0.94,
        t_close_to_flip_time=0.24,
        t_flip_to_close_time=0.14,
    )
    profile = load_profile("cubotino-micro")
    values = import_cubotino(path, profile).values
    assert values["actuators.lid.positions_us.flip"] == 560
    assert values["actuators.holder.positions_us.ccw"] == 447
    with pytest.raises(BadCalibration, match=r"ccw: 447 us is outside limits_us 500\.\.2500"):
        apply(profile, Calibration(robot="cubotino-micro", values=values))
    within = values | {"actuators.holder.positions_us.ccw": 500}
    lid = apply(profile, Calibration(robot="cubotino-micro", values=within)).actuators["lid"]
    ways = [lid.transition_us(*way) for way in (("close", "flip"), ("flip", "close"))]
    assert [way[0] for way in ways] == [240_000, 140_000]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"t_servo_open": None}, "not a CUBOTino's servo settings"),
        ({"b_home": None}, "b_home is missing"),
        ({"b_home": "mid"}, "b_home: mid is not a number"),
        ({"b_home": "nan"}, "b_home: nan is not a number"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path, changes, text):
    with pytest.raises(BadCalibration, match=text):
        import_cubotino(settings_file(tmp_path, **changes), CUBOTINO)
    (tmp_path / "settings.txt").write_text("t_servo_open = 1")
    with pytest.raises(BadFile):
        import_cubotino(tmp_path / "settings.txt", CUBOTINO)
