"""The service's files: hardened, consistent with each other and with the program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from robot.api.rights import Program
from robot.computer.families.linux import OWN_PORT
from robot.daemon.main import POWER_OFF_MARK
from robot.daemon.service import parse
from robot.settings import load_profile, profile_file
from robot.settings.boards import BOARD_TARGETS

FOLDER = Path(__file__).resolve().parents[3] / "systemd"
UNITS = (
    "cubistd.service",
    "cubist-board.service",
    "cubist-web.service",
    "cubist-display.service",
    "cubist-poweroff.path",
    "cubist-poweroff.service",
)
HARDENED = (
    "cubistd.service",
    "cubist-board.service",
    "cubist-web.service",
    "cubist-display.service",
    "cubist-poweroff.service",
)
needs_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


@needs_analyze
@pytest.mark.parametrize("service", HARDENED)
def test_the_service_is_hardened(service: str) -> None:
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", f"./{service}"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(rf"Overall exposure level for {re.escape(service)}: ([0-9.]+)", done.stdout)
    assert found is not None
    assert float(found[1]) <= 2.0


@pytest.mark.parametrize("service", [name for name in HARDENED if "poweroff" not in name])
def test_a_service_that_a_stray_signal_ended_is_started_again(service: str) -> None:
    settings = [line.split("=", 1) for line in (FOLDER / service).read_text().splitlines()]
    found = {key: value for key, *rest in settings for value in rest}
    forced = found.get("RestartForceExitStatus", "").split()
    assert found["Restart"] == "always" or {"SIGHUP", "SIGPIPE"} <= set(forced)


@needs_analyze
def test_the_units_are_understood(tmp_path: Path) -> None:
    for unit in UNITS:
        text = (FOLDER / unit).read_text()
        # The program is not installed here; its path and the manual are another test's.
        programs = "/opt/cubist/current/bin/[a-z-]+|/usr/libexec/cubist-board-[a-z]+"
        text = re.sub(programs, "/bin/true", text)
        text = re.sub("^Documentation=.*\n", "", text, flags=re.MULTILINE)
        (tmp_path / unit).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, tmp_path.iterdir())],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"SYSTEMD_LOG_LEVEL": "warning"},
    )
    ours = [line for line in done.stderr.splitlines() if "cubist" in line]
    assert ours == []


@pytest.mark.parametrize(
    ("unit", "programs"),
    [("cubist-web", {Program.PAGE, Program.GUIDE}), ("cubist-display", {Program.DISPLAY})],
)
def test_what_others_reach_is_not_in_the_control_socket_s_group(
    unit: str, programs: set[Program]
) -> None:
    text = (FOLDER / f"{unit}.service").read_text()
    named = re.findall(r"^(?:Group|SupplementaryGroups)=(.*)$", text, re.MULTILINE)
    groups = {group for line in named for group in line.split()}
    assert {group for group in groups if group.startswith("cubist")} == {
        program.group for program in programs
    }
    made = (FOLDER / "cubist.sysusers").read_text()
    for program in programs:
        assert f"g {program.group} -" in made
        assert f"m cubist {program.group}" in made, "the daemon gives it the socket"


def test_the_settings_file_is_understood() -> None:
    text = (FOLDER / "cubistd.env").read_text()
    settings = dict(re.findall(r"^#?(CUBIST_\w+)=(.*)$", text, re.MULTILINE))
    options = parse([], settings | {"CUBIST_RUNTIME_DIR": "/r", "CUBIST_STATE_DIR": "/s"})
    assert (options.profile, options.port, options.log_level) == ("cubotino", "/dev/cubist", "info")


def test_the_power_off_mark_is_the_one_that_is_waited_for() -> None:
    path = f"/run/cubist/{POWER_OFF_MARK}"
    assert f"PathExists={path}" in (FOLDER / "cubist-poweroff.path").read_text()
    assert path in (FOLDER / "cubist-poweroff.service").read_text()


SCRIPTS = [
    *("deb", "install", "uninstall", "board-channels", "board-wanted"),
    *("debian/postinst", "debian/prerm", "debian/postrm"),
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_scripts_are_valid_and_executable(script: str) -> None:
    assert os.access(FOLDER / script, os.X_OK)
    shell = (FOLDER / script).read_text().splitlines()[0].rsplit("/", 1)[-1].split()[-1]
    subprocess.run([shell, "-n", str(FOLDER / script)], check=True)


def test_uninstalling_removes_what_installing_made_but_keeps_what_is_calibrated(
    tmp_path: Path,
) -> None:
    kept = ["etc/cubist/cubistd.env", "var/lib/cubist/calibration/cubotino/000001.json"]
    gone = ["opt/cubist/current/bin/cubistd", "etc/systemd/system/cubistd.service"]
    for name in kept + gone:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    environment = os.environ | {"DESTDIR": str(tmp_path)}
    subprocess.run([str(FOLDER / "uninstall")], env=environment, check=True, capture_output=True)
    assert all((tmp_path / name).exists() for name in kept)
    assert not any((tmp_path / name).exists() for name in gone)
    command = [str(FOLDER / "uninstall"), "--purge"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    assert not any((tmp_path / name).exists() for name in kept)


@pytest.fixture
def chips(tmp_path: Path) -> Path:
    """A Pi 5's header and fan, and a PCA9685; the kernel exports nothing here."""
    for number, (device, name, channels) in enumerate(
        [("1f00098000.pwm", "", 4), ("1f0009c000.pwm", "", 4), ("1-0040", "pca9685", 17)]
    ):
        behind = tmp_path / "devices" / device
        behind.mkdir(parents=True)
        if name:
            (behind / "name").write_text(f"{name}\n")
        chip = tmp_path / f"pwmchip{number}"
        chip.mkdir()
        (chip / "device").symlink_to(behind)
        (chip / "npwm").write_text(f"{channels}\n")
    return tmp_path


def test_channels_of_servos_are_exported_and_no_fan_s(chips: Path) -> None:
    ready = chips / "pwmchip0" / "pwm1"
    ready.mkdir()
    for file in ("period", "duty_cycle", "enable"):
        (ready / file).touch(mode=0o600)
    group = str(os.getgid())
    done = subprocess.run(
        [FOLDER / "board-channels", chips],
        env=os.environ | {"CUBIST_BOARD_GROUP": group},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert (chips / "pwmchip0/export").read_text() == "3\n", "the last one that was not there"
    assert (chips / "pwmchip2/export").read_text() == "15\n"
    assert not (chips / "pwmchip1/export").exists()
    assert {(ready / file).stat().st_mode & 0o777 for file in ("period", "enable")} == {0o660}


@pytest.mark.parametrize(
    ("chip", "duty_ns", "left_on"), [(2, 0, False), (2, 1_500_000, True), (0, 0, True)]
)
def test_channels_of_a_pca9685_without_pulses_are_switched_off(
    chips: Path, chip: int, duty_ns: int, left_on: bool
) -> None:
    """Its driver has all of them on at first, and then lets none have a period of 20 ms."""
    folder = chips / f"pwmchip{chip}" / "pwm1"
    folder.mkdir()
    (folder / "duty_cycle").write_text(f"{duty_ns}\n")
    (folder / "enable").write_text("1\n")
    (folder / "period").touch()
    environment = os.environ | {"CUBIST_BOARD_GROUP": str(os.getgid())}
    subprocess.run([FOLDER / "board-channels", chips], env=environment, check=True)
    assert (folder / "enable").read_text() == f"{int(left_on)}\n"


def board_wanted(profile: str | Path) -> bool:
    done = subprocess.run(
        [FOLDER / "board-wanted", FOLDER.parent / "config"],
        env=os.environ | {"CUBIST_PROFILE": str(profile)},
        check=False,
    )
    assert done.returncode in {0, 1}
    return done.returncode == 0


@pytest.mark.parametrize("name", ["cubotino", "otvinta", "cubotino-uno", "soltvvo"])
def test_the_pi_s_pins_are_driven_for_robots_at_them(name: str) -> None:
    at_pins = BOARD_TARGETS[load_profile(name).firmware.target].is_pi
    assert board_wanted(name) is at_pins
    assert board_wanted(profile_file(name)) is at_pins


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("firmware: {target: atmega328p}  # not target: linux", False),
        ("# linux\n#  target: linux\nfirmware:\n  target: atmega328p\n", False),
        ("title: Runs on linux\nfirmware: {target: atmega328p}", False),
        ("firmware: {target: linux-like}", False),
        ("firmware:\n  target: linux  # the Pi's pins\n", True),
        ("firmware: {baud: 500000, 'target': \"linux\"}", True),
    ],
)
def test_the_target_of_the_profile_decides_and_no_comment(
    tmp_path: Path, text: str, wanted: bool
) -> None:
    profile = tmp_path / "robot.yaml"
    profile.write_text(text)
    assert board_wanted(profile) is wanted


def test_the_board_s_port_is_where_the_daemon_looks() -> None:
    unit = (FOLDER / "cubist-board.service").read_text()
    assert f"--pty-link /run/{OWN_PORT}\n" in unit
    assert f"RuntimeDirectory={Path(OWN_PORT).parent}\n" in unit


def udev_gives(**device: str) -> dict[str, str]:
    """What udev would make of a device with these properties, by the rules of udev(7) we use."""
    given: dict[str, str] = {}
    label = ""
    for line in (FOLDER / "70-cubist.rules").read_text().splitlines():
        found = re.findall(r'([A-Z_]+(?:\{\w+\})?)(==|!=|=|\+=)"([^"]*)"', line)
        if label:
            label = "" if ("LABEL", "=", label) in found else label
            continue
        for key, operator, value in found:
            alike = any(fnmatch(device.get(key, ""), one) for one in value.split("|"))
            if operator in {"==", "!="} and alike is not (operator == "=="):
                break
            given |= {key: value} if operator == "=" else {}
            label = value if key == "GOTO" else label
    assert not label, "it goes to a label that there is"
    return given


@pytest.mark.parametrize(
    ("subsystem", "name", "group"),
    [
        ("gpio", "gpiochip0", "gpio"),
        ("spidev", "spidev0.1", "spi"),
        ("i2c-dev", "i2c-1", "i2c"),
        ("tty", "ttyAMA0", None),
        ("block", "sda", None),
    ],
)
def test_pins_and_buses_belong_to_groups_that_there_are(
    subsystem: str, name: str, group: str | None
) -> None:
    given = udev_gives(SUBSYSTEM=subsystem, KERNEL=name)
    expected = {} if group is None else {"GROUP": group, "MODE": "0660"}
    assert {key: given[key] for key in ("GROUP", "MODE") if key in given} == expected
    groups = re.findall(r"^g (\S+)", (FOLDER / "cubist.sysusers").read_text(), re.MULTILINE)
    assert group is None or group in groups
