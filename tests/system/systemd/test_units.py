"""The service's files: hardened, consistent with each other and with the program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from robot.api.endpoints import Program
from robot.computer.families.linux import OWN_PORT
from robot.daemon.main import POWER_OFF_MARK
from robot.daemon.service import parse
from robot.records.profile_versions import ProfileVersions
from robot.settings import load_profile, profile_file, profile_path
from robot.settings.boards import BOARD_TARGETS

FOLDER = Path(__file__).resolve().parents[3] / "systemd"
STARTED_AGAIN = [f"cubist{name}.service" for name in ("d", "-board", "-web", "-display", "-mqtt")]
HARDENED = [*STARTED_AGAIN, "cubist-poweroff.service"]
UNITS = [*HARDENED, "cubist-poweroff.path"]
needs_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def run(*command: object, is_good: bool = True, **settings: str) -> subprocess.CompletedProcess:
    """Run a command with settings in its environment. Raise an error if it should end well."""
    environment = os.environ | settings
    return subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, check=is_good
    )


@needs_analyze
@pytest.mark.parametrize("service", HARDENED)
def test_the_service_is_hardened(service):
    command = ("systemd-analyze", "security", "--offline=true", "--no-pager", f"./{service}")
    found = re.search(rf"exposure level for {re.escape(service)}: ([0-9.]+)", run(*command).stdout)
    assert float(found[1]) <= 2.0


@pytest.mark.parametrize("service", STARTED_AGAIN)
def test_a_stray_signal_ends_no_service_and_errors_that_repeat_wear_out_no_card(service):
    settings = [line.split("=", 1) for line in (FOLDER / service).read_text().splitlines()]
    found = {key: value for key, *rest in settings for value in rest}
    forced = found.get("RestartForceExitStatus", "").split()
    assert found["Restart"] == "always" or {"SIGHUP", "SIGPIPE"} <= set(forced)
    assert {"LogRateLimitIntervalSec", "LogRateLimitBurst"} <= found.keys()


@needs_analyze
def test_the_units_are_understood(tmp_path):
    for unit in UNITS:
        text = (FOLDER / unit).read_text()
        # The program is not installed here. Other tests cover its path and the manual.
        programs = "/opt/cubist/current/bin/[a-z-]+|/usr/libexec/cubist-board-[a-z]+"
        text = re.sub(programs, "/bin/true", text)
        text = re.sub("^Documentation=.*\n", "", text, flags=re.MULTILINE)
        (tmp_path / unit).write_text(text)
    command = ("systemd-analyze", "verify", *tmp_path.iterdir())
    done = run(*command, is_good=False, SYSTEMD_LOG_LEVEL="warning")
    ours = [line for line in done.stderr.splitlines() if "cubist" in line]
    assert ours == []


@pytest.mark.parametrize(
    ("unit", "programs"),
    [
        ("cubist-web", {Program.PAGE, Program.GUIDE, Program.MANAGE}),
        ("cubist-display", {Program.DISPLAY}),
        ("cubist-mqtt", {Program.MQTT}),
    ],
)
def test_what_others_reach_is_not_in_the_control_socket_s_group(unit, programs):
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


def test_settings_and_places_are_those_of_the_program():
    text = (FOLDER / "cubistd.env").read_text()
    settings = dict(re.findall(r"^#?(CUBIST_\w+)=(.*)$", text, re.MULTILINE))
    options = parse([], settings | {"CUBIST_RUNTIME_DIR": "/r", "CUBIST_STATE_DIR": "/s"})
    assert (options.profile, options.port, options.log_level) == ("cubotino", "/dev/cubist", "info")
    for unit, expected in (
        ("cubist-poweroff.path", f"PathExists=/run/cubist/{POWER_OFF_MARK}\n"),
        ("cubist-poweroff.service", f" /run/cubist/{POWER_OFF_MARK}\n"),
        ("cubist-board.service", f"--pty-link /run/{OWN_PORT}\n"),
        ("cubist-board.service", f"RuntimeDirectory={Path(OWN_PORT).parent}\n"),
    ):
        assert expected in (FOLDER / unit).read_text()


SCRIPTS = [
    *("deb", "install", "uninstall", "repository", "board-channels", "board-wanted"),
    *("debian/postinst", "debian/prerm", "debian/postrm"),
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_scripts_are_valid_and_executable(script):
    assert os.access(FOLDER / script, os.X_OK)
    shell = (FOLDER / script).read_text().splitlines()[0].rsplit("/", 1)[-1].split()[-1]
    run(shell, "-n", script)


def test_every_unit_program_and_setting_is_installed():
    told = run("sh", "-euc", '. ./contents; printf "%s|" "$units" "$programs" "$settings"').stdout
    units, programs, settings, _ = (set(part.split()) for part in told.split("|"))
    assert units == {path.name for kind in ("service", "path") for path in FOLDER.glob(f"*.{kind}")}
    assert settings == {path.name for path in FOLDER.glob("*.env")}
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text())["project"]
    assert programs == set(project["scripts"])


def test_the_package_switches_the_service_on_in_a_system_that_does_not_run(tmp_path):
    """Check that services are enabled in the image of an SD card, which starts with the robot."""
    told = tmp_path / "told"
    for name in ("systemctl", "systemd-sysusers", "systemd-tmpfiles", "udevadm"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{told}\n')
        (tmp_path / name).chmod(0o755)
    script = "\n".join((FOLDER / name).read_text() for name in ("contents", "debian/postinst"))
    script = script.replace("/run/systemd/system", "/nowhere")
    run("sh", "-c", script, "postinst", "configure", PATH=f"{tmp_path}:{os.environ['PATH']}")
    [switched] = [line for line in told.read_text().splitlines() if line.startswith("systemctl")]
    assert switched == (
        "systemctl enable --quiet cubistd.service cubist-board.service cubist-poweroff.path"
    )


def test_uninstalling_removes_what_installing_made_but_keeps_what_is_calibrated(tmp_path):
    kept = ["etc/cubist/cubistd.env", "var/lib/cubist/calibration/cubotino/000001.json"]
    gone = ["opt/cubist/current/bin/cubistd", "etc/systemd/system/cubistd.service"]
    for name in kept + gone:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    run("./uninstall", DESTDIR=str(tmp_path))
    assert all((tmp_path / name).exists() for name in kept)
    assert not any((tmp_path / name).exists() for name in gone)
    run("./uninstall", "--purge", DESTDIR=str(tmp_path))
    assert not any((tmp_path / name).exists() for name in kept)


def test_channels_of_servos_are_exported_and_no_fan_s(tmp_path):
    """Imitate a Pi 5 with its header, its fan and a PCA9685; the kernel exports nothing here.

    At first all channels of a PCA9685 are on; then its driver lets none have a period of 20 ms.
    """
    for number, (name, channels) in enumerate([("", 4), ("", 4), ("pca9685", 17)]):
        device = ("1f00098000.pwm", "1f0009c000.pwm", "1-0040")[number]
        (tmp_path / device).mkdir()
        if name:
            (tmp_path / device / "name").write_text(f"{name}\n")
        chip = tmp_path / f"pwmchip{number}"
        chip.mkdir()
        (chip / "device").symlink_to(tmp_path / device)
        (chip / "npwm").write_text(f"{channels}\n")
    left_on = {"pwmchip0/pwm1": (0, 1), "pwmchip2/pwm1": (0, 0), "pwmchip2/pwm2": (1_500_000, 1)}
    for channel, (duty_ns, _) in left_on.items():
        (tmp_path / channel).mkdir()
        for file, text in (("duty_cycle", duty_ns), ("enable", 1), ("period", "")):
            (tmp_path / channel / file).touch(mode=0o600)
            (tmp_path / channel / file).write_text(f"{text}\n")
    assert run("./board-channels", tmp_path, CUBIST_BOARD_GROUP=str(os.getgid())).stderr == ""
    assert (tmp_path / "pwmchip0/export").read_text() == "3\n", "the last one that was not there"
    assert (tmp_path / "pwmchip2/export").read_text() == "15\n"
    assert not (tmp_path / "pwmchip1/export").exists()
    for channel, (_, on) in left_on.items():
        assert (tmp_path / channel / "enable").read_text() == f"{on}\n"
        for file in ("period", "enable"):
            assert (tmp_path / channel / file).stat().st_mode & 0o777 == 0o660


def board_wanted(profile: str, state: str = "/nowhere") -> bool:
    settings = {"CUBIST_PROFILE": profile, "CUBIST_STATE_DIR": state}
    return run("./board-wanted", "../config", is_good=False, **settings).returncode == 0


@pytest.mark.parametrize("name", ["cubotino", "otvinta", "cubotino-uno", "soltvvo"])
def test_the_pi_s_pins_are_driven_for_robots_at_them(name):
    at_pins = BOARD_TARGETS[load_profile(name).firmware.target].is_pi
    assert board_wanted(name) == board_wanted(str(profile_file(name))) == at_pins


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
def test_the_target_of_the_profile_decides_and_no_comment(tmp_path, text, wanted):
    profile = tmp_path / "robot.yaml"
    profile.write_text(text)
    assert board_wanted(str(profile)) is wanted


def test_the_profile_kept_last_decides_as_in_the_daemon(tmp_path):
    versions = ProfileVersions(tmp_path, "cubotino-uno")
    texts = [profile_path(name).read_text() for name in ("cubotino", "cubotino-uno")]
    at_pins, at_board = (re.sub("name: .*", "name: cubotino-uno", text, count=1) for text in texts)
    for step, wanted in (
        (lambda: versions.keep(at_pins), True),
        (lambda: versions.keep(at_board), False),
        (lambda: versions.restore(1), True),
        (lambda: versions.restore(0), False),
    ):
        kept = step()
        kept.path.with_name(f"999999{kept.path.name[6:]}~").write_text(at_pins)
        assert board_wanted("cubotino-uno", str(tmp_path)) is wanted
        assert BOARD_TARGETS[versions.load().firmware.target].is_pi is wanted


def test_pins_and_buses_belong_to_groups_that_there_are():
    """Check that the rules before those for serial ports assign devices to existing groups."""
    rules, _, _ = (FOLDER / "70-cubist.rules").read_text().partition("GOTO")
    owners = re.findall(
        r'^SUBSYSTEM=="([\w-]+)",.* GROUP="(\w+)", MODE="0660"$', rules, re.MULTILINE
    )
    buses = {"gpio": "gpio", "spidev": "spi", "i2c-dev": "i2c"}
    assert dict(owners) == {**buses, "dma_heap": "video"}
    groups = re.findall(
        r"^(?:g|m cubist) (\S+)", (FOLDER / "cubist.sysusers").read_text(), re.MULTILINE
    )
    assert set(dict(owners).values()) <= set(groups)
