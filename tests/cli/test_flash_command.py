"""``cubist firmware``: finds the board, asks if it cannot, and names missing parts."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from robot.cli import firmware as command
from robot.computer.board_family import FAMILIES, BuiltFirmware
from robot.computer.families import avr
from robot.computer.families.rp2040 import RP2040, Rp2040Family
from robot.computer.serial_ports import SerialPort
from robot.link.protocol import FIRMWARE_VERSION, Board, ResetCause
from robot.settings import profile_path
from tests.rig.computers import RATES, running

UNO = SerialPort("/dev/ttyACM0", "Arduino Uno", 0x2341, 0x0043)
MEGA = SerialPort("/dev/ttyACM1", "Arduino Mega 2560", 0x2A03, 0x0042)
CLONE = SerialPort("/dev/ttyUSB0", "USB Serial", 0x1A86, 0x7523)
SECOND = SerialPort("/dev/ttyUSB1", "USB Serial", 0x1A86, 0x7523)
MODEM = SerialPort("/dev/ttyUSB5", "LTE modem", 0x12D1, 0x1506)
BUILT_IN = SerialPort("/dev/ttyS0", "n/a")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that a person sits at the terminal."""
    monkeypatch.setattr(command, "require_terminal", lambda otherwise: None)


@pytest.fixture
def avrdude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file in which stand-ins for avrdude and arm-none-eabi-gcc note their arguments.

    Few computers have that compiler.
    """
    told = tmp_path / "told"
    for name in ("avrdude", "arm-none-eabi-gcc"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$@" >>{told}\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return told


def flashed(*arguments: str, ports: Sequence[SerialPort], answers: str = "") -> Any:
    """Run the command on a computer with these ports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "serial_ports", lambda: ports)
        return CliRunner().invoke(command.firmware, ["flash", *arguments], input=answers)


@pytest.mark.parametrize(
    ("ports", "arguments", "used"),
    [
        ([BUILT_IN, MODEM, MEGA], (), {"/dev/ttyACM1", "atmega2560", "wiring"}),
        ([UNO, CLONE], ("--port", "/dev/ttyACM0"), {"/dev/ttyACM0", "atmega328p"}),
        ([CLONE], ("--robot", "cubotino-uno"), {"/dev/ttyUSB0", "atmega328p"}),
        ([CLONE], ("--robot", "six-motor"), {"/dev/ttyUSB0", "atmega2560"}),
        ([], ("--port", "/dev/ttyAMA0", "--board", "uno"), {"/dev/ttyAMA0", "atmega328p"}),
    ],
)
def test_the_board_is_found_by_its_port_or_by_its_robot(avrdude, ports, arguments, used):
    done = flashed(*arguments, ports=ports)
    assert done.exception is None, done.output
    assert used <= set(avrdude.read_text().split())


@pytest.mark.usefixtures("terminal")
def test_at_a_terminal_port_and_board_are_asked_for(avrdude):
    done = flashed(ports=[UNO, CLONE], answers="2\nmega\n")
    assert done.exception is None, done.output
    assert "1: /dev/ttyACM0 (Arduino Uno)\n2: /dev/ttyUSB0 (USB Serial)" in done.output
    assert {"/dev/ttyUSB0", "atmega2560"} <= set(avrdude.read_text().split())


@pytest.mark.parametrize(
    ("ports", "arguments", "said"),
    [
        ([UNO, CLONE], (), "choose with --port: 1: /dev/ttyACM0 (Arduino Uno), 2: "),
        ([CLONE], (), "give --board uno or --board mega"),
        ([BUILT_IN, MODEM], (), "no board found; serial ports here: /dev/ttyS0 (n/a), /dev/ttyU"),
        ([UNO], ("--robot", "six-motor"), "is Arduino Uno or Nano; the robot needs Arduino Mega"),
        ([CLONE, SECOND], ("--robot", "soltvvo", "--board", "uno"), "name its --port"),
        ([CLONE], ("--robot", "cubotino-uno", "--board", "mega"), "which has Arduino Uno or Nano"),
        ([UNO], ("--robot", "cubotino"), "robot cubotino has no board to flash"),
        ([BUILT_IN], ("--board", "pico"), "with its BOOTSEL button held down"),
    ],
)
def test_an_unknown_board_or_port_is_asked_for_and_not_guessed(avrdude, ports, arguments, said):
    done = flashed(*arguments, ports=ports)
    assert done.exit_code and said in " ".join([*done.output.split(), str(done.exception)])
    assert not avrdude.exists()


def test_a_pico_in_its_bootloader_is_found_by_its_drive(monkeypatch, tmp_path):
    drive, flashed_at = tmp_path / "sda1", []
    drive.touch()
    monkeypatch.setattr(Rp2040Family, "flash", lambda _, built, port: flashed_at.append(port))
    monkeypatch.setitem(FAMILIES, "rp2040", replace(RP2040, drive=drive, build_packages=()))
    built = BuiltFirmware(RP2040.boards[0], tmp_path, tmp_path / "cubist.uf2", 1, 2)
    monkeypatch.setattr(command, "build", lambda kind: built)
    done = flashed("--json", ports=[MODEM])
    assert done.exception is None, done.output
    told = json.loads(done.stdout)
    assert told == {"board": "pico", "port": str(drive), "version": FIRMWARE_VERSION}
    assert flashed_at == [str(drive)]


def test_the_port_of_the_robot_s_profile_comes_before_any_other(avrdude, tmp_path):
    text = profile_path("cubotino-uno").read_text()
    text = text.replace("link: {port: auto}", "link: {port: /dev/ttyUSB7}")
    (tmp_path / "mine.yaml").write_text(text)
    done = flashed("--robot", str(tmp_path / "mine.yaml"), ports=[CLONE, MEGA])
    assert done.exception is None, done.output
    assert {"/dev/ttyUSB7", "atmega328p"} <= set(avrdude.read_text().split())


def test_a_port_named_by_a_link_is_recognised(avrdude, tmp_path):
    port = SerialPort(str(tmp_path / "ttyACM7"), "Arduino Mega 2560", 0x2A03, 0x0042)
    link = tmp_path / "usb-Arduino"
    link.symlink_to(port.device)
    assert flashed("--port", str(link), ports=[CLONE, port]).exception is None
    assert {port.device, "atmega2560"} <= set(avrdude.read_text().split())


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("arguments", [(), ("--board", "uno"), ("--robot", "cubotino-uno")])
def test_missing_packages_are_named_before_any_question(arguments, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(avr, "AVR_HEADER", tmp_path / "none")
    done = flashed(*arguments, ports=[UNO, CLONE], answers="2\nmega\n")
    assert "avrdude not installed" in str(done.exception)
    assert not done.output


def test_a_port_that_may_not_be_used_names_the_group(tmp_path, avrdude, monkeypatch):
    port, access = tmp_path / "tty", os.access
    port.touch()
    # Root may use any port.
    monkeypatch.setattr(os, "access", lambda path, *m: str(path) != str(port) and access(path, *m))
    done = flashed("--board", "uno", "--port", str(port), ports=[])
    assert "sudo usermod -aG dialout" in str(done.exception)
    assert not avrdude.exists()


def test_all_boards_of_a_robot_are_flashed_at_their_ports_or_one_of_them(avrdude):
    one = flashed("--robot", "soltvvo", "--port", SECOND.device, "--json", ports=[CLONE, SECOND])
    assert json.loads(one.output)["port"] == SECOND.device
    done = flashed("--robot", "soltvvo", ports=[CLONE, SECOND])
    assert "of board first, /dev/ttyUSB0" in done.output
    assert "of board second, /dev/ttyUSB1" in done.output
    lines = avrdude.read_text().splitlines()
    for line, port in zip(lines, (SECOND, CLONE, SECOND), strict=True):
        assert {port.device, "atmega328p"} <= set(line.split())


def test_the_board_that_cannot_be_flashed_is_named(avrdude):
    avrdude.with_name("avrdude").write_text(
        "#!/bin/sh\ncase $* in *ttyUSB1*) echo no sync >&2; exit 1;; esac\n"
    )
    trouble = flashed("--robot", "soltvvo", ports=[CLONE, SECOND]).exception
    told = "board second: flashing Arduino Uno or Nano at /dev/ttyUSB1 failed: no sync"
    assert str(trouble).startswith(told)


@pytest.mark.parametrize("version", [FIRMWARE_VERSION, "0.0.9"])
def test_an_old_firmware_is_answered_with_the_command_that_flashes(version, monkeypatch):
    monkeypatch.setattr(command, "ask", lambda *_: running(Board.ATMEGA328P, version))
    right = version == FIRMWARE_VERSION
    arguments = ["version", "--port", "tty"]
    shown = CliRunner().invoke(command.firmware, arguments, standalone_mode=False)
    assert (shown.return_value, f"firmware {version}" in shown.output) == (int(not right), True)
    assert ("cubist firmware flash --port tty" in shown.output) is not right
    answer = CliRunner().invoke(command.firmware, [*arguments, "--json"]).output
    assert json.loads(answer) == {
        "board": "atmega328p",
        "version": version,
        "expected": FIRMWARE_VERSION,
        "matches": right,
        "steps_per_s": [*RATES],
        "reset_cause": ResetCause(0).name.lower(),
    }
