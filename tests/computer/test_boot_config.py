"""Cubist's lines in config.txt: those a robot needs, added and removed exactly."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robot.computer.boot_config import (
    BEGIN,
    BEGIN_JOINED,
    END,
    BootChange,
    Need,
    add_lines,
    needs,
    plan_fix,
    plan_undo,
    remove_lines,
)
from robot.settings import load_profile
from solver.errors import CubistError
from tests.rig.profiles import changed

SERVOS = "dtoverlay=pwm-2chan,pin=12,func=4,pin2=13,func2=4"
SOUND_OFF = "dtparam=audio=off"
EXPANDER = "dtoverlay=i2c-pwm-pca9685a,addr=0x40"
MODELS = ("", "Raspberry Pi Zero 2 W Rev 1.0", "Raspberry Pi 4 Model B", "Raspberry Pi 5 Model B")
ZERO = MODELS[1]
PI5 = "Raspberry Pi 5 Model B Rev 1.0"
AS_SHIPPED = b"""# For more options and information see http://rptl.io/configtxt
#dtparam=i2c_arm=on
dtparam=audio=on
camera_auto_detect=1
dtoverlay=vc4-kms-v3d
[cm4]
otg_mode=1
[all]
"""
PIECES = st.binary(max_size=12) | st.sampled_from(
    [
        *(b"[pi4]", b"[pi5]", b"[all]", b"[none]", b"[gpio4=1]", b" [ALL] ", b"[", b"# audio", b""),
        *(b"dtparam=audio=on", b"dtparam=audio", b"dtparam=i2c=on,audio=off", b"dtparam"),
        *(b"dtoverlay=vc4-kms-v3d", b"dtoverlay=pwm,pin=12,func=4", b"dtoverlay=pwm:pin=x"),
        *(b"dtoverlay=", b"dtparam=pin=13,,=", b"\xff\x00=\x0c", BEGIN, BEGIN_JOINED, END),
        *(line.encode() for line in (SERVOS, EXPANDER)),
        add_lines(b"", [SOUND_OFF, SERVOS]),
    ]
)
FILES = st.lists(
    st.tuples(PIECES, st.sampled_from([b"\n", b"\r\n", b"\r", b""])).map(b"".join), max_size=12
).map(b"".join)
SHIPPED = ("cubotino", "v-arms", "cubotino-uno")
PROFILES = {name: load_profile(name) for name in SHIPPED} | {
    "other pins": changed(
        "cubotino", {"actuators.holder.pins.pulse": 22, "actuators.lid.pins.pulse": 19}
    ),
    "music pins": changed(
        "cubotino", {"actuators.holder.pins.pulse": 18, "actuators.lid.pins.pulse": 19}
    ),
    # Pin 9 of the Arduino is not GPIO 9.
    "two boards": changed(
        "cubotino",
        {
            "firmware.target": "atmega328p",
            "link.port": "/dev/ttyUSB0",
            "boards": {"pi": {"target": "linux", "port": "/run/cubist-board/port"}},
            "actuators.lid.board": "pi",
            "actuators.holder.pins.pulse": 9,
        },
    ),
}
AUDIO = Need(
    "config.txt: the analogue audio output is on, which uses the same PWM as the servos", SOUND_OFF
)
NO_PWM = Need("config.txt: no PWM at GPIO 12, 13", SERVOS)
NO_BUS = Need("config.txt: I2C is off, but the PCA9685 needs it", "dtparam=i2c_arm=on")
NO_EXPANDER = Need("config.txt: no PWM at the PCA9685", EXPANDER)
ONE_SERVO = "dtoverlay=pwm,pin=12,func=4"


def lacking(name: str, data: bytes, model: str = ZERO) -> list[str]:
    return [need.line for need in needs(PROFILES[name], data, model)]


def fixed(folder: Path, name: str, data: bytes, model: str) -> BootChange:
    path = folder / "config.txt"
    path.write_bytes(data)
    return plan_fix(path, PROFILES[name], model)


@given(FILES, st.sampled_from(SHIPPED), st.sampled_from(MODELS))
def test_a_second_fix_changes_nothing_and_undoing_restores_every_byte(
    tmp_path_factory, data, name, model
):
    folder = tmp_path_factory.getbasetemp()
    once = fixed(folder, name, data, model)
    assert list(needs(PROFILES[name], once.after, model)) == list(once.left)
    assert fixed(folder, name, once.after, model).after == once.after
    assert remove_lines(once.after) == remove_lines(data) == remove_lines(remove_lines(data))
    if remove_lines(data) == data:
        assert once.after.startswith(data)


@given(FILES, FILES)
def test_what_is_written_below_our_lines_later_stays(data, later):
    theirs = remove_lines(data)
    left = remove_lines(add_lines(theirs, [SOUND_OFF]) + remove_lines(later))
    assert left.startswith(theirs) or BEGIN in theirs + later
    assert left.endswith(remove_lines(later)) or END in theirs + later


@given(FILES, st.sampled_from(SHIPPED), st.sampled_from(SHIPPED))
def test_another_robot_s_lines_replace_those_of_the_one_before(
    tmp_path_factory, data, first, second
):
    folder = tmp_path_factory.getbasetemp()
    after = fixed(folder, second, fixed(folder, first, data, ZERO).after, ZERO).after
    assert after == fixed(folder, second, remove_lines(data), ZERO).after


def test_monitor_sound_is_not_what_is_switched_off():
    """Below vc4-kms-v3d, `audio` belongs to that overlay: it would silence HDMI."""
    assert lacking("cubotino", AS_SHIPPED + SOUND_OFF.encode()) == [SOUND_OFF, SERVOS]
    after = add_lines(AS_SHIPPED, [SOUND_OFF, SERVOS])
    assert after.endswith(f"[all]\ndtoverlay=\n{SOUND_OFF}\n{SERVOS}\n".encode() + END + b"\n")
    assert lacking("cubotino", after) == []


@pytest.mark.parametrize(
    ("above", "model", "found"),
    [
        ("", ZERO, True),
        ("[all]", ZERO, True),
        ("[pi0]", ZERO, True),
        ("[pi02]", ZERO, True),
        ("[pi02]", "Raspberry Pi Zero W", False),
        ("[pi0w]", "Raspberry Pi Zero W", True),
        ("[cm3]", "Raspberry Pi Compute Module 3 Plus", True),
        ("[pi400]", "Raspberry Pi 400", True),
        ("[pi3+]", "Raspberry Pi 3 Model B Plus", True),
        ("[pi3+]", "Raspberry Pi 3 Model B", False),
        ("[pi3]", "something else", False),
        ("[pi5]\n[all]", ZERO, True),
        ("[pi4]", ZERO, False),
        ("[gpio4=1]\n[pi0]", ZERO, False),
        ("[none]", ZERO, False),
    ],
)
def test_only_what_is_for_this_model_counts(above, model, found):
    assert (lacking("cubotino", f"{above}\n{SERVOS}\n".encode(), model) == []) is found


def test_lines_move_below_those_that_undo_them(tmp_path):
    after = add_lines(b"a=1\n", [SOUND_OFF, SERVOS]) + b"dtoverlay=\ndtparam=audio=on\n"
    change = fixed(tmp_path, "cubotino", after, ZERO)
    assert lacking("cubotino", after) and not lacking("cubotino", change.after)
    assert remove_lines(change.after) == b"a=1\ndtoverlay=\ndtparam=audio=on\n"


def test_the_file_is_kept_and_comes_back(tmp_path):
    (tmp_path / "real").write_bytes(AS_SHIPPED)
    path = tmp_path / "config.txt"
    path.symlink_to("real")
    change = plan_fix(path, PROFILES["cubotino"], ZERO)
    change.write()
    assert path.is_symlink() and path.read_bytes() == change.after != AS_SHIPPED
    assert change.backup.read_bytes() == AS_SHIPPED
    plan_fix(path, PROFILES["v-arms"], ZERO).write()
    assert change.backup.read_bytes() == AS_SHIPPED, "the file before Cubist's first line"
    plan_undo(path).write()
    assert path.read_bytes() == AS_SHIPPED
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["config.txt", "real"]


def test_somebody_else_s_change_is_not_overwritten(tmp_path):
    change = fixed(tmp_path, "cubotino", AS_SHIPPED, ZERO)
    change.path.write_bytes(b"other\n")
    with pytest.raises(CubistError):
        change.write()
    assert change.path.read_bytes() == b"other\n"


TWO_LINES = "dtoverlay=pwm-2chan\ndtparam=pin=12,func=4\r\ndtparam=pin2=0xd,func2=4"
NOT_OURS = "line 1 of config.txt sets PWM up, but not for GPIO 12, 13"


@pytest.mark.parametrize(
    ("profile", "text", "model", "found"),
    [
        ("cubotino", "", ZERO, [NO_PWM]),
        ("cubotino", "dtparam=audio=on", ZERO, [AUDIO, NO_PWM]),
        ("cubotino", AS_SHIPPED.decode(), ZERO, [AUDIO, NO_PWM]),
        ("cubotino", AS_SHIPPED.decode(), PI5, [NO_PWM]),
        ("cubotino", "dtoverlay=pwm-2chan,pin=12,func=2,pin2=13,func2=4", PI5, []),
        ("cubotino", "dtoverlay=pwm-2chan,pin=13,func=4,pin2=12,func2=4", ZERO, []),
        ("cubotino", f"dtoverlay=pwm,pin=18\n{SERVOS}", ZERO, []),
        ("cubotino", f"#{SERVOS}", ZERO, [NO_PWM]),
        ("cubotino", f"{SERVOS.replace(',', ':', 1)} # servos", ZERO, []),
        ("cubotino", TWO_LINES, ZERO, []),
        ("cubotino", "dtoverlay=pwm-gpio,gpio=12\ndtoverlay=pwm-gpio,gpio=13", ZERO, []),
        ("cubotino", "dtoverlay=pwm-gpio,gpio=12\ndtoverlay=pwm,pin=13,func=4", ZERO, []),
        *(
            ("cubotino", text, ZERO, [Need(NOT_OURS, "", f"Replace that line by: {SERVOS}")])
            for text in ("dtoverlay=pwm-2chan,pin=12,func=2,pin2=13,func2=4", ONE_SERVO)
        ),
        (
            "other pins",
            "",
            ZERO,
            [
                Need("config.txt: no PWM at GPIO 19", "dtoverlay=pwm,pin=19,func=2"),
                Need("config.txt: no PWM at GPIO 22", "dtoverlay=pwm-gpio,gpio=22"),
            ],
        ),
        ("music pins", "dtoverlay=pwm-2chan,pin=18,func=2,pin2=19,func2=2", ZERO, []),
        ("v-arms", AS_SHIPPED.decode(), ZERO, [NO_BUS, NO_EXPANDER]),
        ("v-arms", "dtparam=i2c_arm=on\ndtoverlay=i2c-pwm-pca9685a", ZERO, []),
        ("cubotino-uno", AS_SHIPPED.decode(), ZERO, []),
        ("two boards", SOUND_OFF, ZERO, [Need("config.txt: no PWM at GPIO 12", ONE_SERVO)]),
    ],
)
def test_lines_missing_from_config_txt_are_named(profile, text, model, found):
    assert needs(PROFILES[profile], text.encode(), model) == found
