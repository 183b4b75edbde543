"""Findings of the check-up on a made-up computer, each with its text and remedy."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from robot.computer import checkup
from robot.computer.board_family import FAMILIES
from robot.computer.checkup import EARLIEST_CLOCK_S
from robot.computer.computer import CheckResult, Computer
from robot.computer.families import linux
from robot.link import Capabilities
from robot.link.protocol import FIRMWARE_VERSION, Board
from robot.panel.gpio import RpiGpio, install_command
from robot.settings import load_profile
from robot.text.faults import Fault, LinkError
from tests.rig.computers import become_a_pi, made_up_computer, put, running
from tests.rig.gpio import FakeModule, LgpioError
from tests.rig.profiles import changed
from vision.cameras.registry import CameraFinding

MAESTRO = "usb-Pololu_Corporation_Pololu_Mini_Maestro_12-Channel_00012345"


@pytest.fixture
def machine(tmp_path: Path) -> Computer:
    return made_up_computer(tmp_path)


@pytest.mark.parametrize(
    ("flags", "verdict", "text"),
    [
        (None, "ok", "cannot be read (not a Raspberry Pi?)"),
        ("throttled", "ok", "cannot be read (not a Raspberry Pi?)"),
        ("8", "ok", "voltage and temperature are fine"),
        ("1", "bad", "the supply voltage is too low now"),
        ("2", "bad", "the processor's frequency is capped now"),
        ("10000", "warning", "the supply voltage has been too low at times since the start"),
        ("40000", "warning", "the processor has been throttled at times since the start"),
        ("5", "bad", "the supply voltage is too low now; the processor is throttled now"),
    ],
)
def test_undervoltage_and_throttling_are_reported(machine, flags, verdict, text):
    if flags is not None:
        put(machine.sys / "devices/platform/soc/soc:firmware/get_throttled", f"{flags}\n")
    found = list(checkup.power(machine))
    assert {one.verdict for one in found} == {verdict}
    assert "; ".join(one.text for one in found) == text
    assert all(("official power supply" in one.remedy) is (verdict != "ok") for one in found)


@pytest.mark.parametrize(
    ("now_s", "verdict"), [(EARLIEST_CLOCK_S, "ok"), (EARLIEST_CLOCK_S - 1, "warning")]
)
def test_a_clock_before_2025_is_wrong(machine, now_s, verdict):
    found = checkup.clock(replace(machine, now_s=lambda: now_s))
    assert (found.verdict, bool(found.remedy)) == (verdict, verdict == "warning")


def test_a_full_disk_is_bad(monkeypatch, tmp_path):
    assert checkup.disk(tmp_path / "not/yet/there").verdict == "ok"
    monkeypatch.setattr(checkup, "MIN_FREE_BYTES", 2**70)
    assert checkup.disk(tmp_path).verdict == "bad"


def test_what_all_cameras_lack_is_told_once(machine, tmp_path):
    lacking = CameraFinding("bad", "picamera2 is not installed", "Install it.")
    without = replace(machine, check_camera=lambda *_: lacking)
    found = checkup.check_up(load_profile("six-motor"), tmp_path, without)
    assert [one.text for one in found if one.about == "camera"] == [lacking.text]


def old_gpio() -> RpiGpio:
    module = FakeModule()
    del module.lgpio
    return RpiGpio(module)


def shut_gpio() -> RpiGpio:
    module = FakeModule()
    module.fail("setmode", LgpioError("can not open gpiochip"))
    return RpiGpio(module)


@pytest.mark.parametrize(
    ("open_gpio", "verdict", "remedy"),
    [
        (lambda: RpiGpio(FakeModule()), "ok", ""),
        (old_gpio, "warning", install_command()),
        (shut_gpio, "bad", "usermod -aG gpio"),
        (RpiGpio, "warning", "only the command line works"),
    ],
)
def test_button_light_and_buzzer(machine, monkeypatch, open_gpio, verdict, remedy):
    monkeypatch.setitem(sys.modules, "RPi.GPIO", None)  # not installed
    found = checkup.gpio(replace(machine, open_gpio=open_gpio))
    assert found.verdict == verdict and remedy in found.remedy


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", None),
        ("CUBIST_PROFILE=\n", None),
        ("#CUBIST_PROFILE=a\n", None),
        ("CUBIST_PROFILE=b\nCUBIST_PROFILE=a\nX=\n", "a"),
        ('A=1\n CUBIST_PROFILE="c d"', "c d"),
        ("CUBIST_PROFILE='c d'\n", "c d"),
    ],
)
def test_settings_of_the_service(machine, text, found):
    assert machine.service_profile is None
    put(machine.etc / "cubist/cubistd.env", text)
    assert (machine.service_profile, machine.service_setting("X")) == (found, None)


def test_a_pi_keeps_its_config_in_one_of_two_places(machine):
    assert (machine.boot_config, machine.model) == (None, "")
    older = put(machine.boot / "config.txt")
    assert machine.boot_config == older
    (machine.boot / "firmware").mkdir()
    assert machine.boot_config is None, "what stays beside it is not read"
    assert become_a_pi(machine, b"") == machine.boot_config
    assert machine.model == "Raspberry Pi Zero 2 W Rev 1.0"


@pytest.mark.parametrize(
    ("family", "files", "verdict", "text"),
    [
        ("avr", [], "bad", "none"),
        ("avr", ["dev/serial/by-id/usb-1a86"], "ok", "dev/serial/by-id/usb-1a86"),
        ("avr", ["dev/serial/by-id/a", "dev/serial/by-id/b"], "bad", "ports: a, b"),
        ("avr", ["dev/serial/by-id/a", "dev/serial/by-id/b", "dev/cubist"], "ok", "dev/cubist"),
        ("linux", ["dev/cubist"], "bad", "cubist-board/port does not exist"),
        ("linux", ["run/cubist-board/port"], "ok", "run/cubist-board/port"),
    ],
)
def test_the_only_board_is_found(machine, family, files, verdict, text):
    if family == "linux":  # when its program is killed, its link stays
        put(machine.run / "cubist-board/nothing")
        (machine.run / "cubist-board/port").symlink_to("gone")
    for name in files:
        put(machine.dev.parent / name)
    found = FAMILIES[family].check_port("auto", machine)
    assert found.verdict == verdict and found.text.endswith(text)
    remedy = {"avr": "link.port", "linux": "systemctl restart cubist-board"}[family]
    assert (remedy in found.remedy) is (verdict == "bad")
    if verdict == "ok":
        person = replace(machine, may_use=lambda _: False)
        assert "dialout" in FAMILIES[family].check_port("auto", person).remedy


def test_every_board_is_looked_for_and_named(machine):
    ports = {"link.port": put(machine.dev / "one"), "boards.second.port": machine.dev / "other"}
    robot = changed("soltvvo", {key: str(port) for key, port in ports.items()})
    found = list(checkup.check_up(robot, machine.run, machine))
    found = [one for one in found if one.about.startswith("board")]
    assert [(one.about, one.verdict, one.text) for one in found] == [
        ("board first", "ok", str(machine.dev / "one")),
        ("board second", "bad", f"{machine.dev / 'other'} does not exist"),
    ]
    assert checkup.add_board_name(found[0], "first", load_profile("six-motor")) == found[0]


@pytest.mark.parametrize(
    ("version", "verdict", "text", "remedy"),
    [
        (FIRMWARE_VERSION, "ok", "on atmega328p", ""),
        ("0.0.9", "bad", "0.0.9 on the board", "cubist firmware flash --port tty"),
        (None, "bad", "does not answer (tty)", "flash"),
    ],
)
def test_the_board_s_firmware(version, verdict, text, remedy):
    def ask(port: str, _: int) -> Capabilities:
        if version is None:
            raise LinkError(Fault.NO_ANSWER, detail=port)
        return running(Board.ATMEGA328P, version)

    found = checkup.firmware("tty", 250_000, ask)
    assert found.verdict == verdict
    assert text in found.text and remedy in found.remedy


def test_a_maestro_is_looked_for_where_servos_hang_on_it(machine):
    otvinta, by_id = load_profile("otvinta"), machine.dev / "serial/by-id"
    put(by_id / f"{MAESTRO}-if02")  # its UART
    (missing,) = linux.check_pulses(otvinta, machine)
    assert (missing.about, missing.verdict) == ("maestro", "bad")
    assert "USB Dual Port" in missing.remedy
    port = put(by_id / f"{MAESTRO}-if00")
    assert list(linux.check_pulses(otvinta, machine)) == [CheckResult("maestro", "ok", str(port))]
    refused = replace(machine, may_use=lambda _: False)
    assert next(linux.check_pulses(otvinta, refused)).verdict == "bad"
    put(machine.etc / "cubist/cubistd.env", "CUBIST_BOARD_OPTIONS=--maestro /dev/none\n")
    (named,) = linux.check_pulses(otvinta, machine)
    assert named.text == "there is no Pololu Maestro at /dev/none"


@pytest.mark.parametrize(
    ("people", "gpio", "ours", "remedies"),
    [
        (None, None, None, ["make install"]),
        ((), ("cubist",), None, []),
        ((), ("cubist",), ("cubist",), []),
        ((), ("cubist",), ("gpio",), ["usermod -aG cubist"]),
        ((), (), None, ["systemd-sysusers"]),
        ((), None, (), ["systemd-sysusers", "usermod"]),
    ],
)
def test_missing_groups_are_named_with_the_remedy(machine, people, gpio, ours, remedies):
    members = {"cubist": people, "gpio": gpio}
    there = replace(machine, members_of=members.get, own_groups=lambda: ours)
    found = list(linux.check_groups(there))
    assert len(found) == len(remedies)
    assert all(text in one.remedy for one, text in zip(found, remedies, strict=True))
