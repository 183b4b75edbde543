"""The check-up names what is amiss and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robot.cli.main import run
from robot.faults import Fault, LinkFault
from robot.link import Capabilities
from robot.link.protocol import FIRMWARE_VERSION, Board, ResetCause
from robot.machine import checkup
from robot.machine.checkup import Computer, Finding


@pytest.fixture
def machine(tmp_path: Path) -> Computer:
    (tmp_path / "dev/serial/by-id").mkdir(parents=True)
    return Computer(
        dev=tmp_path / "dev",
        sys=tmp_path / "sys",
        run=tmp_path / "run",
        now_s=lambda: 1_800_000_000.0,
        has_module=lambda _: True,
        may_use=lambda _: True,
    )


def changed(machine: Computer, **more: Any) -> Computer:
    return Computer(**(vars(machine) | more))


def test_the_pi_itself_is_a_board_while_its_program_runs(machine: Computer) -> None:
    (machine.dev / "serial/by-id/usb-1a86_USB").touch()
    absent = checkup.board("auto", machine, is_pi=True)
    assert absent.verdict == "bad" and "systemctl restart cubist-board" in absent.remedy
    port = machine.run / "cubist-board" / "port"
    port.parent.mkdir(parents=True)
    port.touch()
    assert checkup.board("auto", machine, is_pi=True) == Finding("board", "ok", str(port))


def test_the_only_board_is_found(machine: Computer) -> None:
    assert checkup.board("auto", machine).verdict == "bad"
    (machine.dev / "serial/by-id/usb-1a86_USB").touch()
    assert checkup.board("auto", machine) == Finding(
        "board", "ok", str(machine.dev / "serial/by-id/usb-1a86_USB")
    )
    (machine.dev / "serial/by-id/usb-2341_Uno").touch()
    unclear = checkup.board("auto", machine)
    assert (unclear.verdict, "link.port" in unclear.remedy) == ("bad", True)
    assert "usb-1a86_USB, usb-2341_Uno" in unclear.text
    (machine.dev / "cubist").touch()
    assert checkup.board("auto", machine).text.endswith("dev/cubist")
    refused = checkup.board("auto", changed(machine, may_use=lambda _: False))
    assert "dialout" in refused.remedy


def answering(version: str) -> Callable[[str, int], Capabilities]:
    return lambda *_: Capabilities(
        Board.ATMEGA328P, version, 1, 7, 0, ResetCause(0), 100, 100, 9000, 8000, 7000
    )


def silent(port: str, baud: int) -> Capabilities:
    raise LinkFault(Fault.NO_ANSWER, port)


def test_the_board_s_firmware() -> None:
    right = checkup.firmware("tty", 250_000, answering(FIRMWARE_VERSION))
    assert right == Finding("firmware", "ok", f"{FIRMWARE_VERSION} on atmega328p")
    wrong = checkup.firmware("tty", 250_000, answering("0.0.9"))
    assert (wrong.verdict, wrong.remedy) == ("bad", "cubist firmware flash --port tty")
    assert "flash" in checkup.firmware("tty", 250_000, silent).remedy


def test_cameras(machine: Computer) -> None:
    assert "ribbon" in checkup.camera_of_kind("picamera2", 0, machine).remedy
    (machine.dev / "media0").touch()
    assert checkup.camera_of_kind("picamera2", 0, machine).verdict == "ok"
    missing = changed(machine, has_module=lambda _: False)
    assert "python3-picamera2" in checkup.camera_of_kind("picamera2", 0, missing).remedy
    assert checkup.camera_of_kind("usb", 2, machine).verdict == "bad"
    (machine.dev / "video2").touch()
    assert checkup.camera_of_kind("usb", 2, machine).verdict == "ok"
    assert checkup.camera_of_kind("folder", "/nonexistent", machine).verdict == "bad"


def test_gpio(machine: Computer) -> None:
    (machine.dev / "gpiochip0").touch()
    assert checkup.gpio(machine).verdict == "ok"
    assert checkup.gpio(changed(machine, has_module=lambda _: False)).verdict == "warning"
    assert "gpio" in checkup.gpio(changed(machine, may_use=lambda _: False)).remedy


def test_clock_and_disk(machine: Computer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert checkup.clock(machine).verdict == "ok"
    assert checkup.clock(changed(machine, now_s=lambda: 0.0)).verdict == "warning"
    assert checkup.disk(tmp_path / "not/yet/there").verdict == "ok"
    monkeypatch.setattr(checkup, "MIN_FREE_BYTES", 2**70)
    assert checkup.disk(tmp_path).verdict == "bad"


@pytest.mark.parametrize(
    ("flags", "verdict", "text"),
    [("0", "ok", "fine"), ("50000", "warning", "since the start"), ("50005", "bad", "now")],
)
def test_power(machine: Computer, flags: str, verdict: str, text: str) -> None:
    path = machine.sys / "devices/platform/soc/soc:firmware/get_throttled"
    path.parent.mkdir(parents=True)
    path.write_text(flags)
    found = checkup.power(machine)
    assert found.verdict == verdict
    assert text in found.text


def test_no_raspberry_pi_is_no_fault(machine: Computer) -> None:
    assert checkup.power(machine).verdict == "ok"


def test_worst() -> None:
    ok, bad = Finding("a", "ok", ""), Finding("b", "bad", "")
    assert checkup.worst([ok, bad, ok]) == "bad"
    assert checkup.worst([ok]) == "ok"


def test_the_command(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("CUBIST_STATE_DIR", str(tmp_path))
    code = run(["doctor", "--robot", "cubotino", "--json"])
    findings = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert code == (1 if any(f["verdict"] == "bad" for f in findings) else 0)
    assert {"profile", "board", "camera", "disk", "clock", "power", "daemon"} <= {
        finding["about"] for finding in findings
    }
    assert run(["doctor", "--robot", "none-such"]) == 2
