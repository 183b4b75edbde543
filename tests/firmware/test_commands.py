"""``cubist firmware``: sizes reported, versions compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from robot.cli.firmware import firmware as command
from robot.computer import board_family
from robot.link.protocol import FIRMWARE_VERSION

pytestmark = pytest.mark.quick


@pytest.fixture
def host_port() -> Iterator[Path]:
    """The port of the firmware built for this computer."""
    with tempfile.TemporaryDirectory() as folder:
        port = Path(folder) / "port"
        program = Path(sys.executable).with_name("cubist-firmware-host")
        process = subprocess.Popen([program, "--pty-link", port])
        deadline = time.monotonic() + 10
        while not port.exists():
            assert time.monotonic() < deadline
            os.sched_yield()
        yield port
        process.terminate()
        process.wait(10)


def test_version_of_a_running_board(host_port: Path) -> None:
    shown = CliRunner().invoke(command, ["version", "--port", str(host_port), "--json"])
    told = json.loads(shown.stdout)
    assert told["board"] == "host" and told["matches"] is True
    assert told["version"] == FIRMWARE_VERSION


def test_another_version_is_to_be_flashed(host_port: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_family, "FIRMWARE_VERSION", "9.9.9")
    shown = CliRunner().invoke(
        command, ["version", "--port", str(host_port)], standalone_mode=False
    )
    assert shown.return_value == 1
    assert "flash" in shown.stdout


def test_sizes_are_reported() -> None:
    shown = CliRunner().invoke(command, ["build", "--board", "uno", "--json"])
    assert shown.exception is None, shown.exception
    told = json.loads(shown.stdout)
    assert told["flash_bytes"] <= 28 * 1024 and told["static_ram_bytes"] <= 1600
    assert Path(told["hex"]).read_text().startswith(":")


def test_several_may_build_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_family, "build_folder", lambda _: tmp_path / "firmware")
    with ThreadPoolExecutor(3) as builders:
        flash = {one.flash_bytes for one in builders.map(board_family.build, ["uno"] * 3)}
    assert len(flash) == 1 and flash.pop() > 10_000
