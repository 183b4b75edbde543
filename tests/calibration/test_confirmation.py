"""What counts as confirmed, what a calibration may not change, and sessions as one version."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robot.api.calibrations import Calibration
from robot.api.client import ControlClient, RequestError
from robot.api.endpoints import Endpoint
from robot.calibration.store import CalibrationStore
from robot.calibration.values import BadCalibration, apply, require_possible
from robot.daemon.job_control import JobController
from robot.machine.confirmed_range import confirmable
from robot.settings import RobotProfile, list_profiles, load_profile
from robot.settings.actuators import Servo
from tests.rig.state_folder import kept

Ask = Callable[..., tuple[int, list[dict[str, Any]], str]]
CUBOTINO = load_profile("cubotino")
ALL_OF_IT = confirmable(CUBOTINO)
LID = "actuators.lid.positions_us"
ALL = ("all", "--robot", "cubotino", "--yes", "--real")
LIMITS = "actuators.lid.limits_us"


def exported(folder: Path, robot: str = "cubotino", **values: Any) -> str:
    file = folder / "mine.json"
    file.write_text(json.dumps({"format": 2, "robot": robot, "size": 3, "values": values}))
    return str(file)


def keep(values: dict[str, Any]) -> None:
    client = ControlClient()
    with client.maintenance():
        client.call(Endpoint("PUT", "/calibration"), {"values": values})


def unconfirmed() -> list[str]:
    return list(ControlClient().status()["calibration"]["unconfirmed"])


def test_another_robot_s_file_is_taken_only_on_purpose_and_then_confirms_nothing(
    daemon: Any, ask: Ask, tmp_path: Path
) -> None:
    file = exported(tmp_path, "mindcuber", **ALL_OF_IT)
    code, _, err = ask("calibration", "import", file)
    assert code == 2 and "--from-another mindcuber" in err
    assert ask("calibration", "show")[1][0]["values"] == {}
    code, _, err = ask("calibration", "import", file, "--from-another", "two-arm")
    assert code == 2 and "a calibration of mindcuber" in err
    code, (taken,), _ = ask("calibration", "import", file, "--from-another", "mindcuber")
    assert (code, taken["values"]) == (0, ALL_OF_IT)
    assert {one["robot"] for one in taken["sources"].values()} == {"mindcuber"}
    assert unconfirmed() == list(ALL_OF_IT)


def test_what_was_confirmed_here_stays_so_when_imported_and_the_rest_is_not(
    daemon: Any, ask: Ask, tmp_path: Path
) -> None:
    keep(ALL_OF_IT)
    assert unconfirmed() == []
    other = f"{LID}.open"
    code, (taken,), _ = ask(
        "calibration", "import", exported(tmp_path, **ALL_OF_IT | {other: 1345})
    )
    assert (code, taken["values"][other]) == (0, 1345)
    assert unconfirmed() == [other]
    code, _, err = ask("calibrate", "servo", "lid", "open", "--to", "1345")
    assert (code, unconfirmed()) == (0, []), err


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({LIMITS: [500, 2500]}, "protects the robot and comes from its profile alone"),
        ({LIMITS: [500, 2500], f"{LID}.open": 2400}, "comes from its profile alone"),
        ({"actuators.lid": {"limits_us": [500, 2500]}}, "name one setting of one actuator"),
        ({f"{LID}.open": 1500, f"{LID}.close": 1345, f"{LID}.flip": 1050}, "lid.*close"),
        ({f"{LID}.open": 1335, f"{LID}.close": 1357}, "22 us apart, 165 in the profile"),
        ({"actuators.holder.positions_us.home": 1950}, "holder"),
        ({"colours.linear_rgb.U": ["white"] * 3}, "colours"),
    ],
)
def test_what_the_robot_cannot_be_is_refused_and_nothing_changes(
    values: dict[str, Any], said: str, daemon: Any, ask: Ask, tmp_path: Path
) -> None:
    keep(ALL_OF_IT)
    before = ask("calibration", "show")[1]
    code, _, err = ask("calibration", "import", exported(tmp_path, **ALL_OF_IT | values))
    assert code == 2
    with pytest.raises(RequestError, match=said):
        keep(values)
    assert ask("calibration", "show")[1] == before, err


def test_no_number_is_no_number(daemon: Any, ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"robot": "cubotino", "values": {"policy.search_s": NaN}}')
    assert ask("calibration", "import", str(file))[0] == 2
    file.write_text('{"format": 9, "robot": "cubotino", "values": {}}')
    code, _, err = ask("calibration", "import", str(file))
    assert code == 2 and "format 9" in err
    client = ControlClient()
    with client.maintenance(), pytest.raises(RequestError):
        client.call(Endpoint("PUT", "/calibration"), {"values": {"policy.search_s": float("nan")}})


def test_limits_that_an_old_file_widened_are_kept_said_once_and_not_in_force(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    document = {"format": 2, "robot": "cubotino", "values": ALL_OF_IT | {LIMITS: [500, 2500]}}
    (tmp_path / "calibration.json").write_text(json.dumps(document))
    store = CalibrationStore(tmp_path)
    for _ in range(2):
        found = store.load(CUBOTINO)
    assert apply(CUBOTINO, found).actuators["lid"].limits == (900, 2100)
    assert len(caplog.messages) == 1 and LIMITS in caplog.messages[0]
    after = found.changed({f"{LID}.open": 1345})
    require_possible(CUBOTINO, found, after)
    store.save(after)
    assert store.load(CUBOTINO).values[LIMITS] == [500, 2500]


REPRESENTATIVE = ("cubotino", "two-arm", "six-motor", "crane")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] * (name not in REPRESENTATIVE))
        for name in list_profiles()
    ],
)
def test_a_robot_that_is_built_as_usual_can_be_calibrated_and_swapped_positions_cannot_be_kept(
    name: str,
) -> None:
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
    """Where everything is with horns on by a few degrees, and servos of another scale."""
    places = confirmable(profile)
    for name, servo in profile.actuators_of(Servo).items():
        low, high = servo.limits_us
        middle = sum(servo.places.values()) / len(servo.places)
        for position, pulse in servo.places.items():
            there = round(middle + (pulse - middle) * scale + shift_us)
            places[f"actuators.{name}.positions_us.{position}"] = max(low, min(high, there))
    return places


def swaps(profile: RobotProfile) -> list[tuple[str, str]]:
    """Any two positions of an actuator; a table's servo may be mounted the other way round, so that
    its two outer ones change places."""
    found: list[tuple[str, str]] = []
    for name, one in profile.actuators.items():
        in_order = sorted(one.places, key=one.places.__getitem__)
        keys = [f"actuators.{name}.{one.positions_key}.{position}" for position in in_order]
        outer = (keys[0], keys[-1]) if profile.mechanism.rotated_by(name) and keys else None
        found += [pair for pair in itertools.combinations(keys, 2) if pair != outer]
    return found


def test_two_positions_that_change_at_once_are_judged_together(daemon: Any, ask: Ask) -> None:
    keep(ALL_OF_IT)
    moved = {
        f"{LID}.{name}": place + 250 for name, place in CUBOTINO.actuators["lid"].places.items()
    }
    with pytest.raises(RequestError, match="set them at once"):
        keep({f"{LID}.open": moved[f"{LID}.open"]})
    keep(moved)
    given = [f"--set=lid.{key.rpartition('.')[2]}={place - 250}" for key, place in moved.items()]
    skip = [f"--skip={step}" for step in ("home", "camera", "travel", "colours", "timing")]
    code, told, err = ask(
        "calibrate", "all", "--robot", "cubotino", "--yes", "--real", *given, *skip
    )
    assert code == 0, err
    lid = {one["key"]: one["after"] for one in told if "lid" in one.get("key", "")}
    assert lid == {key: place - 250 for key, place in moved.items()}
    assert ask("calibration", "show")[1][0]["values"] == ALL_OF_IT


def test_a_session_is_one_version_whose_values_say_where_they_come_from(
    daemon: Any, ask: Ask
) -> None:
    client = ControlClient()
    keep(ALL_OF_IT)
    with client.maintenance():
        for place in (1340, 1345, 1350):
            client.call(Endpoint("PUT", "/calibration"), {"values": {f"{LID}.open": place}})
        found = {"values": {f"{LID}.flip": 1060}, "how": "auto", "uncertain": {f"{LID}.flip": 14}}
        client.call(Endpoint("PUT", "/calibration"), found)
    listed = ask("calibration", "versions")[1]
    assert [(one["version"], one["changed"]) for one in listed] == [(1, 6), (2, 2)]
    (now,) = ask("calibration", "show")[1]
    flip = now["sources"][f"{LID}.flip"]
    assert (flip["how"], flip["uncertain"], flip["confirmed"]) == ("auto", 14, True)
    code, (restored,), _ = ask("calibration", "restore")
    assert code == 0 and restored["values"] == ALL_OF_IT
    changes = {one["key"]: (one["before"], one["after"]) for one in restored["changes"]}
    assert changes == {f"{LID}.open": (1350, 1335), f"{LID}.flip": (1060, 1050)}
    assert ask("calibration", "restore")[1][0]["values"][f"{LID}.open"] == 1350
    assert ask("calibration", "restore", "0")[1][0]["values"] == {}
    assert unconfirmed() == list(ALL_OF_IT)
    assert ask("calibration", "restore", "1")[1][0]["values"] == ALL_OF_IT
    code, _, err = ask("calibration", "restore", "77")
    assert code == 2 and "no version 77" in err


def test_undoing_gives_back_what_was_not_confirmed(daemon: Any, ask: Ask, tmp_path: Path) -> None:
    ask("calibration", "import", exported(tmp_path, **ALL_OF_IT))
    client = ControlClient()
    with client.maintenance():
        client.call(Endpoint("PUT", "/calibration"), {"values": {f"{LID}.open": 1335}})
        assert f"{LID}.open" not in unconfirmed()
        client.call(Endpoint("POST", "/calibration/undo"), {})
        assert unconfirmed() == list(ALL_OF_IT)
        with pytest.raises(RequestError, match="nothing was kept"):
            client.call(Endpoint("POST", "/calibration/undo"), {})
    assert len(ask("calibration", "versions")[1]) == 1


def test_who_breaks_a_session_off_is_told_what_stays(daemon: Any, ask: Ask) -> None:
    """What was kept stays, as one version that can be taken back."""
    keep(ALL_OF_IT)
    homes = daemon.motion.home

    def interrupted(*given: Any) -> Any:
        os.kill(child.pid, signal.SIGINT)
        return homes(*given)

    daemon.motion.home = interrupted
    with subprocess.Popen(
        [sys.executable, "-m", "robot.cli.main", "calibrate", *ALL, "--set=lid.open=1340"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        _, said = child.communicate()
    assert child.returncode == 4
    assert "1 value that was kept" in said and "calibration restore" in said
    assert ask("calibration", "show")[1][0]["values"] == ALL_OF_IT | {f"{LID}.open": 1340}
    assert ask("calibration", "restore")[1][0]["values"] == ALL_OF_IT


def test_status_says_since_when_by_what_how_sure_and_what_is_missing(
    daemon: Any, ask: Ask, capfd: pytest.CaptureFixture[str]
) -> None:
    from robot.cli.main import run

    client = ControlClient()
    holder = {key: place for key, place in ALL_OF_IT.items() if "holder" in key}
    with client.maintenance():
        unsure = dict.fromkeys(holder, 6.0)
        client.call(
            Endpoint("PUT", "/calibration"), {"values": holder, "how": "auto", "uncertain": unsure}
        )
    assert run(["status"]) == 0
    said = capfd.readouterr().out
    for word in ("version 1", "measured by `auto`", "within: holder", "lid open", "colours"):
        assert word in said
    assert run(["calibration", "show"]) == 0
    both = capfd.readouterr()
    assert "actuators.holder.positions_us.home: 1500  # measured by `auto`" in both.out
    assert "version 1" in both.err


def test_a_renamed_profile_is_told_of_the_calibration_that_it_had(
    daemon: Any, ask: Ask, tmp_path: Path
) -> None:
    CalibrationStore(tmp_path / "state").save(kept("my-cubotino", ALL_OF_IT))
    code, (taken,), _ = ask("calibration", "import", "--from-another", "my-cubotino")
    assert (code, taken["values"], unconfirmed()) == (0, ALL_OF_IT, list(ALL_OF_IT))
    assert CalibrationStore(tmp_path / "state").values_of_another("my-cubotino") == ALL_OF_IT
    assert ask("calibration", "import", "--from-another", "crane")[0] == 2


async def test_the_name_of_another_calibration_is_said_by_status_and_log(
    controller: JobController, maintenance_of: Any, fake: Any, tmp_path: Path, caplog: Any
) -> None:
    CalibrationStore(tmp_path / "state").save(kept("my-cubotino", ALL_OF_IT))
    await maintenance_of(controller, fake).begin()
    said = "calibration import --from-another my-cubotino"
    assert any(said in warning for warning in controller.status().warnings)
    assert said in caplog.text
