"""Boards that come with Cubist: found at their ports, their firmware built and flashed.

Stand-ins for compilers and programmers give the answers that a test sets.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robot.computer import board_family
from robot.computer.board_family import (
    BuiltFirmware,
    FirmwareError,
    build,
    family_of,
    firmware_boards,
    sources,
)
from robot.computer.families import rp2040
from robot.computer.families.avr import AVR
from robot.computer.families.rp2040 import RP2040, boot_checksum, uf2_blocks, with_checksum
from robot.computer.serial_ports import udev_rules
from robot.link import Capabilities
from robot.link.protocol import FIRMWARE_VERSION, Board
from robot.text.faults import Fault, LinkError
from solver.errors import InvalidRequest
from tests.rig.computers import running

SIZE = "   text\t   data\t    bss\t    dec\n  10000\t    200\t    700\t  10900\n"
NAMES = "00001234 T boot\n0000abcd T play\n00000001 T replay\n"
RULES = Path(__file__).parents[2] / "systemd" / "70-cubist.rules"


class Programs:
    """Stand-ins with answers by program name. ``asked`` are the commands."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.codes: dict[str, int] = {}
        self.stderr = ""

    def run(self, command: list[Any], **_: object) -> Any:
        self.asked.append([str(part) for part in command])
        name = str(command[0])
        said = {"avr-size": SIZE, "avr-nm": NAMES}.get(name, "")
        return SimpleNamespace(returncode=self.codes.get(name, 0), stdout=said, stderr=self.stderr)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    found = Programs()
    monkeypatch.setattr(subprocess, "run", found.run)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    return found


def test_an_unknown_target_is_an_error_that_names_those_there_are():
    with pytest.raises(InvalidRequest, match="'z80' does not exist; choose from atmega328p"):
        family_of("z80")


def test_a_firmware_is_built_in_its_folder(programs, tmp_path, monkeypatch):
    folder = tmp_path / "new" / "build"
    monkeypatch.setattr(board_family, "build_folder", lambda _: folder)
    found = build("mega")
    assert (found.elf, found.image) == (folder / "cubist.elf", folder / "cubist.hex")
    assert (found.flash_bytes, found.static_ram_bytes) == (10_200, 900)
    make = next(command for command in programs.asked if command[0] == "make")
    assert make == ["make", "-C", str(sources() / "avr"), "BOARD=mega", f"BUILD={folder}"]
    assert AVR.address(found.elf, "play") == 0xABCD
    with pytest.raises(FirmwareError, match="elf has no symbol stop"):
        AVR.address(found.elf, "stop")
    programs.codes["make"], programs.stderr = 2, "no rule"
    with pytest.raises(FirmwareError, match="for Arduino Mega 2560 does not build:\nno rule"):
        build("mega")
    (tmp_path / "file").touch()
    monkeypatch.setattr(board_family, "build_folder", lambda _: tmp_path / "file")
    with pytest.raises(FirmwareError, match=r"cannot be built in .*file: "):
        build("uno")


def test_avrdude_puts_a_firmware_on_the_board(programs, tmp_path):
    firmware = BuiltFirmware(firmware_boards()["uno"], tmp_path, tmp_path / "a.hex", 1, 2)
    AVR.flash(firmware, "/dev/none")
    flash = f"flash:w:{tmp_path}/a.hex:i"
    command = f"avrdude -p atmega328p -c arduino -P /dev/none -b 115200 -D -U {flash}"
    assert programs.asked[-1] == command.split()
    programs.codes["avrdude"] = 1
    for stderr, reason in (
        ("one\n two \n\navrdude done.  Thank you.\n", "two"),
        ("one\n\nAvrdude done.  Thank you.\n", "one"),
        ("avrdude done.\n", "avrdude gave no reason"),
    ):
        programs.stderr = stderr
        told = f"flashing Arduino Uno or Nano at /dev/none failed: {reason}. Is it the right"
        with pytest.raises(FirmwareError, match=told):
            AVR.flash(firmware, "/dev/none")


def test_an_image_for_the_pico_is_what_its_rom_accepts():
    assert boot_checksum(b"123456789") == 0x0376E6E7
    program = random.Random(1).randbytes(1_000)
    flash = with_checksum(program)
    assert (flash[:252], flash[256:]) == (program[:252], program[256:])
    assert flash[252:256] == struct.pack("<I", boot_checksum(program[:252]))
    blocks = list(uf2_blocks(flash))
    heads = [struct.unpack("<8I", block[:32]) for block in blocks]
    content = b"".join(block[32:288] for block in blocks)
    assert content == flash + bytes(24)
    assert [head[3:7] for head in heads] == [(0x10000000 + 256 * n, 256, n, 4) for n in range(4)]
    for head, block in zip(heads, blocks, strict=True):
        assert (*head[:3], head[7]) == (0x0A324655, 0x9E5D5157, 0x2000, 0xE48BFF56)
        assert (len(block), block[-4:]) == (512, struct.pack("<I", 0x0AB16F30))


def test_an_image_is_copied_to_the_drive_of_a_pico(tmp_path, monkeypatch):
    drive, image, mounted = tmp_path / "sda1", tmp_path / "cubist.uf2", tmp_path / "a b"
    image.write_bytes(b"image")
    mounted.mkdir()
    (tmp_path / "mounts").write_text(f"/dev/sdb1 / ext4\n{drive} {tmp_path}/a\\040b vfat\n")
    monkeypatch.setattr(rp2040, "DRIVE_LIMIT_S", 0.0)
    monkeypatch.setattr(rp2040, "ask", lambda port, baud: running(Board.RP2040, FIRMWARE_VERSION))
    family = replace(RP2040, drive=drive, mounts=tmp_path / "mounts", disks=tmp_path / "block")
    firmware = BuiltFirmware(firmware_boards()["pico"], tmp_path, image, 1, 2)
    assert family.find_drive() is None
    drive.touch()
    assert family.find_drive() == drive
    with pytest.raises(FirmwareError, match=r"is not the drive of a Pico: it has no INFO_UF2\.TXT"):
        family.flash(firmware, str(drive))
    (mounted / "INFO_UF2.TXT").touch()
    with pytest.raises(FirmwareError, match="did not take the image"):
        family.flash(firmware, str(drive))
    assert (mounted / "cubist.uf2").read_bytes() == b"image"
    # A chip that has its image restarts, and its drive disappears.
    monkeypatch.setattr(os, "sync", drive.unlink)
    family.flash(firmware, str(drive))
    drive.touch()
    (tmp_path / "mounts").write_text("")
    with pytest.raises(FirmwareError, match=r"sda1 is not mounted: sudo cubist firmware flash"):
        family.flash(firmware, str(drive))


def test_a_pico_that_runs_is_restarted_at_usb_by_1200_baud(tmp_path, monkeypatch):
    drive, image, port = tmp_path / "sda1", tmp_path / "cubist.uf2", tmp_path / "ttyACM0"
    image.write_bytes(b"image")
    (tmp_path / "mounted").mkdir()
    (tmp_path / "mounted" / "INFO_UF2.TXT").touch()
    (tmp_path / "mounts").write_text(f"{drive} {tmp_path}/mounted vfat\n")
    socket = tmp_path / "by-path" / "platform-usb-0:1.2:1.0"
    socket.parent.mkdir()
    socket.symlink_to(port)
    places = {"mounts": tmp_path / "mounts", "by_path": socket.parent, "disks": tmp_path / "block"}
    family = replace(RP2040, drive=drive, **places)
    firmware = BuiltFirmware(firmware_boards()["pico"], tmp_path, image, 1, 2)
    asked = []

    def ask(port: str, baud: int) -> Capabilities:
        asked.append(port)
        if len(asked) == 1:
            raise LinkError(Fault.PORT_MISSING, detail=port)
        return running(Board.RP2040, FIRMWARE_VERSION if len(asked) == 2 else "0.1.0")

    monkeypatch.setattr(rp2040, "ask", ask)
    monkeypatch.setattr(rp2040, "DRIVE_LIMIT_S", 0.0)
    monkeypatch.setattr(rp2040, "ASK_EVERY_S", 0.0)
    monkeypatch.setattr(rp2040, "touch_port", lambda port: drive.touch())
    monkeypatch.setattr(os, "sync", drive.unlink)
    family.flash(firmware, str(port))
    assert asked == [str(socket)] * 2
    with pytest.raises(FirmwareError, match="still runs another firmware"):
        family.flash(firmware, str(port))
    monkeypatch.setattr(rp2040, "touch_port", lambda port: None)
    with pytest.raises(FirmwareError, match=r"does not restart while anything moves\. Plug"):
        family.flash(firmware, str(port))


def test_the_udev_rule_is_up_to_date():
    text = "run python -m robot.computer.serial_ports > systemd/70-cubist.rules"
    assert RULES.read_text(encoding="utf-8") == udev_rules(), text
