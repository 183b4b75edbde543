"""Findings of the check-up, each with its text and what to do, on a computer that is made up."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from robot.computer import checkup
from robot.computer.checkup import EARLIEST_CLOCK_S
from robot.computer.computer import CheckResult, Computer
from robot.panel.gpio import RpiGpio
from tests.rig.gpio import FakeModule, LgpioError
from vision.cameras.registry import CameraFinding


@pytest.fixture
def machine(tmp_path: Path) -> Computer:
    (tmp_path / "dev/serial/by-id").mkdir(parents=True)
    places = {name: tmp_path / name for name in ("boot", "dev", "etc", "sys", "run")}
    return Computer(
        **places,
        now_s=lambda: 1_800_000_000.0,
        check_camera=lambda kind, device: CameraFinding("ok", f"{kind} {device}"),
        open_gpio=lambda: RpiGpio(FakeModule()),
        may_use=lambda _: True,
        members_of=lambda _: frozenset({"cubist"}),
        own_groups=lambda: frozenset({"cubist"}),
    )


THROTTLED = {
    0: ("bad", "the supply voltage is too low now"),
    1: ("bad", "the processor's frequency is capped now"),
    2: ("bad", "the processor is throttled now"),
    16: ("warning", "the supply voltage was too low since the start"),
    18: ("warning", "the processor was throttled since the start"),
}


@pytest.mark.parametrize("bit", range(20))
def test_each_flag_of_a_pi_s_power_has_its_words(machine: Computer, bit: int) -> None:
    path = machine.sys / "devices/platform/soc/soc:firmware/get_throttled"
    path.parent.mkdir(parents=True)
    path.write_text(f"{1 << bit:x}\n")
    found = checkup.power(machine)
    expected = THROTTLED.get(bit, ("ok", "voltage and temperature are fine"))
    assert (found.verdict, found.text) == expected
    assert ("official power supply" in found.remedy) is (bit in THROTTLED)
    path.write_text("40005")
    assert checkup.power(machine).text == (
        "the supply voltage is too low now; the processor is throttled now; "
        "the processor was throttled since the start"
    )
    path.write_text("throttled")
    assert checkup.power(machine).text == "cannot be read (not a Raspberry Pi?)"


@pytest.mark.parametrize(
    ("now_s", "verdict"), [(EARLIEST_CLOCK_S, "ok"), (EARLIEST_CLOCK_S - 1, "warning")]
)
def test_a_clock_before_2025_is_wrong(machine: Computer, now_s: float, verdict: str) -> None:
    found = checkup.clock(replace(machine, now_s=lambda: now_s))
    assert found.verdict == verdict
    assert (found.remedy == "Connect to a network once.") is (verdict == "warning")
    assert EARLIEST_CLOCK_S == 1_735_689_600


def test_button_light_and_buzzer(machine: Computer) -> None:
    def found(open_gpio: Callable[[], RpiGpio]) -> CheckResult:
        return checkup.gpio(replace(machine, open_gpio=open_gpio))

    assert checkup.gpio(machine).verdict == "ok"
    old = FakeModule()
    del old.lgpio
    result = found(lambda: RpiGpio(old))
    assert result.verdict == "warning" and "apt install python3-rpi-lgpio" in result.remedy
    shut = FakeModule()
    shut.fail("setmode", LgpioError("can not open gpiochip"))
    result = found(lambda: RpiGpio(shut))
    assert (result.verdict, result.text) == ("bad", "the GPIO chip: can not open gpiochip")
    assert "usermod -aG gpio" in result.remedy


def test_without_the_pins_library_the_command_line_works(
    machine: Computer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "RPi.GPIO", None)
    result = checkup.gpio(replace(machine, open_gpio=RpiGpio))
    assert result.verdict == "warning"
    assert "apt install" in result.remedy and "command line" in result.remedy


def test_settings_of_the_service_are_read_as_it_reads_them(machine: Computer) -> None:
    assert machine.service_profile is None
    path = machine.etc / "cubist/cubistd.env"
    path.parent.mkdir(parents=True)
    path.write_text('CUBIST_PROFILE=one\n# CUBIST_PROFILE=no\n CUBIST_PROFILE = "two" \nX=\n')
    assert machine.service_profile is not None
    assert machine.service_setting("X") is None
    assert machine.service_setting("Y") is None
    path.write_text("CUBIST_PROFILE='a b'\n")
    assert machine.service_profile == "a b"


def test_where_a_pi_keeps_its_config_and_name(machine: Computer) -> None:
    assert (machine.boot_config, machine.model) == (None, "")
    machine.boot.mkdir()
    older = machine.boot / "config.txt"
    older.touch()
    assert machine.boot_config == older
    (machine.boot / "firmware").mkdir()
    assert machine.boot_config is None, "what stays beside it is not read"
    newer = machine.boot / "firmware/config.txt"
    newer.touch()
    assert machine.boot_config == newer
    model = machine.sys / "firmware/devicetree/base/model"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"Raspberry Pi 5 Model B\0")
    assert machine.model == "Raspberry Pi 5 Model B"
