"""config.txt line by line: what each says to which Pi, and what is missing in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from robot.computer import boot_config
from robot.computer.boot_config import (
    BEGIN,
    BEGIN_JOINED,
    END,
    BootChange,
    BootConfig,
    Need,
    Overlay,
    filters_of,
    needs,
    pi_board,
    plan_fix,
    plan_undo,
    read_boot_config,
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


def overlays(text: str, model: str = ZERO) -> list[tuple[str, int, bool, dict[str, str]]]:
    found = read_boot_config(text.encode(), model).overlays
    return [(one.name, one.line, one.certain, one.parameters) for one in found]


def test_overlays_are_read_with_their_lines_and_parameters() -> None:
    assert overlays("a=1\n dtoverlay = pwm , pin=12,func #x\n#dtoverlay=b\ndtoverlay=c:d=,=5") == [
        ("pwm", 2, True, {"pin": "12", "func": "on"}),
        ("c", 4, True, {"d": ""}),
    ]
    assert overlays("dtoverlay=pwm\ndtparam=pin=13,other=2\ndtoverlay=\ndtparam=pin=14") == [
        ("pwm", 1, True, {"pin": "13"})
    ]


@pytest.mark.parametrize(
    ("above", "certain"),
    [
        ("[pi0]", True),
        ("[PI02]", True),
        ("[ all ]", True),
        ("[pi4]", None),
        ("[cm4]", None),
        ("[gpio4=1]", False),
        ("[edid=x]\n[pi0]", False),
        ("[pi4]\n[gpio4=1]", None),
        ("[gpio4=1]\n[all]", True),
        ("[pi4]\n[all]", True),
        ("[pi4", True),
        ("[pi]", False),
    ],
)
def test_filters_let_through_what_is_for_this_pi(above: str, certain: bool | None) -> None:
    found = overlays(f"{above}\ndtoverlay=pwm")
    assert [one[2] for one in found] == ([] if certain is None else [certain])
    unknown = overlays(f"{above}\ndtoverlay=pwm", "")
    assert [one[2] for one in unknown] == [above.endswith(("[all]", "[ all ]", "[pi4"))]


@pytest.mark.parametrize("word", ["off", "no", "false", "0", "n", "OFF", "on", "1", "yes", ""])
def test_switches_are_on_unless_the_word_says_no(word: str) -> None:
    config = read_boot_config(f"dtparam=audio={word}\n".encode(), ZERO)
    on = word.lower() not in {"off", "no", "false", "0", "n"}
    assert config.may_be("audio") == {on}
    assert config.may_be("else") == {False}


def test_switches_that_may_be_set_may_be_both() -> None:
    config = BootConfig()
    config.set("i2c1", "on", certain=False)
    assert config.may_be("i2c_arm") == {True, False}
    config.set("i2c", "on", certain=True)
    assert config.may_be("i2c_arm") == {True}
    config.set("i2c_arm", "off", certain=False)
    assert config.may_be("i2c_arm") == {True, False}
    config.set("audio", "on", certain=True)
    config.set("audio", "off", certain=True)
    assert config.may_be("audio") == {False}
    assert config.may_be("i2c") == {False}


def test_parameters_are_numbers_or_those_of_the_overlay() -> None:
    one = Overlay("pwm-2chan", 1, True, {"pin": "0x0c", "func": "x"})
    assert [one.number(key) for key in ("pin", "func", "pin2", "func2", "else")] == [
        *(12, None, 19, 2, None),
    ]
    plain = {name: Overlay(name, 1, True) for name in ("pwm", "pwm-gpio", "pwm-pio", "vc4-x", "x")}
    assert [plain["pwm"].number("pin"), plain["pwm"].number("func")] == [18, 2]
    assert plain["pwm-gpio"].number("gpio") == plain["pwm-pio"].number("gpio") == 4
    assert Overlay("i2c-pwm-pca9685a", 1, True).number("addr") == 0x40
    assert [(name, one.takes("audio"), one.takes("pin")) for name, one in plain.items()] == [
        *[("pwm", False, True), ("pwm-gpio", False, False), ("pwm-pio", False, False)],
        *[("vc4-x", True, False), ("x", False, False)],
    ]


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


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"a\r\nb\n", b"\n"),
        (b"a\r\nb\r\nc\n", b"\r\n"),
        (b"a\r\n", b"\r\n"),
        (b"a\n", b"\n"),
        (b"", b"\n"),
    ],
)
def test_lines_end_as_most_of_the_file_does(data: bytes, end: bytes) -> None:
    after = boot_config.with_lines(data, ["x=1"])
    block = [BEGIN, b"[all]", b"dtoverlay=", b"x=1", END]
    assert after == data + b"".join(line + end for line in block)
    assert boot_config.with_lines(data, []) == data
    assert boot_config._lines_in(after) == ["x=1"] and boot_config._lines_in(data) == []
    joined = boot_config.with_lines(data + b"z", ["x=1"])
    block[0] = BEGIN_JOINED
    assert joined == data + b"z" + end + b"".join(line + end for line in block)
    assert boot_config.without_lines(joined) == data + b"z"


@pytest.mark.parametrize(
    ("above", "below", "kept"),
    [
        (b"[pi4]\n", b"b=2\n", b"[all]\n"),
        (b"[pi4]\n", b" \n", b""),
        (b"[ALL]\n", b"b=2\n", b""),
        (b"[pi4]\n [all] \n", b"b=2\n", b""),
        (b"[all]\n[pi4]\n", b"b=2\n", b"[all]\n"),
        (b"a=1\n", b"b=2\n", b""),
    ],
)
def test_what_stands_below_stays_for_all(above: bytes, below: bytes, kept: bytes) -> None:
    data = boot_config.with_lines(above, ["x=1"]) + below
    assert boot_config.without_lines(data) == above + kept + below


def test_only_marks_that_belong_together_are_ours() -> None:
    begin, end = BEGIN + b"\n", END + b"\n"
    for data in (end + begin, begin + b"a\n", end, b"x" + begin + end):
        assert boot_config.without_lines(data) == data
    assert boot_config._place([b"a", BEGIN, b"b", BEGIN_JOINED + b"\r\n", b"c", END]) == (3, 5)
    assert boot_config._place([BEGIN, b"b", END, BEGIN, END]) == (0, 2)


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


def test_lines_that_still_hold_stay_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "config.txt"
    path.write_bytes(boot_config.with_lines(b"a=1\n", [SERVOS]) + b"b=2\n")
    assert plan_fix(path, CUBOTINO, ZERO).diff == ""
    path.write_bytes(boot_config.with_lines(b"a=1\n", [SERVOS, "x=1"]))
    assert plan_fix(path, CUBOTINO, ZERO).after == boot_config.with_lines(b"a=1\n", [SERVOS])
