"""``cubist firmware``: sizes reported, versions compared. The firmware fits the smallest board."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from robot.cli.firmware import firmware as command
from robot.computer import board_family
from robot.link.protocol import FIRMWARE_VERSION
from tests.rig.boards import board_process

pytestmark = pytest.mark.quick

FLASH_BYTES = 28 * 1024
STATIC_RAM_BYTES = {"uno": 1600, "mega": 8192 - 512}
"""The rest is for the stack."""


@pytest.fixture
def host_port(tmp_path: Path) -> Iterator[Path]:
    """The port of the firmware built for this computer."""
    with board_process("cubist-firmware-host", tmp_path / "port"):
        yield tmp_path / "port"


def test_version_of_a_running_board(host_port: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = ["version", "--port", str(host_port)]
    told = json.loads(CliRunner().invoke(command, [*ask, "--json"]).stdout)
    assert told["board"] == "host" and told["matches"] is True
    assert told["version"] == FIRMWARE_VERSION
    monkeypatch.setattr(board_family, "FIRMWARE_VERSION", "9.9.9")
    shown = CliRunner().invoke(command, ask, standalone_mode=False)
    assert shown.return_value == 1
    assert "flash" in shown.stdout


@pytest.mark.parametrize("board", STATIC_RAM_BYTES)
def test_a_board_has_room_and_computes_nothing_in_floating_point(board: str) -> None:
    shown = CliRunner().invoke(command, ["build", "--board", board, "--json"])
    assert shown.exception is None, shown.exception
    told = json.loads(shown.stdout)
    assert told["static_ram_bytes"] <= STATIC_RAM_BYTES[board]
    assert told["flash_bytes"] <= FLASH_BYTES
    assert Path(told["image"]).read_text().startswith(":")
    symbols = subprocess.run(
        ["avr-nm", board_family.build(board).elf], capture_output=True, text=True, check=True
    )
    assert not [line for line in symbols.stdout.splitlines() if "sf" in line and "__" in line]


def test_several_may_build_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_family, "build_folder", lambda _: tmp_path / "firmware")
    with ThreadPoolExecutor(3) as builders:
        flash = {one.flash_bytes for one in builders.map(board_family.build, ["uno"] * 3)}
    assert len(flash) == 1 and flash.pop() > 10_000
