"""``cubist firmware flash``: finds the board, asks where it cannot, names what is missing."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from robot.cli import firmware as command
from robot.cli.firmware import choose_board, choose_port
from robot.cli.main import run
from robot.computer.board_family import (
    BuiltFirmware,
    FirmwareError,
    board_for,
    firmware_boards,
    simulations,
)
from robot.computer.families import avr
from robot.computer.serial_ports import SerialPort
from robot.link import Capabilities
from robot.link.protocol import FIRMWARE_VERSION, Board, ResetCause
from robot.settings import load_profile

UNO = SerialPort("/dev/ttyACM0", "Arduino Uno", 0x2341, 0x0043)
MEGA = SerialPort("/dev/ttyACM1", "Arduino Mega 2560", 0x2A03, 0x0042)
CLONE = SerialPort("/dev/ttyUSB0", "USB Serial", 0x1A86, 0x7523)
MODEM = SerialPort("/dev/ttyUSB5", "LTE modem", 0x12D1, 0x1506)
BUILT_IN = SerialPort("/dev/ttyS0", "n/a")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sits there."""
    monkeypatch.setattr(command, "require_terminal", lambda otherwise: None)


@pytest.fixture
def avrdude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a stand-in for avrdude writes what it was asked for."""
    told = tmp_path / "told"
    (tmp_path / "avrdude").write_text(f'#!/bin/sh\necho "$@" >{told}\n')
    (tmp_path / "avrdude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return told


def flashed(*arguments: str, ports: Sequence[SerialPort], answers: str = "") -> Any:
    """Run the command on a computer with these ports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "serial_ports", lambda: ports)
        return CliRunner().invoke(command.firmware, ["flash", *arguments], input=answers)


def test_the_only_board_is_found_and_recognised(avrdude: Path) -> None:
    done = flashed(ports=[BUILT_IN, MODEM, MEGA])
    assert done.exception is None, done.output
    words = avrdude.read_text().split()
    assert {"/dev/ttyACM1", "atmega2560", "wiring"} <= set(words)


@pytest.mark.usefixtures("terminal")
def test_who_sits_at_a_terminal_is_asked_for_port_and_board(avrdude: Path) -> None:
    done = flashed(ports=[UNO, CLONE], answers="2\nmega\n")
    assert done.exception is None, done.output
    assert "1: /dev/ttyACM0 (Arduino Uno)\n2: /dev/ttyUSB0 (USB Serial)" in done.output
    assert {"/dev/ttyUSB0", "atmega2560"} <= set(avrdude.read_text().split())


def test_without_a_terminal_what_must_be_said_is_named() -> None:
    with pytest.raises(click.UsageError, match=r"--port: 1: /dev/ttyACM0 \(Arduino Uno\), 2: "):
        choose_port([UNO, CLONE], None)
    with pytest.raises(click.UsageError, match="give --board uno or --board mega"):
        choose_board(CLONE, None)


def test_no_board_is_no_guess() -> None:
    found = r"/dev/ttyS0 \(n/a\), /dev/ttyUSB5 \(LTE modem\)"
    with pytest.raises(FirmwareError, match=f"no board found; serial ports here: {found}"):
        choose_port([BUILT_IN, MODEM], None)


def test_a_port_named_by_a_link_is_recognised(tmp_path: Path) -> None:
    port = SerialPort(str(tmp_path / "ttyACM7"), "Arduino Uno", 0x2341, 0x0043)
    link = tmp_path / "usb-Arduino"
    link.symlink_to(port.device)
    assert choose_port([CLONE, port], str(link)) == port
    assert choose_port([CLONE, port], "/dev/ttyAMA0").device == "/dev/ttyAMA0"


@pytest.mark.parametrize(
    ("robot", "port", "board"),
    [("cubotino-uno", CLONE, "uno"), ("six-motor", CLONE, "mega"), ("cubotino-uno", UNO, "uno")],
)
def test_an_adapter_does_not_tell_the_robot_does(robot: str, port: SerialPort, board: str) -> None:
    assert choose_board(port, board_for(load_profile(robot)).name) == board


def test_another_board_than_the_robot_s_is_refused() -> None:
    with pytest.raises(FirmwareError, match="is Arduino Uno or Nano, the robot needs Arduino M"):
        choose_board(UNO, board_for(load_profile("six-motor")).name)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A computer with none of the tools."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(avr, "AVR_HEADER", tmp_path / "none")


@pytest.mark.usefixtures("bare")
def test_every_missing_package_is_named_at_once_in_a_line_to_paste() -> None:
    trouble = flashed(ports=[UNO]).exception
    assert isinstance(trouble, FirmwareError)
    assert str(trouble).splitlines()[-1] == "  sudo apt install make gcc-avr avr-libc avrdude"


@pytest.mark.usefixtures("bare", "terminal")
@pytest.mark.parametrize("arguments", [(), ("--board", "uno"), ("--robot", "cubotino-uno")])
def test_missing_packages_are_named_before_any_question(arguments: tuple[str, ...]) -> None:
    done = flashed(*arguments, ports=[UNO, CLONE], answers="2\nmega\n")
    assert "avrdude not installed" in str(done.exception)
    assert not done.output


@pytest.mark.usefixtures("bare")
def test_the_demo_of_the_avr_names_all_it_needs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robot.computer.families.avr.find_executable", lambda name: None)
    with pytest.raises(FirmwareError) as caught:
        simulations()["avr"].command(load_profile("cubotino-uno"), Path())
    packages = "make gcc-avr avr-libc libsimavr-dev libelf-dev"
    assert str(caught.value).splitlines()[-1] == f"  sudo apt install {packages} && make build"


def test_a_port_that_may_not_be_used_names_the_group(
    tmp_path: Path, avrdude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = tmp_path / "tty"
    port.touch()
    # Root may use any.
    monkeypatch.setattr(os, "access", lambda path, *_: str(path) != str(port))
    with pytest.raises(FirmwareError, match="sudo usermod -aG dialout"):
        avr.AVR.flash(BuiltFirmware(firmware_boards()["uno"], port, port, 1, 1), str(port))
    assert not avrdude.exists()


FIRST = SerialPort("/dev/ttyUSB0", "USB Serial", 0x1A86, 0x7523)
SECOND = SerialPort("/dev/ttyUSB1", "USB Serial", 0x1A86, 0x7523)


def test_all_boards_of_a_robot_are_flashed_at_their_ports_or_one_of_them(avrdude: Path) -> None:
    one = flashed("--robot", "soltvvo", "--port", SECOND.device, "--json", ports=[FIRST, SECOND])
    assert one.exception is None, one.output
    assert avrdude.read_text().split().count("/dev/ttyUSB1") == 1
    assert "/dev/ttyUSB0" not in avrdude.read_text()
    refused = flashed("--robot", "soltvvo", "--board", "uno", ports=[FIRST, SECOND])
    assert "name its --port" in refused.output
    avrdude.unlink()
    (avrdude.parent / "avrdude").write_text(f'#!/bin/sh\necho "$@" >>{avrdude}\n')
    done = flashed("--robot", "soltvvo", ports=[FIRST, SECOND])
    assert done.exception is None, done.output
    assert "of board first, /dev/ttyUSB0" in done.output
    assert "of board second, /dev/ttyUSB1" in done.output
    lines = avrdude.read_text().splitlines()
    assert len(lines) == 2
    for line, port in zip(lines, (FIRST, SECOND), strict=True):
        assert {port.device, "atmega328p"} <= set(line.split())


def test_the_board_that_cannot_be_flashed_is_named(avrdude: Path) -> None:
    (avrdude.parent / "avrdude").write_text(
        "#!/bin/sh\ncase $* in *ttyUSB1*) echo no sync >&2; exit 1;; esac\n"
    )
    trouble = flashed("--robot", "soltvvo", ports=[FIRST, SECOND]).exception
    assert isinstance(trouble, FirmwareError)
    assert str(trouble).startswith("board second: flashing Arduino Uno or Nano at /dev/ttyUSB1")


@pytest.mark.parametrize(
    ("version", "code", "more"),
    [
        (FIRMWARE_VERSION, 0, []),
        ("0.0.9", 1, [f"Expected {FIRMWARE_VERSION}: cubist firmware flash --port tty"]),
    ],
)
def test_what_a_board_runs_and_whether_it_should_be_flashed(
    version: str,
    code: int,
    more: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[tuple[str, int]] = []

    def ask(port: str, baud: int) -> Capabilities:
        asked.append((port, baud))
        return Capabilities(
            Board.ATMEGA328P, version, 1, 7, 0, ResetCause(0), 100, 100, 9000, 8000, 7000
        )

    monkeypatch.setattr(command, "ask", ask)
    assert run(["firmware", "version", "--port", "tty"]) == code
    assert capsys.readouterr().out.splitlines() == [f"ATMEGA328P: firmware {version}", *more]
    assert run(["firmware", "version", "--port", "tty", "--json"]) == code
    assert json.loads(capsys.readouterr().out) == {
        "board": "atmega328p",
        "version": version,
        "expected": FIRMWARE_VERSION,
        "matches": code == 0,
        "steps_per_s": [9000, 8000, 7000],
        "reset_cause": ResetCause(0).name.lower(),
    }
    assert [port for port, _ in asked] == ["tty", "tty"]
