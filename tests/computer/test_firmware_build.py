"""Building and flashing firmware, with programs that answer as the test says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robot.computer import firmware_build
from robot.computer.firmware_build import (
    BOARDS,
    BUILDING,
    JOIN_GROUP,
    Built,
    FirmwareTrouble,
    address,
    board_for,
    build,
    build_folder,
    flash,
    flash_command,
    missing,
    require,
    sizes,
    sources,
)
from robot.settings import load_profile

SIZE = "   text\t   data\t    bss\t    dec\n  10000\t    200\t    700\t  10900\n"
NAMES = "00001234 T boot\n0000abcd T play\n00000001 T replay\n"


class Programs:
    """Answers by a program's name; ``asked`` are the commands."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[list[str]] = []
        self.codes: dict[str, int] = {}
        self.says = {"avr-size": SIZE, "avr-nm": NAMES}
        self.stderr = ""
        self.absent: set[str] = set()
        monkeypatch.setattr(firmware_build.subprocess, "run", self.run)
        monkeypatch.setattr(
            shutil, "which", lambda name: None if name in self.absent else f"/bin/{name}"
        )

    def run(self, command: list[Any], **_: object) -> Any:
        self.asked.append([str(part) for part in command])
        name = str(command[0])
        code, said = self.codes.get(name, 0), self.says.get(name, "")
        return SimpleNamespace(returncode=code, stdout=said, stderr=self.stderr)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(monkeypatch)


def test_flash_and_memory_are_what_avr_size_tells(programs: Programs) -> None:
    assert sizes(Path("a.elf")) == (10_200, 900)
    assert programs.asked == [["avr-size", "a.elf"]]
    assert address(Path("a.elf"), "play") == 0xABCD
    with pytest.raises(FirmwareTrouble, match=r"there is no stop in a\.elf"):
        address(Path("a.elf"), "stop")


def test_a_firmware_is_built_in_its_folder(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new" / "build"
    monkeypatch.setattr(firmware_build, "build_folder", lambda _: folder)
    found = build("mega")
    assert found == Built(BOARDS["mega"], folder / "cubist.elf", folder / "cubist.hex", 10_200, 900)
    assert (folder / "lock").exists()
    make = next(command for command in programs.asked if command[0] == "make")
    assert make == ["make", "-C", str(sources() / "avr"), "BOARD=mega", f"BUILD={folder}"]
    programs.codes["make"] = 2
    programs.stderr = "no rule"
    with pytest.raises(FirmwareTrouble, match="for Arduino Mega 2560 does not build:\nno rule"):
        build("mega")
    (tmp_path / "file").touch()
    monkeypatch.setattr(firmware_build, "build_folder", lambda _: tmp_path / "file")
    with pytest.raises(FirmwareTrouble, match=r"cannot be built in .*file: "):
        build("uno")


def test_a_firmware_is_put_on_the_board_at_a_port(programs: Programs, tmp_path: Path) -> None:
    built = Built(BOARDS["uno"], tmp_path / "a.elf", tmp_path / "a.hex", 1, 2)
    command = (
        f"avrdude -p atmega328p -c arduino -P /dev/none -b 115200 -D -U flash:w:{tmp_path}/a.hex:i"
    )
    assert flash_command(built, "/dev/none") == command.split()
    flash(built, "/dev/none")
    assert programs.asked[-1] == command.split()
    programs.codes["avrdude"] = 1
    for stderr, reason in (
        ("one\n two \n\navrdude done.  Thank you.\n", "two"),
        ("avrdude done.\n", "avrdude gave no reason"),
    ):
        programs.stderr = stderr
        told = f"flashing Arduino Uno or Nano at /dev/none failed: {reason}. Is it the right"
        with pytest.raises(FirmwareTrouble, match=told):
            flash(built, "/dev/none")


def test_a_port_that_may_not_be_used_is_said(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = Built(BOARDS["uno"], tmp_path / "a.elf", tmp_path / "a.hex", 1, 2)
    port = tmp_path / "tty"
    port.touch()
    asked: list[int] = []

    def access(_: object, mode: int) -> bool:
        asked.append(mode)
        return False

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(FirmwareTrouble) as told:
        flash(built, str(port))
    assert str(told.value) == f"{port}: no permission. {JOIN_GROUP}"
    assert asked == [os.R_OK | os.W_OK]
    assert "avrdude" not in {command[0] for command in programs.asked}


def test_what_is_missing_is_named(programs: Programs) -> None:
    assert missing(BUILDING) == []
    programs.absent = {"make", "avr-gcc"}
    assert missing(("make", "gcc-avr", "avrdude")) == ["make", "gcc-avr"]
    with pytest.raises(FirmwareTrouble) as told:
        require(("make", "gcc-avr"))
    assert str(told.value) == (
        "make, gcc-avr not installed. Install with:\n  sudo apt install make gcc-avr"
    )
    programs.absent = set()
    programs.codes["avr-gcc"] = 1
    assert missing(BUILDING) == ["avr-libc"]


def test_where_it_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert build_folder("uno") == sources().parent / "build" / "firmware-uno"
    monkeypatch.setattr(firmware_build, "sources", lambda: tmp_path / "firmware")
    monkeypatch.setattr(firmware_build, "cache_directory", lambda: tmp_path / "cache")
    assert build_folder("uno") == tmp_path / "cache" / "firmware-uno"
    (tmp_path / "pyproject.toml").touch()
    assert build_folder("uno") == tmp_path / "build" / "firmware-uno"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert build_folder("uno") == tmp_path / "cache" / "firmware-uno"


@pytest.mark.parametrize(
    ("name", "board"),
    [("cubotino-uno", "uno"), ("mindcuber", "uno"), ("crane", "mega"), ("six-motor", "mega")],
)
def test_a_robot_s_board_has_all_its_pins(name: str, board: str) -> None:
    assert board_for(load_profile(name)) == board
