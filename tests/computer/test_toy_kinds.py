"""A kind of camera and a family of boards from outside the package, treated like Cubist's own."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from robot.cli import firmware as command
from robot.computer import board_family
from robot.computer.board_family import (
    FAMILIES,
    BoardFamily,
    BoardSimulation,
    BuiltFirmware,
    DebianPackage,
    FirmwareBoard,
)
from robot.computer.checkup import check_up
from robot.computer.computer import CheckResult, Computer
from robot.computer.serial_ports import SerialPort, udev_rules
from robot.machine.assembly import make_machine
from robot.machine.confirmed_range import ConfirmedRange
from robot.settings import (
    BadProfile,
    RobotProfile,
    list_profiles,
    load_profile,
    parse_profile,
    profile_path,
)
from robot.settings.boards import BOARD_TARGETS, BoardTarget
from robot.settings.profile import FIRST_BOARD
from robot.simulate.boards import own_simulation, simulation_of, wire_to_board
from tests.rig.cameras import SceneCamera
from tests.rig.computers import made_up_computer
from vision.cameras import registry
from vision.cameras.base import CameraError
from vision.cameras.registry import CameraFinding, camera_kinds

ROOT = Path(__file__).parents[2]


def grey_camera(device: int | str, resolution: tuple[int, int], name: str) -> SceneCamera:
    width, height = resolution
    return SceneCamera(lambda *_: np.full((height, width, 3), 128, np.uint8), name)


def check_toy(device: int | str) -> CameraFinding:
    return CameraFinding("warning", f"toy {device} sees grey", "Buy another.")


def robot_with(**words: str) -> RobotProfile:
    """Return an Arduino's robot with words of its profile replaced."""
    text = profile_path("cubotino-uno").read_text()
    for old, new in words.items():
        text = text.replace(old, new)
    return parse_profile(text)


def test_a_camera_kind_is_known_everywhere(monkeypatch, tmp_path):
    with pytest.raises(BadProfile, match=r"cameras\[0\].kind: Input should be 'picamera2'"):
        robot_with(picamera2="toy")
    monkeypatch.setattr(registry, "KINDS", dict(registry.KINDS))
    registry.register_camera("toy", grey_camera, check=check_toy)
    robot = robot_with(picamera2="toy")

    machine = make_machine(robot, ConfirmedRange({}))
    assert machine.scanner.frame(None).image.shape == (480, 640, 3)
    with pytest.raises(CameraError, match="simulat"):  # queried from the simulated robot
        make_machine(robot, ConfirmedRange({}), twin=str(tmp_path / "none"))

    found = [one for one in check_up(robot, tmp_path, Computer()) if one.about == "camera"]
    assert found == [CheckResult("camera", "warning", "toy 0 sees grey", "Buy another.")]


def test_every_module_of_a_camera_has_its_line_in_the_registry():
    """Check also that every line has its module, with the two functions."""
    modules = {
        f"vision.cameras.{path.stem}"
        for path in (ROOT / "vision/cameras").glob("*.py")
        if "\ndef open_camera(" in path.read_text(encoding="utf-8") and path.stem != "registry"
    }
    named = {
        module
        for kind in registry.KINDS.values()
        for module in (kind.opener, kind.check)
        if isinstance(module, str)
    }
    assert modules <= named, f"vision/cameras/registry.py: KINDS lacks {modules - named}"
    assert named <= modules, f"vision/cameras/registry.py names {named - modules}: no such file"
    for kind in registry.KINDS.values():
        if isinstance(kind.check, str):
            assert callable(import_module(kind.check).check_camera)


class ToySimulation(BoardSimulation):
    about = "a toy"

    def command(self, profile: RobotProfile, folder: Path, board: str = FIRST_BOARD) -> list[str]:
        return ["toy-firmware", str(folder)]

    def is_for(self, profile: RobotProfile) -> bool:
        return profile.firmware.target == "rp1"


class ToyFamily(BoardFamily):
    """A microcontroller with a flash program of the same name."""

    def check_computer(self, profile: RobotProfile, computer: Computer) -> Iterator[CheckResult]:
        yield CheckResult("toy", "ok", f"{profile.name} may have a toy")

    def build(self, board: FirmwareBoard) -> BuiltFirmware:
        return BuiltFirmware(board, Path("toy.elf"), Path("toy.hex"), 1, 1)

    def flash_command(self, built: BuiltFirmware, port: str) -> list[str]:
        return ["toy-flash", built.board.name, port]


@pytest.fixture
def toy_family() -> Iterator[str]:
    BOARD_TARGETS["rp1"] = BoardTarget((range(2, 20),), "all of them")
    FAMILIES["toy"] = ToyFamily(
        folder="toy",
        targets=("rp1",),
        boards=(FirmwareBoard("toy", "Toy board", "rp1", 1000, 100),),
        flash_packages=(DebianPackage("toy-tools", lambda: True),),
        usb_vendors={0xABCD: "Toymaker"},
        usb_products={(0xABCD, 1): "toy"},
        simulations={"toy": ToySimulation()},
    )
    yield "rp1"
    del BOARD_TARGETS["rp1"], FAMILIES["toy"]


def test_profiles_doctor_and_simulation_know_a_new_family(toy_family, tmp_path):
    robot = robot_with(atmega328p=toy_family)
    computer = made_up_computer(tmp_path)
    (tmp_path / "dev/cubist").touch()
    found = {one.about: one for one in check_up(robot, tmp_path, computer)}
    assert found["toy"].text == "cubotino-uno may have a toy"
    assert found["board"] == CheckResult("board", "ok", str(tmp_path / "dev/cubist"))

    assert own_simulation(robot) == "toy"
    assert wire_to_board("toy", robot) is robot
    assert simulation_of("toy", robot, "first").command(robot, Path("/x")) == ["toy-firmware", "/x"]


def test_udev_and_the_flash_command_know_a_new_family(toy_family, monkeypatch, tmp_path):
    assert '|abcd"' in udev_rules() and "Toymaker" in udev_rules()
    called = tmp_path / "called"
    (tmp_path / "toy-flash").write_text(f'#!/bin/sh\necho "$@" >{called}\n')
    (tmp_path / "toy-flash").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    port = SerialPort("/dev/ttyToy", "Toy", 0xABCD, 1)
    monkeypatch.setattr(command, "serial_ports", lambda: [port])
    done = CliRunner().invoke(command.firmware, ["flash"])
    assert done.exception is None, done.output
    assert called.read_text() == "toy /dev/ttyToy\n"
    sizes = CliRunner().invoke(command.firmware, ["build", "--board", "toy", "--json"])
    assert '"board": "toy"' in sizes.output


def test_every_camera_kind_and_board_is_documented():
    text = (ROOT / "docs/robots.md").read_text(encoding="utf-8")
    (kinds,) = [line for line in text.splitlines() if line.strip().startswith("kind: picamera2")]
    described = set(kinds.partition("#")[2].replace("|", " ").split())
    assert set(camera_kinds()) <= described, "docs/robots.md: list it beside `kind: picamera2`"
    (boards,) = [part for part in text.split("\n- ") if part.startswith("`firmware: {target")]
    missing = [target for target in BOARD_TARGETS if f"`{target}`" not in boards]
    assert missing == [], "docs/robots.md: describe it at `firmware: {target, baud}`"


def test_every_target_belongs_to_a_family_with_a_folder():
    owners = [target for family in FAMILIES.values() for target in family.targets]
    assert len(owners) == len(set(owners))
    orphans, unknown = set(BOARD_TARGETS) - set(owners), set(owners) - set(BOARD_TARGETS)
    assert not orphans, f"robot/computer/families/ has no module with the targets {orphans}"
    assert not unknown, f"firmware/protocol.toml has no rows for the targets {unknown}"
    for name, family in FAMILIES.items():
        part = "Makefile" if family.boards else ""
        path = board_family.sources() / family.folder / part
        assert path.exists(), f"{path} is missing; robot/computer/families/{name}.py needs it"


def test_every_target_but_the_host_has_a_profile():
    boards = [
        board for name in list_profiles() for board in load_profile(name).every_board.values()
    ]
    lacking = set(BOARD_TARGETS) - {board.target for board in boards} - {"host"}
    assert not lacking, f"config/ has no profile with `firmware: {{target: ...}}` for {lacking}"
