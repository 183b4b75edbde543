"""config.txt line by line: what each says to which Pi, and what is missing in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from robot.computer import boot_config
from robot.computer.boot_config import (
    BootChange,
    Need,
    filters_of,
    needs,
    pi_board,
    plan_fix,
    plan_undo,
)
from robot.records.storage import TEMPORARY_PREFIX, TEMPORARY_SUFFIX
from robot.settings import RobotProfile, load_profile

ZERO = "Raspberry Pi Zero 2 W Rev 1.0"
PI5 = "Raspberry Pi 5 Model B Rev 1.0"
SERVOS = "dtoverlay=pwm-2chan,pin=12,func=4,pin2=13,func2=4"
CUBOTINO = load_profile("cubotino")
V_ARMS = load_profile("v-arms")


@pytest.mark.parametrize(
    ("model", "names"),
    [
        ("Raspberry Pi Zero 2 W", {"pi0", "pi02"}),
        ("Raspberry Pi Zero W", {"pi0", "pi0w"}),
        ("Raspberry Pi Zero", {"pi0"}),
        ("Raspberry Pi Compute Module 3 Plus", {"pi3", "cm3"}),
        ("Raspberry Pi Compute Module 4", {"pi4", "cm4"}),
        ("Raspberry Pi Compute Module 5", {"pi5", "cm5"}),
        ("Raspberry Pi 400", {"pi4", "pi400"}),
        ("Raspberry Pi 500", {"pi5", "pi500"}),
        ("Raspberry Pi 3 Model B Plus", {"pi3", "pi3+"}),
        ("Raspberry Pi 3 Model B", {"pi3"}),
        ("Raspberry Pi 4 Model B", {"pi4"}),
        ("Raspberry Pi 5 Model B", {"pi5"}),
        ("something else", set()),
    ],
)
def test_models_pass_their_own_filters(model: str, names: set[str]) -> None:
    assert filters_of(model) == names


def test_the_pi_is_the_board_that_is_one() -> None:
    assert pi_board(CUBOTINO) == "first"
    assert pi_board(load_profile("cubotino-uno")) is None
    assert needs(load_profile("cubotino-uno"), b"", ZERO) == []


def on_gpios(*pins: int) -> RobotProfile:
    document = CUBOTINO.model_dump(mode="json", exclude_unset=True)
    for servo, pin in zip(document["actuators"].values(), pins, strict=True):
        servo["pins"]["pulse"] = pin
    return RobotProfile.model_validate(document)


AUDIO = Need(
    "the analogue audio output is on: it uses the same PWM as the servos", "dtparam=audio=off"
)
NO_PWM = Need("no PWM at GPIO 12 and 13", SERVOS)


@pytest.mark.parametrize(
    ("profile", "text", "model", "found"),
    [
        (CUBOTINO, "", ZERO, [NO_PWM]),
        (CUBOTINO, "dtparam=audio=on", ZERO, [AUDIO, NO_PWM]),
        (CUBOTINO, "dtparam=audio=on", PI5, [NO_PWM]),
        (CUBOTINO, f"{SERVOS}\n", ZERO, []),
        (CUBOTINO, "dtoverlay=pwm-2chan,pin=12,func=2,pin2=13,func2=4", PI5, []),
        (CUBOTINO, "dtoverlay=pwm-2chan,pin=13,func=4,pin2=12,func2=4", ZERO, []),
        (CUBOTINO, f"dtoverlay=pwm,pin=18\n{SERVOS}", ZERO, []),
        (CUBOTINO, f"[gpio4=1]\n{SERVOS}", ZERO, [NO_PWM]),
        (
            CUBOTINO,
            "dtoverlay=pwm-2chan,pin=12,func=2,pin2=13,func2=4",
            ZERO,
            [
                Need(
                    "line 1 of config.txt sets PWM up, but not for GPIO 12 and 13",
                    "",
                    f"Replace that line by: {SERVOS}",
                )
            ],
        ),
        (
            on_gpios(22, 19),
            "",
            ZERO,
            [
                Need("no PWM at GPIO 19", "dtoverlay=pwm,pin=19,func=2"),
                Need("no PWM at GPIO 22", "dtoverlay=pwm-gpio,gpio=22"),
            ],
        ),
        (
            on_gpios(22, 19),
            "dtoverlay=pwm-gpio,gpio=19",
            ZERO,
            [Need("no PWM at GPIO 22", "dtoverlay=pwm-gpio,gpio=22")],
        ),
        (
            on_gpios(22, 4),
            "dtoverlay=pwm-pio\n[none]\ndtoverlay=pwm-gpio,gpio=22",
            ZERO,
            [Need("no PWM at GPIO 22", "dtoverlay=pwm-gpio,gpio=22")],
        ),
        (
            V_ARMS,
            "",
            ZERO,
            [
                Need("I2C is off, which the PCA9685 is on", "dtparam=i2c_arm=on"),
                Need("no PWM at the PCA9685", "dtoverlay=i2c-pwm-pca9685a,addr=0x40"),
            ],
        ),
        (
            V_ARMS,
            "dtparam=i2c=on\n[none]\ndtparam=i2c=off\n",
            ZERO,
            [
                Need("I2C is off, which the PCA9685 is on", "dtparam=i2c_arm=on"),
                Need("no PWM at the PCA9685", "dtoverlay=i2c-pwm-pca9685a,addr=0x40"),
            ],
        ),
        (V_ARMS, "dtparam=i2c_arm=on\ndtoverlay=i2c-pwm-pca9685a", ZERO, []),
    ],
)
def test_what_a_robot_lacks(
    profile: RobotProfile, text: str, model: str, found: list[Need]
) -> None:
    assert needs(profile, text.encode(), model) == found


def test_a_change_is_shown_line_by_line(tmp_path: Path) -> None:
    change = BootChange(tmp_path / "c", b"a=1\r\nb=\xff\r\n", b"a=1\r\nb=\xff\r\nc=3\r\n")
    assert change.diff.splitlines()[2:] == ["@@ -1,2 +1,3 @@", " a=1", " b=\\xff", "+c=3"]
    assert BootChange(tmp_path / "c", b"a", b"a").diff == ""
    assert change.backup == tmp_path / "c.before-cubist"


def test_a_file_keeps_its_mode_and_its_first_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.txt"
    path.write_bytes(b"a=1\n")
    path.chmod(0o640)
    left = tmp_path / f"{TEMPORARY_PREFIX}config.txt.1{TEMPORARY_SUFFIX}"
    left.touch()
    change = plan_fix(path, CUBOTINO, ZERO)
    assert (change.before, list(change.left)) == (b"a=1\n", [])
    change.write()
    assert not left.exists()
    assert {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()} == {
        "config.txt": 0o640,
        "config.txt.before-cubist": 0o640,
    }
    written: list[Any] = []
    monkeypatch.setattr(boot_config, "write_atomically", lambda at, *_, **__: written.append(at))
    plan_fix(path, V_ARMS, ZERO).write()
    assert written == [path], "the file before Cubist's first line stays"
    monkeypatch.undo()
    later = path.read_bytes() + b"b=2\n"
    path.write_bytes(later)
    plan_undo(path).write()
    assert path.read_bytes() == b"a=1\nb=2\n"
    assert change.backup.read_bytes() == b"a=1\n", "what somebody wrote since is not in it"
