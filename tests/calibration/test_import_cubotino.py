"""CUBOTino's own settings file becomes a calibration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from robot.api.calibrations import Calibration
from robot.calibration.cubotino import import_cubotino
from robot.calibration.values import BadCalibration, apply, differences
from robot.cli.main import run
from robot.settings import load_profile
from solver.files import BadFile

pytestmark = pytest.mark.quick

SHIPPED = {
    "t_min_pulse_width": "1",
    "t_max_pulse_width": "2",
    "t_servo_close": "0",
    "t_servo_open": "-0.33",
    "t_servo_read": "-0.5",
    "t_servo_flip": "-0.9",
    "t_servo_rel_delta": "0.02",
    "t_flip_to_close_time": "0.6",
    "t_close_to_flip_time": "0.6",
    "t_flip_open_time": "0.5",
    "t_open_close_time": "0.3",
    "t_rel_time": "0.2",
    "b_min_pulse_width": "1",
    "b_max_pulse_width": "2",
    "b_servo_CCW": "-1",
    "b_servo_CW": "1",
    "b_home": "0",
    "b_rel_CCW": "0.04",
    "b_extra_home_CW": "0.12",
    "b_spin_time": "0.7",
    "b_rotate_time": "0.8",
    "b_rel_time": "0.2",
}
"""Those that CUBOTino comes with."""


def settings_file(folder: Path, **changes: Any) -> Path:
    path = folder / "Cubotino_T_servo_settings.txt"
    kept = {key: value for key, value in (SHIPPED | changes).items() if value is not None}
    path.write_text(json.dumps(kept))
    return path


def test_the_settings_it_comes_with_are_those_of_the_profile(tmp_path: Path) -> None:
    profile = load_profile("cubotino")
    found = import_cubotino(settings_file(tmp_path), profile)
    calibrated = apply(profile, Calibration(robot="cubotino", values=found.values))
    for name in ("lid", "holder"):
        ours, its = profile.actuators[name], calibrated.actuators[name]
        assert its.places == ours.places
        for start in ours.places:
            for end in set(ours.places) - {start}:
                for held in (False, True):
                    times = [one.transition_us(start, end, held) for one in (ours, its)]  # type: ignore[attr-defined]
                    assert times[0] == times[1]
    changed = [key for key, *_ in differences(profile, Calibration(robot="x", values=found.values))]
    assert not any("positions" in key or "settle" in key for key in changed)
    assert set(found.unused) == {"t_servo_rel_delta", "b_rel_CCW", "b_extra_home_CW"}


@pytest.mark.parametrize(
    ("robot", "changes", "said"),
    [
        ("cubotino", {}, ""),
        ("cubotino", {"t_servo_read": "-0.45"}, "0.789 of the lid for this place, and has 0.702"),
        ("cubotino-micro", {}, "0.702 of the lid for this place"),
        ("cubotino", {"t_servo_read": "-0.33"}, "looks with the lid open"),
        ("cubotino", {"t_servo_read": "-0.8"}, "looks with the lid open"),
        ("cubotino", {"t_servo_flip": "-0.33"}, "looks with the lid open"),
    ],
)
def test_the_place_for_reading_is_compared_with_the_profile_s(
    tmp_path: Path, robot: str, changes: dict[str, str], said: str
) -> None:
    found = import_cubotino(settings_file(tmp_path, **changes), load_profile(robot))
    told = found.unused.get("t_servo_read", "")
    assert told.endswith(said) and bool(told) == bool(said)


def test_positions_are_between_the_servo_s_own_pulses(tmp_path: Path) -> None:
    """A micro's: numbers, not text, and another range for each servo."""
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
    ways = [lid.transition_us(*way) for way in (("close", "flip"), ("flip", "close"))]  # type: ignore[attr-defined]
    assert [way[0] for way in ways] == [240_000, 140_000]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"t_servo_open": None}, "no servo settings of a CUBOTino"),
        ({"b_home": None}, "b_home is missing"),
        ({"b_home": "mid"}, "b_home: mid is no number"),
        ({"b_home": "nan"}, "b_home: nan is no number"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(
    tmp_path: Path, changes: dict[str, Any], text: str
) -> None:
    with pytest.raises(BadCalibration, match=text):
        import_cubotino(settings_file(tmp_path, **changes), load_profile("cubotino"))


def test_what_is_no_json_is_no_settings_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.txt"
    path.write_text("t_servo_open = 1")
    with pytest.raises(BadFile):
        import_cubotino(path, load_profile("cubotino"))


def test_the_command_writes_what_can_be_imported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "mine.json"
    assert run(["config", "import-cubotino", str(settings_file(tmp_path)), str(made)]) == 0
    out = capfd.readouterr().out
    assert "actuators.lid.positions_us.open: 1335" in out
    assert "not taken over: b_rel_CCW" in out and f"calibration import {made}" in out
    kept = Calibration.model_validate_json(made.read_bytes())
    apply(load_profile("cubotino"), kept)
    assert kept.robot == "cubotino"


def test_a_pulse_that_no_board_makes_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = settings_file(tmp_path, b_max_pulse_width="2.62", b_min_pulse_width="0.38")
    made = tmp_path / "mine.json"
    assert run(["config", "import-cubotino", str(path), str(made)]) == 2
    assert "positions_us.cw: " in capfd.readouterr().err and not made.exists()


def test_another_robot_has_no_such_servos(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["config", "import-cubotino", str(settings_file(tmp_path)), str(tmp_path / "m.json")]
    assert run([*words, "--robot", "six-motor"]) == 2
    assert "is no CUBOTino" in capfd.readouterr().err
