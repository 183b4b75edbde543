"""A whole robot: the installed package on a computer with real drivers, from button to cube.

The computer is a virtual machine that systemd boots. Its button is a line of ``gpio-sim``, its
servos hang on a PCA9685 that the kernel drives, its camera is a USB webcam.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robot.settings import load_profile
from tests.system.conftest import MakePackages
from tests.system.kernel.machine import fetch_system, or_skip
from tests.system.pi.outside import Computer, Outside, prepare_computer

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

ROBOT = "etc/cubist/robot.yaml"
PROFILE = load_profile("v-arms")
BUTTON = PROFILE.panel.start_button_gpio
"""Pin of the start button."""


@pytest.fixture(scope="module")
def folder(make_packages: MakePackages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    system = or_skip(fetch_system, tmp_path_factory.mktemp("made"))
    folder = tmp_path_factory.mktemp("computer")
    profile = Path("config/v-arms.yaml").read_text()
    files = {
        # On an emulated processor a search takes three times as long as the motion.
        ROBOT: profile.replace("kind: picamera2", "kind: usb")
        + "policy: {improve_while_turning: false}\n",
        # rpi-lgpio asks for a Raspberry Pi's revision.
        "etc/cubist/cubistd.env": f"CUBIST_PROFILE=/{ROBOT}\nRPI_LGPIO_REVISION=c03114\n",
        "boot/firmware/config.txt": "dtparam=i2c_arm=on\ndtoverlay=i2c-pwm-pca9685a\n",
    }
    package = make_packages("13", is_alone=True) / "cubist.deb"
    prepare_computer(system, package, files, folder)
    return folder


def await_ready(computer: Computer) -> None:
    """Wait until the robot's programs serve."""
    # This command waits for the starting services without taking processor time from them.
    assert computer.run("systemctl", "start", "cubistd", "cubist-web")[0] == 0
    computer.until(lambda: computer.order("read", path="/run/cubist-web/web.json")["output"])


def check_up(computer: Computer) -> None:
    """Check that `cubist doctor` misses only calibration steps; check a device and the page."""
    told = computer.run("cubist", "doctor", "--json")[1]
    findings = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    others = {(one["about"], one["verdict"]) for one in findings if one["about"] != "calibration"}
    assert others == {(about, "ok") for about in ABOUT}
    assert computer.run("stat", "-c", "%G %a", "/dev/dma_heap/system")[1] == "video 660\n"
    address = computer.run("cubist", "web")[1].split()[0]
    assert "<title>Cubist" in computer.run("python3", "-c", FETCH, address)[1]


ABOUT = ("profile", "boot", "board", "camera", "gpio", "disk", "clock", "power", "daemon")
FETCH = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())"


def solve(computer: Computer, outside: Outside, number: int) -> None:
    """Press the button and wait until the run of this number has solved the cube."""
    computer.order("press", pin=BUTTON, seconds=0.2)
    computer.until(lambda: computer.outcome(number))
    assert computer.outcome(number) == "solved"
    assert outside.robot.solved
    computer.until(lambda: computer.order("status")["state"] == "idle")


def test_a_robot_solves_cubes_before_and_after_a_power_cut(folder):
    outside = Outside(PROFILE, seed=1)
    with outside.booted(folder) as computer:
        await_ready(computer)
        computer.order("confirm", profile=f"/{ROBOT}")
        check_up(computer)
        solve(computer, outside, 1)
        outside.insert("L2 B")
        computer.order("press", pin=BUTTON, seconds=0.2)
        computer.until(lambda: outside.robot.moving)
        computer.cut_power()
    outside.insert("R U' F2 L D' B")
    with outside.booted(folder, "ro") as computer:
        await_ready(computer)
        assert computer.run("test", "-w", "/etc") == (1, ""), "the root is read only"
        solve(computer, outside, 3)
        outside.insert("D F' R2 U B L'")
        solve(computer, outside, 4)
        computer.order("press", pin=BUTTON, seconds=6.0)
        assert computer.ends()
    assert outside.robot.violations == []
