"""``cubist firmware``: sizes reported, the right avrdude command, versions compared."""

from __future__ import annotations

import json
import os
import re
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
from robot.computer import firmware_build
from robot.computer.firmware_build import BOARDS, Built, FirmwareTrouble
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


def built() -> Built:
    return Built(BOARDS["mega"], Path("x.elf"), Path("x.hex"), 1, 1)


def test_version_of_a_running_board(host_port: Path) -> None:
    shown = CliRunner().invoke(command, ["version", "--port", str(host_port), "--json"])
    told = json.loads(shown.stdout)
    assert told["board"] == "host" and told["matches"] is True
    assert told["version"] == FIRMWARE_VERSION


def test_another_version_is_to_be_flashed(host_port: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firmware_build, "FIRMWARE_VERSION", "9.9.9")
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
    monkeypatch.setattr(firmware_build, "build_folder", lambda _: tmp_path / "firmware")
    with ThreadPoolExecutor(3) as builders:
        flash = {one.flash_bytes for one in builders.map(firmware_build.build, ["uno"] * 3)}
    assert len(flash) == 1 and flash.pop() > 10_000


def test_where_nothing_can_be_built_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(firmware_build, "build_folder", lambda _: tmp_path / "file" / "firmware")
    with pytest.raises(FirmwareTrouble, match=re.escape(f"{tmp_path}/file")):
        firmware_build.build("uno")


def test_flashing_names_chip_port_and_file() -> None:
    words = firmware_build.flash_command(built(), "/dev/ttyUSB0")
    assert words[0] == "avrdude"
    assert {"atmega2560", "wiring", "/dev/ttyUSB0", "flash:w:x.hex:i"} <= set(words)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FirmwareTrouble, match="apt install avrdude"):
        firmware_build.flash(built(), "/dev/null")
    with pytest.raises(FirmwareTrouble, match="gcc-avr"):
        firmware_build.build("uno")


def test_a_failed_flash_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "avrdude"
    script.write_text(
        "#!/bin/sh\necho 'stk500_recv(): programmer is not responding' >&2\n"
        "echo 'avrdude done.  Thank you.' >&2\nexit 1\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(FirmwareTrouble, match="not responding"):
        firmware_build.flash(built(), "/dev/null")
