"""The check-up names what is amiss and what to do about it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from robot.calibration.store import CalibrationStore
from robot.cli import doctor
from robot.cli.main import run
from robot.computer import checkup
from robot.computer.board_family import FAMILIES
from robot.computer.boot_config import needs, plan_fix
from robot.computer.computer import CheckResult, Computer
from robot.computer.families import linux
from robot.link import Capabilities
from robot.link.protocol import FIRMWARE_VERSION, Board, ResetCause
from robot.panel.gpio import RpiGpio
from robot.settings import RobotProfile, load_profile
from robot.text.faults import Fault, LinkError
from tests.rig.gpio import FakeModule
from tests.rig.state_folder import kept, refusing
from vision.cameras.registry import CameraFinding


@pytest.fixture
def machine(tmp_path: Path) -> Computer:
    (tmp_path / "dev/serial/by-id").mkdir(parents=True)
    return Computer(
        boot=tmp_path / "boot",
        dev=tmp_path / "dev",
        etc=tmp_path / "etc",
        sys=tmp_path / "sys",
        run=tmp_path / "run",
        now_s=lambda: 1_800_000_000.0,
        check_camera=lambda kind, device: CameraFinding("ok", f"{kind} {device}"),
        open_gpio=lambda: RpiGpio(FakeModule()),
        may_use=lambda _: True,
    )


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter."""
    with tempfile.TemporaryDirectory(prefix="doctor-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def changed(machine: Computer, **more: Any) -> Computer:
    return Computer(**(vars(machine) | more))


def test_the_pi_itself_is_a_board_while_its_program_runs(machine: Computer) -> None:
    (machine.dev / "serial/by-id/usb-1a86_USB").touch()
    absent = FAMILIES["linux"].check_port("auto", machine)
    assert absent.verdict == "bad" and "systemctl restart cubist-board" in absent.remedy
    port = machine.run / "cubist-board" / "port"
    port.parent.mkdir(parents=True)
    port.touch()
    assert FAMILIES["linux"].check_port("auto", machine) == CheckResult("board", "ok", str(port))


def two_boards(machine: Computer) -> RobotProfile:
    """Soltvvo, whose ports are on that computer."""
    document = load_profile("soltvvo").model_dump(mode="json", exclude_unset=True)
    document["link"]["port"] = str(machine.dev / "one")
    document["boards"]["second"]["port"] = str(machine.dev / "other")
    return RobotProfile.model_validate(document)


def test_every_board_is_looked_for_and_named(machine: Computer) -> None:
    robot = two_boards(machine)
    (machine.dev / "one").touch()
    found = [one for one in checkup.check_up(robot, machine.run, machine) if one.about == "board"]
    assert [(one.verdict, one.text) for one in found] == [
        ("ok", f"first: {machine.dev / 'one'}"),
        ("bad", f"second: {machine.dev / 'other'} does not exist"),
    ]
    wrong = checkup.firmware("tty", 500_000, answering("0.0.9"))
    named = checkup.add_board_name(wrong, "second", robot)
    assert named.text.startswith("second: 0.0.9 on the board")
    assert checkup.add_board_name(wrong, "first", load_profile("six-motor")) == wrong


def test_boards_that_look_alike_are_to_be_named_by_their_sockets(machine: Computer) -> None:
    """Of two clones without serial numbers, ``/dev/ttyUSB0`` is the one that answered first."""
    document = load_profile("soltvvo").model_dump(mode="json", exclude_unset=True)
    first, second = (machine.dev / f"ttyUSB{number}" for number in range(2))
    document["link"]["port"], document["boards"]["second"]["port"] = str(first), str(second)
    by_path = machine.dev / "serial/by-path/platform-usb-0:1.3:1.0-port0"
    by_path.parent.mkdir()
    for port in (first, second):
        port.touch()
    by_path.symlink_to(second)
    found = list(checkup.sockets(RobotProfile.model_validate(document), machine))
    assert [(one.verdict, one.text) for one in found] == [
        ("warning", f"first: {first} is whichever board was found first"),
        ("warning", f"second: {second} is whichever board was found first"),
    ]
    assert found[0].remedy == f"In the profile, link.port: its name below {by_path.parent}"
    assert found[1].remedy.endswith(f"boards.second.port: {by_path}")
    document["boards"]["second"]["port"] = str(by_path)
    document["link"]["port"] = "/run/cubist-board/port"
    assert list(checkup.sockets(RobotProfile.model_validate(document), machine)) == []
    assert list(checkup.sockets(load_profile("six-motor"), machine)) == []


def test_servos_at_the_pi_beside_another_board_need_its_config_txt(machine: Computer) -> None:
    """Only those that hang there: pin 9 of the Arduino is not GPIO 9."""
    document = load_profile("cubotino").model_dump(mode="json", exclude_unset=True)
    document["firmware"] = {"target": "atmega328p"}
    document["link"] = {"port": "/dev/ttyUSB0"}
    document["boards"] = {"pi": {"target": "linux", "port": "/run/cubist-board/port"}}
    document["actuators"]["lid"]["board"] = "pi"
    document["actuators"]["holder"]["pins"]["pulse"] = 9
    robot = RobotProfile.model_validate(document)
    lacking = needs(robot, b"dtparam=audio=off\n", "Raspberry Pi Zero 2 W Rev 1.0")
    assert [need.line for need in lacking] == ["dtoverlay=pwm,pin=12,func=4"]
    assert [one.about for one in linux.check_pulses(robot, machine)] == ["boot"]


def test_a_maestro_is_looked_for_where_servos_hang_on_it(machine: Computer) -> None:
    otvinta = load_profile("otvinta")
    (missing,) = linux.check_pulses(otvinta, machine)
    assert (missing.about, missing.verdict) == ("maestro", "bad")
    assert "USB Dual Port" in missing.remedy
    by_id = machine.dev / "serial/by-id"
    (by_id / "usb-Pololu_Corporation_Pololu_Mini_Maestro_12-Channel_00012345-if02").touch()
    assert next(linux.check_pulses(otvinta, machine)).verdict == "bad", "that is its UART"
    port = by_id / "usb-Pololu_Corporation_Pololu_Mini_Maestro_12-Channel_00012345-if00"
    port.touch()
    assert list(linux.check_pulses(otvinta, machine)) == [CheckResult("maestro", "ok", str(port))]
    refused = changed(machine, may_use=lambda _: False)
    assert next(linux.check_pulses(otvinta, refused)).verdict == "bad"
    assert {one.about for one in linux.check_pulses(load_profile("cubotino"), machine)} == {"boot"}


def test_the_only_board_is_found(machine: Computer) -> None:
    assert FAMILIES["avr"].check_port("auto", machine).verdict == "bad"
    (machine.dev / "serial/by-id/usb-1a86_USB").touch()
    assert FAMILIES["avr"].check_port("auto", machine) == CheckResult(
        "board", "ok", str(machine.dev / "serial/by-id/usb-1a86_USB")
    )
    (machine.dev / "serial/by-id/usb-2341_Uno").touch()
    unclear = FAMILIES["avr"].check_port("auto", machine)
    assert (unclear.verdict, "link.port" in unclear.remedy) == ("bad", True)
    assert "usb-1a86_USB, usb-2341_Uno" in unclear.text
    (machine.dev / "cubist").touch()
    assert FAMILIES["avr"].check_port("auto", machine).text.endswith("dev/cubist")
    refused = FAMILIES["avr"].check_port("auto", changed(machine, may_use=lambda _: False))
    assert "dialout" in refused.remedy


def answering(version: str) -> Callable[[str, int], Capabilities]:
    return lambda *_: Capabilities(
        Board.ATMEGA328P, version, 1, 7, 0, ResetCause(0), 100, 100, 9000, 8000, 7000
    )


def silent(port: str, baud: int) -> Capabilities:
    raise LinkError(Fault.NO_ANSWER, detail=port)


def test_the_board_s_firmware() -> None:
    right = checkup.firmware("tty", 250_000, answering(FIRMWARE_VERSION))
    assert right == CheckResult("firmware", "ok", f"{FIRMWARE_VERSION} on atmega328p")
    wrong = checkup.firmware("tty", 250_000, answering("0.0.9"))
    assert (wrong.verdict, wrong.remedy) == ("bad", "cubist firmware flash --port tty")
    assert "flash" in checkup.firmware("tty", 250_000, silent).remedy


def test_clock_and_disk(machine: Computer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert checkup.clock(machine).verdict == "ok"
    assert checkup.clock(changed(machine, now_s=lambda: 0.0)).verdict == "warning"
    assert checkup.disk(tmp_path / "not/yet/there").verdict == "ok"
    monkeypatch.setattr(checkup, "MIN_FREE_BYTES", 2**70)
    assert checkup.disk(tmp_path).verdict == "bad"


@pytest.mark.parametrize(
    ("flags", "verdict", "text"),
    [
        (None, "ok", ""),
        ("0", "ok", "fine"),
        ("50000", "warning", "since the start"),
        ("50005", "bad", "now"),
    ],
)
def test_power(machine: Computer, flags: str | None, verdict: str, text: str) -> None:
    path = machine.sys / "devices/platform/soc/soc:firmware/get_throttled"
    path.parent.mkdir(parents=True)
    if flags is not None:  # as elsewhere than on a Raspberry Pi
        path.write_text(flags)
    found = checkup.power(machine)
    assert found.verdict == verdict
    assert text in found.text


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


def test_who_may_not_read_the_state_yet_is_told_to_the_end(
    machine: Computer,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    open_folder: Path,
) -> None:
    places = {name: open_folder / name for name in ("boot", "dev", "etc", "sys", "run")}
    state = open_folder / "state"
    monkeypatch.setattr(doctor, "this_computer", lambda: changed(machine, **places))
    monkeypatch.setenv("CUBIST_RUNTIME_DIR", str(state))
    monkeypatch.setenv("CUBIST_STATE_DIR", str(state))
    CalibrationStore(state).save(kept("cubotino", {"policy.search_s": 2.0}))
    run(["doctor", "--robot", "cubotino", "--json"])  # everything is imported by whoever may
    capfd.readouterr()
    with refusing(state):
        code = run(["doctor", "--robot", "cubotino", "--json"])
    out, err = capfd.readouterr()
    found = {one["about"]: one for one in map(json.loads, out.splitlines())}
    assert code == 1, err
    assert "Permission denied" in found["calibration"]["text"]
    assert "Join its group" in found["daemon"]["remedy"]


def on_a_pi(machine: Computer, config: bytes) -> Path:
    """A Zero 2 W with that config.txt, which was started with it."""
    path = machine.boot / "firmware/config.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(config)
    model = machine.sys / "firmware/devicetree/base/model"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"Raspberry Pi Zero 2 W Rev 1.0\0")
    (machine.sys / "class/pwm/pwmchip0").mkdir(parents=True)
    return path


def test_what_servos_at_the_pi_s_pins_lack(machine: Computer) -> None:
    cubotino = load_profile("cubotino")
    [none] = linux.check_pulses(cubotino, machine)
    assert (none.verdict, "no config.txt" in none.text) == ("bad", True)
    path = on_a_pi(machine, b"dtparam=audio=on\n")
    sound, servos = linux.check_pulses(cubotino, machine)
    assert "analogue audio" in sound.text and "dtparam=audio=off" in sound.remedy
    assert "GPIO 12 and 13" in servos.text and "sudo cubist doctor --fix" in servos.remedy
    plan_fix(path, cubotino, machine.model).write()
    assert [found.verdict for found in linux.check_pulses(cubotino, machine)] == ["ok"]
    (machine.sys / "class/pwm/pwmchip0").rmdir()
    assert "sudo reboot" in list(linux.check_pulses(cubotino, machine))[-1].remedy


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
def test_groups(machine: Computer, people: Any, gpio: Any, ours: Any, remedies: list[str]) -> None:
    members = {"cubist": people, "gpio": gpio}
    there = changed(machine, members_of=members.get, own_groups=lambda: ours)
    found = list(linux.check_groups(there))
    assert len(found) == len(remedies)
    assert all(text in one.remedy for one, text in zip(found, remedies, strict=True))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", None),
        ("CUBIST_PROFILE=\n", None),
        ("#CUBIST_PROFILE=a\n", None),
        ("CUBIST_PROFILE=b\nCUBIST_PROFILE=a\n", "a"),
        ('A=1\n CUBIST_PROFILE="c d"', "c d"),
    ],
)
def test_the_robot_of_the_service(machine: Computer, text: str, name: str | None) -> None:
    assert machine.service_profile is None
    (machine.etc / "cubist").mkdir(parents=True)
    (machine.etc / "cubist/cubistd.env").write_text(text)
    assert machine.service_profile == name


Answer = tuple[int, dict[str, Any]]


@pytest.fixture
def ask_doctor(
    machine: Computer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Answer]:
    """Runs ``cubist doctor --json`` with options on a computer; exit code and answer."""

    def ask(*options: str, on: Computer = machine) -> Answer:
        monkeypatch.setattr(doctor, "this_computer", lambda: on)
        code = run(["doctor", "--json", *options])
        return code, json.loads(capfd.readouterr().out or "{}")

    return ask


def test_fix_and_unfix(machine: Computer, ask_doctor: Callable[..., Answer]) -> None:
    shipped = b"dtparam=audio=on\r\n[pi4]\r\narm_boost=1"
    path = on_a_pi(machine, shipped)
    code, _ = ask_doctor("--fix")
    assert (code, path.read_bytes()) == (2, shipped), "nothing is asked, so nothing is done"
    code, answer = ask_doctor("--fix", "--yes")
    assert (code, answer["changed"], "sudo reboot" in answer["remedy"]) == (0, True, True)
    assert "+dtparam=audio=off" in answer["diff"]
    code, answer = ask_doctor("--fix", "--yes")
    assert (code, answer["changed"], answer["diff"]) == (0, False, "")
    code, answer = ask_doctor("--unfix", "--yes")
    assert (code, answer["changed"], path.read_bytes()) == (0, True, shipped)
    assert ask_doctor("--unfix") == (0, answer | {"changed": False, "diff": "", "remedy": ""})


def test_fix_names_what_a_person_has_to_do(
    machine: Computer, ask_doctor: Callable[..., Answer]
) -> None:
    path = on_a_pi(machine, b"")
    person = changed(machine, may_use=lambda _: False)
    code, answer = ask_doctor("--fix", "--yes", "--robot", "v-arms", on=person)
    assert (code, answer["changed"], path.read_bytes()) == (1, False, b"")
    assert answer["remedy"].endswith("sudo cubist doctor --fix --robot v-arms")
    path.write_bytes(b"dtoverlay=pwm\n")
    code, answer = ask_doctor("--fix", "--yes")
    assert (code, answer["changed"]) == (1, False)
    assert "Replace that line" in answer["left"][0]["remedy"]


def test_nothing_is_to_be_undone_where_there_is_no_pi(
    machine: Computer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "this_computer", lambda: machine)
    nowhere = f"there is no config.txt below {machine.boot}, as on a Raspberry Pi\n"
    assert run(["doctor", "--unfix", "--yes"]) == 0
    assert capsys.readouterr().err == f"nothing to undo: {nowhere}"
    assert run(["doctor", "--fix", "--yes"]) == 1
    assert nowhere in capsys.readouterr().err
    assert run(["doctor", "--fix", "--unfix"]) == run(["doctor", "--yes"]) == 2
